// A program that executes scenarios instruction by instruction, and unwinds from each of them.
#pragma once

struct scenario {
  const char* name;
  void (*run)();
};

extern const scenario scenarios[];  // the last one has no name

// What lies between the two calls is stepped. Both are called on one thread.
extern "C" void begin_steps();
extern "C" void end_steps();

[[noreturn]] void fail(const char* what);
