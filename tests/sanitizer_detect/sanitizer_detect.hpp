// Each program here can have a bug on the stack of a fiber or a coroutine. It has it when it is called with
// an argument; called without, it is its own innocent twin. run_detect.py reads what a program says about
// itself:
//
//   // sanitizer: address            one or more of address, undefined, thread, memory, valgrind: which
//                                    must be on
//   // expect: PATTERN               must be found in the report; any number; without one there is no bug,
//                                    and the program is only run to see that nothing is reported
//   // frame: FUNCTION               must be in one of its stack traces; any number
//   // options: NAME=VALUE           for AddressSanitizer, in one more run; any number
//   // always: NAME=VALUE            the same, in every run
//   // compiler: clang               if not every compiler's runtime can do it: why
#pragma once

#include <cstdio>

namespace planted {

// What the compiler must not know. (No assembly: clang gives functions that have any no fake stack.)
template <class T>
T opaque(T value) {
  T volatile hidden = value;
  return hidden;
}

inline bool bug = false;

// main()'s work.
template <class Function>
int run(int argc, Function&& program) {
  bug = argc > 1;
  program();
  std::puts("done");
  return 0;
}

}  // namespace planted
