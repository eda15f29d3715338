# What a small program must show before the library is compiled. Sets
#
#   SENNIT_MAKECONTEXT    whether libc's makecontext works: then the ucontext backend exists
#   SENNIT_STACK_GROWTH   "down", or "up"
#
# Both can be set by the user. A cross compiler's programs run under CMAKE_CROSSCOMPILING_EMULATOR. Without one,
# makecontext is only linked, and the direction is that of the named CPU.
#
# Source: Engelschall 2000, sections 2.4 (what GNU Pth tests) and 3.5 (the direction of stacks).
if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
  include(CheckFunctionExists)
  include(CheckCSourceCompiles)
  check_function_exists(makecontext SENNIT_MAKECONTEXT)
  check_c_source_compiles("#if !defined(__hppa__)\n#error\n#endif\nint main(void) { return 0; }" SENNIT_IS_HPPA)
  if(SENNIT_IS_HPPA AND NOT DEFINED SENNIT_STACK_GROWTH)
    set(SENNIT_STACK_GROWTH up)
  endif()
else()
  if(NOT DEFINED SENNIT_MAKECONTEXT)
    try_run(ran compiled SOURCES "${PROJECT_SOURCE_DIR}/cmake/probes/makecontext.c")
    if(compiled AND ran STREQUAL "0")
      set(SENNIT_MAKECONTEXT ON CACHE BOOL "libc's makecontext works")
      message(STATUS "libc's makecontext works")
    else()
      set(SENNIT_MAKECONTEXT OFF CACHE BOOL "libc's makecontext works")
      message(STATUS "libc's makecontext is missing, or does not work")
    endif()
  endif()
  if(NOT DEFINED SENNIT_STACK_GROWTH)
    try_run(ran compiled SOURCES "${PROJECT_SOURCE_DIR}/cmake/probes/stack_growth.c")
    if(compiled AND ran STREQUAL "1")
      set(SENNIT_STACK_GROWTH up CACHE STRING "the direction in which stacks grow: down or up")
    endif()
  endif()
endif()
if(NOT DEFINED SENNIT_STACK_GROWTH)
  set(SENNIT_STACK_GROWTH down CACHE STRING "the direction in which stacks grow: down or up")
endif()
if(SENNIT_STACK_GROWTH STREQUAL "up" AND NOT SENNIT_ROOMS STREQUAL "arch")
  message(FATAL_ERROR "sennit: stacks grow up on this CPU. Fibers, coroutines and guard pages need stacks that grow down. "
    "Only machine contexts work (sennit/mctx.h): configure with -DSENNIT_ROOMS=arch.")
endif()
