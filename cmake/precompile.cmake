# sennit_precompile(TARGET HEADER...): what most sources of a target include is parsed once for all of them, which is
# most of the time to compile them. They still include all that they use: stage package compiles the library's without.
function(sennit_precompile target)
  if(SENNIT_PRECOMPILED_HEADERS)
    list(TRANSFORM ARGN REPLACE ">" "$<ANGLE-R>")
    list(TRANSFORM ARGN REPLACE "(.+)" "$<$<COMPILE_LANGUAGE:CXX>:\\1>")
    target_precompile_headers(${target} PRIVATE ${ARGN})
  endif()
endfunction()

# For who compiles the library's sources.
set(sennit_library_headers "${PROJECT_SOURCE_DIR}/include/sennit/detail/parallel/worker_inline.hpp"
  "${PROJECT_SOURCE_DIR}/include/sennit/detail/wait/wait.hpp" <algorithm> <cerrno> <chrono>
  <condition_variable> <cstdio> <cstdlib> <cstring> <exception> <memory> <mutex>
  <optional> <string> <system_error> <utility> <vector>)

# ccache knows a precompiled header by its contents, if the compilers let it.
if(PROJECT_IS_TOP_LEVEL AND CMAKE_CXX_COMPILER_LAUNCHER MATCHES "ccache")
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
  else()
    add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>")
  endif()
endif()
