// Calls into libraries that are known for how much stack they take.
#pragma once

#include <span>

namespace large_calls {

struct call {
  const char* name;
  void (*run)(void (*between)());  // throws std::runtime_error where its result is wrong
};

// `between` is called in the middle of those that can be interrupted (the handshake).
std::span<const call> all();

// Does what is done once in a process: keys, tables. On a stack that is large.
void prepare();

}  // namespace large_calls
