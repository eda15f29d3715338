# A project outside of the tree whose targets the plugin compiles, all, none and at the link, copied away and
# configured by ./check package.
cmake_minimum_required(VERSION 3.25)
project(compiled LANGUAGES C)
find_package(sennit 0.1 REQUIRED)
# Without the plugin, and in all three programs.
add_library(other OBJECT compiled_other.c)
target_compile_options(other PRIVATE -O2)
foreach(program IN ITEMS compiled compiled_lto not_compiled)
  add_executable(${program} compiled_main.c)
  target_compile_options(${program} PRIVATE -O2)
  target_link_libraries(${program} PRIVATE other sennit::sennit)
endforeach()
sennit_target_compile(compiled NO_CALLEE_SAVE PREEMPT)
sennit_target_compile(compiled_lto NO_CALLEE_SAVE PREEMPT)
set_target_properties(compiled_lto PROPERTIES INTERPROCEDURAL_OPTIMIZATION ON)
# Wrong arguments.
if(DEFINED arguments)
  add_library(nothing INTERFACE)
  separate_arguments(arguments)
  sennit_target_compile(${arguments})
endif()
