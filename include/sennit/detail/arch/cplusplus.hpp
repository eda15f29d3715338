// The language of the C++ headers. All of them include this, before anything that an older one has not.
#pragma once

#if __cplusplus < 202002L
#error "sennit: its C++ headers need C++20: compile with -std=c++20, or with CMake's CMAKE_CXX_STANDARD 20"
#include <C++20>  // this file does not exist: compilers stop here, but continue after an #error
#endif
