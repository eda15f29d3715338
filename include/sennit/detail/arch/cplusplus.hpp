// The language of the C++ headers. All of them include this, before anything that an older one has not.
//
// All that they declare is in the inline namespace sennit::v0_1: the version of the binary interface, as in
// the shared library's name. Users write sennit::mutex. A program with objects compiled for two versions then
// fails to link, and does not mix their types. A declaration of one's own, `namespace sennit { class mutex;
// }`, is another class: include sennit/fwd.hpp for it.
#pragma once

#if __cplusplus < 202002L
#error "sennit: its C++ headers need C++20: compile with -std=c++20, or with CMake's CMAKE_CXX_STANDARD 20"
#include <C++20>  // this file does not exist: compilers stop here, but continue after an #error
#endif
