# sennit_warnings(TARGET): the warnings our own code is held to. Never applied to those who use the headers.
function(sennit_warnings target)
  set(flags -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    list(APPEND flags -Wthread-safety)  # detail/arch/thread_safety.hpp
  endif()
  if(SENNIT_WERROR)
    list(APPEND flags -Werror)
  endif()
  if(SENNIT_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    list(APPEND flags -Wno-maybe-uninitialized)  # gcc's manual: with a sanitizer it is often wrong
  endif()
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:C,CXX>:${flags}>")
endfunction()
