// Prints what this processor takes for what it may predict, in nanoseconds: what bounds operations of few
// instructions. An indirect call and its return, where always one function is called, and where eight take
// turns; handing a value on through memory, at 8 and at 100 places of the code; the same where the address of
// the store is known later than the load's, which so overtakes it.
#include <cstdint>
#include <cstdio>
#include <ctime>

namespace {

template <int Number>
[[gnu::noinline]] void called() {
  asm volatile("" : : "i"(Number));
}
using function = void (*)();
constexpr function functions[] = {called<0>, called<1>, called<2>, called<3>,
                                  called<4>, called<5>, called<6>, called<7>};

constexpr int operations = 4000;

template <unsigned Targets>
void call() {
  for (unsigned i = 0; i < operations; ++i) {
    function f = functions[i % Targets];
    asm volatile("" : "+r"(f));
    f();
  }
}

alignas(64) std::uint64_t handed;

#if defined(__x86_64__)
#define AT_PLACES(places, code) ".rept " #places "\n\t" code "\n\t.endr"
#define HAND_ON "mov %0, %%rcx\n\tmov (%%rcx), %%rax\n\tadd $1, %%rax\n\tmov %%rax, (%0)"
#define OVERTAKE                                                                                            \
  "mov %%rax, %%rcx\n\tand $0, %%rcx\n\tadd %0, %%rcx\n\tmov %%rax, (%%rcx)\n\tmov (%0), %%rax\n\tadd $1, " \
  "%%rax"

#define DEFINE(name, places, code)                                                           \
  void name() {                                                                              \
    for (int i = 0; i < operations / (places); ++i)                                          \
      asm volatile(AT_PLACES(places, code) : : "r"(&handed) : "rax", "rcx", "memory", "cc"); \
  }
DEFINE(hand_on_at_8, 8, HAND_ON)
DEFINE(hand_on_at_100, 100, HAND_ON)
DEFINE(overtake_at_8, 8, OVERTAKE)
DEFINE(overtake_at_100, 100, OVERTAKE)
#endif

double now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

void measure(const char* what, void (*run)()) {
  double best = 1e9;
  for (int repetition = 0; repetition < 1000; ++repetition) {
    const double start = now();
    run();
    const double time = (now() - start) / operations;
    if (time < best)
      best = time;
  }
  std::printf("%-28s %5.2f ns\n", what, best);
}

}  // namespace

int main() {
  measure("call of one function", call<1>);
  measure("call of eight in turn", call<8>);
#if defined(__x86_64__)
  measure("through memory, 8 places", hand_on_at_8);
  measure("through memory, 100 places", hand_on_at_100);
  measure("overtaking, 8 places", overtake_at_8);
  measure("overtaking, 100 places", overtake_at_100);
#endif
}
