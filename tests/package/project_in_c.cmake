# A project outside of the tree that has no C++, copied away and configured by ./check package.
cmake_minimum_required(VERSION 3.25)
project(consumer_in_c LANGUAGES C)
find_package(sennit 0.1 REQUIRED)
add_executable(consumer_c consumer.c)
target_link_libraries(consumer_c PRIVATE sennit::sennit)
