// Exceptions in contexts that take turns while they throw, handle, rethrow and unwind: of checks.c.
#include <cstddef>
#include <exception>

#include "sennit/mctx.h"

extern "C" int exceptions_stay_in_their_contexts();

namespace {

constexpr int contexts = 3;
constexpr int rounds = 20;

alignas(16) char stacks[contexts][1 << 18];
sennit_mctx home;
sennit_mctx others[contexts];
int numbers[contexts] = {0, 1, 2};
int wrong;

void leave(int number) {
  sennit_mctx_switch(&others[number], &home);
}

// Switches while it is unwound.
struct guard {
  int number;
  ~guard() {
    leave(number);
    wrong += std::uncaught_exceptions() != 1;
  }
};

[[gnu::noinline]] void fail(int number, int what) {
  const guard switches{number};
  throw what;
}

void throw_and_catch(void* argument) {
  const int number = *static_cast<int*>(argument);
  for (int round = 0; round < rounds; ++round) {
    const int what = round * contexts + number;
    try {
      try {
        fail(number, what);
      } catch (int caught) {
        wrong += caught != what;
        leave(number);
        throw;  // what this context handles, not what the others do
      }
    } catch (int caught) {
      wrong += caught != what;
      leave(number);
      wrong += std::current_exception() == nullptr;
    }
    wrong += std::current_exception() != nullptr;
  }
  for (;;)
    leave(number);
}

}  // namespace

int exceptions_stay_in_their_contexts() {
  for (int i = 0; i < contexts; ++i)
    if (sennit_mctx_create(&others[i], throw_and_catch, &numbers[i], stacks[i], sizeof stacks[i], 0) != 0)
      return __LINE__;
  for (int round = 0; round < 3 * rounds + 1; ++round) {
    for (int i = 0; i < contexts; ++i) {
      try {
        throw -i;
      } catch (int caught) {
        sennit_mctx_switch(&home, &others[i]);
        wrong += caught != -i;
      }
      wrong += std::current_exception() != nullptr;
    }
  }
  return wrong == 0 ? 0 : __LINE__;
}
