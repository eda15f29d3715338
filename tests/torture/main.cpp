// Runs every function of every object against every partner. Prints the failures, or the number of correct
// pairs.
#include <sys/auxv.h>
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "torture.hpp"

// TORTURE_OBJECTS(X) names the objects linked in: X(first) is the one under test.
#define DECLARE(name) extern "C" const torture::object name;
TORTURE_OBJECTS(DECLARE)
#undef DECLARE

// trash_*.S: sennit_swapstack_call from a frame whose every register holds rubbish.
extern "C" sennit_transfer torture_trash_and_swap(sennit_context target, uintptr_t value,
                                                  int has_wide_registers);

// Called by -finstrument-functions.
extern "C" {
volatile uint64_t functions_entered;
__attribute__((no_instrument_function)) void __cyg_profile_func_enter(void*, void*) {
  functions_entered = functions_entered + 1;
}
__attribute__((no_instrument_function)) void __cyg_profile_func_exit(void*, void*) {}
}

namespace torture {
namespace {

constexpr size_t stack_size = 256 * 1024;

int wide_registers() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
#elif defined(__aarch64__)
  return (getauxval(AT_HWCAP) & HWCAP_SVE) != 0;
#elif defined(__riscv_vector)
  return 1;
#else
  return 0;
#endif
}

// Memory below a suspended context's record is unused.
__attribute__((noinline, no_sanitize("address"))) void trash_below(sennit_context suspended) {
  volatile char* const record = reinterpret_cast<volatile char*>(suspended);
  for (int i = 1; i <= 300; ++i)
    record[-i] = static_cast<char>(0xa5 + i);
}

// A switch that destroys all that a switch may destroy. The host sits on the program's own stack; its frames
// are below ours only when we are the guest.
template <side me>
SENNIT_UNSANITIZED void trashing_go(session& s) {
#if defined(TORTURE_HOOKS)
  torture_before_switch(&s, me);
#endif
  const uint64_t value = word(s.seed[me], s.received[1 - me]);
  trash_below(s.at[1 - me]);
  const sennit_transfer in = torture_trash_and_swap(s.at[1 - me], value, wide_registers());
#if defined(TORTURE_HOOKS)
  torture_after_switch(&s, me);
#endif
  arrived<me>(s, in.from, in.value);
}

struct guest_work {
  session* s;
  function run;  // null: only trash
  uint64_t result;
  bool done;
};

SENNIT_UNSANITIZED void guest_entry(sennit_context from, uintptr_t value, uintptr_t work, uintptr_t,
                                    uintptr_t) {
  auto& w = *reinterpret_cast<guest_work*>(work);
#if defined(TORTURE_HOOKS)
  torture_after_switch(w.s, guest);
#endif
  arrived<guest>(*w.s, from, value);
  if (w.run != nullptr) {
    try {
      w.result = w.run(*w.s, w.s->seed[guest]);
    } catch (...) {
      std::abort();
    }
  }
  w.done = true;
  for (;;)
    trashing_go<guest>(*w.s);
}

// Suspends at one place of one frame, so its handle stays what it was at first.
SENNIT_UNSANITIZED void relay_entry(sennit_context from, uintptr_t place, uintptr_t, uintptr_t, uintptr_t) {
  uint64_t word = 0;
  session** const current = reinterpret_cast<session**>(place);
  for (;;) {
    word = torture_trash_and_swap(from, word + 1, wide_registers()).value;
    from = (*current)->relay_to;
    trash_below(from);
  }
}

struct stacks {
  char* guest;
  char* scheduler_step;
  session* current;  // the relay's
  sennit_context relay;
};

char* map_stack() {
  void* memory = mmap(nullptr, stack_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    std::abort();
  return static_cast<char*>(memory);
}

// `host_run` may be null: then the host only trashes. True if all came out right.
bool run_pair(stacks& memory, const char* name, function host_run, uint64_t host_expected, function guest_run,
              uint64_t guest_expected, uint64_t host_seed, uint64_t guest_seed) {
  session s = {};
  s.seed[host] = host_seed;
  s.seed[guest] = guest_seed;
  s.step_top = memory.scheduler_step + stack_size - 64;
  s.relay = memory.relay;
  memory.current = &s;
  s.stack_bottom = memory.guest;
  s.stack_size = stack_size;
  guest_work w = {&s, guest_run, 0, false};
  sennit_context fresh = sennit_newstack(memory.guest + stack_size - 64, guest_entry);
#if defined(TORTURE_HOOKS)
  torture_before_switch(&s, host);
#endif
  const sennit_transfer4 first =
      sennit_swapstack4(fresh, word(s.seed[host], 0), reinterpret_cast<uintptr_t>(&w), 0, 0);
#if defined(TORTURE_HOOKS)
  torture_after_switch(&s, host);
#endif
  arrived<host>(s, first.from, first.value[0]);
  uint64_t host_result = host_expected;
  if (host_run != nullptr)
    host_result = host_run(s, host_seed);
  for (int i = 0; !w.done && i < 10'000; ++i)
    trashing_go<host>(s);
  const bool right = host_result == host_expected && w.done &&
                     (guest_run == nullptr || w.result == guest_expected) && s.wrong_words == 0;
  if (!right) {
    std::printf("WRONG: %s: host %s, guest %s, %llu wrong words\n", name,
                host_result == host_expected ? "right" : "wrong",
                !w.done                                                ? "not done"
                : (guest_run == nullptr || w.result == guest_expected) ? "right"
                                                                       : "wrong",
                static_cast<unsigned long long>(s.wrong_words));
  }
  return right;
}

struct tally {
  int pairs = 0;
  int wrong = 0;
};

void run_objects(stacks& memory, const object& hosts, const object& guests, tally& t) {
  for (int h = -1; h < hosts.count; ++h) {
    for (int g = -1; g < guests.count; ++g) {
      const subject* const hs = h < 0 ? nullptr : &hosts.subjects[h];
      const subject* const gs = g < 0 ? nullptr : &guests.subjects[g];
      if (hs != nullptr && hs->runs_here != nullptr && !hs->runs_here())
        continue;
      if (gs != nullptr && gs->runs_here != nullptr && !gs->runs_here())
        continue;
      char name[200];
      std::snprintf(name, sizeof(name), "%s.%s <-> %s.%s", hosts.name, hs ? hs->name : "trash", guests.name,
                    gs ? gs->name : "trash");
      if (std::getenv("TORTURE_VERBOSE"))
        std::fprintf(stderr, "%s\n", name);
      session none = {};
      const uint64_t host_seed = word(1, static_cast<uint64_t>(t.pairs));
      const uint64_t guest_seed = word(2, static_cast<uint64_t>(t.pairs));
      const uint64_t host_expected = hs ? hs->reference(none, host_seed) : 0;
      const uint64_t guest_expected = gs ? gs->reference(none, guest_seed) : 0;
      for (int form = 0; form < 2; ++form) {
        ++t.pairs;
        t.wrong += !run_pair(memory, name, hs ? hs->as_host[form] : nullptr, host_expected,
                             gs ? gs->as_guest[form] : nullptr, guest_expected, host_seed, guest_seed);
      }
    }
  }
}

// Whether the program's pages are checked for landings (BTI). What runs before and after main has none, so
// that no note of the linker can ask for it.
#if defined(__ARM_FEATURE_BTI_DEFAULT)
extern "C" char __executable_start[], etext[];
void check_landings(bool checked) {
  constexpr int prot_bti = 0x10;
  const uintptr_t page = getauxval(AT_PAGESZ);
  const uintptr_t begin = reinterpret_cast<uintptr_t>(__executable_start) / page * page;
  const uintptr_t end = (reinterpret_cast<uintptr_t>(etext) + page - 1) / page * page;
  if (mprotect(reinterpret_cast<void*>(begin), end - begin,
               PROT_READ | PROT_EXEC | (checked ? prot_bti : 0)) != 0)
    std::abort();
}
#else
void check_landings(bool) {}
#endif

}  // namespace
}  // namespace torture

int main() {
  using namespace torture;
  check_landings(true);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  stacks memory = {map_stack(), map_stack(), nullptr, nullptr};
  memory.relay = sennit_swapstack(sennit_newstack(map_stack() + stack_size - 64, relay_entry),
                                  reinterpret_cast<uintptr_t>(&memory.current))
                     .from;
  static const object* const objects[] = {
#define ADDRESS(name) &name,
      TORTURE_OBJECTS(ADDRESS)
#undef ADDRESS
  };
  constexpr int count = sizeof(objects) / sizeof(objects[0]);
  tally t;
  run_objects(memory, *objects[0], *objects[0], t);
  for (int i = 1; i < count; ++i) {
    run_objects(memory, *objects[0], *objects[i], t);
    run_objects(memory, *objects[i], *objects[0], t);
  }
  check_landings(false);
  std::printf("%d pairs, %d wrong\n", t.pairs, t.wrong);
  return t.wrong == 0 && t.pairs > 300 ? 0 : 1;
}
