# A project outside of the tree, copied away and configured by ./check package.
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES C CXX)
find_package(sennit 0.1 REQUIRED)
add_executable(consumer_cpp consumer.cpp)
target_link_libraries(consumer_cpp PRIVATE sennit::sennit)
add_executable(consumer_c consumer.c)
target_link_libraries(consumer_c PRIVATE sennit::sennit)
