// stepping unwind|none alternate|own: executes each scenario instruction by instruction, and at each one that
// is the program's own unwinds from a signal handler, on the alternate signal stack or on the interrupted
// one. (none: not at all, for a debugger.) What must hold:
//
//   - Nothing crashes.
//   - Each backtrace reaches the end of its stack, over return addresses only, unless it ends at its first
//   frame.
//   - It ends there only in a few successive instructions: from the first that has changed the stack pointer,
//   or
//     entered a landing, to that which sets it last, and never in src/arch/switch_<isa>.S.
//
// On x86-64 the trap flag steps. Elsewhere a debugger does, which sends SIGUSR1 at each instruction
// (qemu_steps.py).
#include "stepping.hpp"

#include <signal.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "sennit/detail/arch/context.h"

#if defined(SENNIT_LIBUNWIND)
#define UNW_LOCAL_ONLY
#include <libunwind.h>
#endif

extern "C" {
extern const char __executable_start[], etext[];
void _start();
}

namespace {

constexpr int longest_gap = 32;  // instructions of a switch from which there is no caller

struct frame {
  std::uintptr_t pc;
  bool exact;  // not a return address
};

struct chain {
  frame at[200];
  std::size_t count;
  std::uintptr_t from;  // frames inside of this one are the handler's
};

bool unwinds;
volatile bool stepping;

struct totals {
  long instructions, ended, chains;
  int gap;
  std::uintptr_t pc, sp;  // of the instruction before
} total;

bool is_in(std::uintptr_t pc, const void* begin, const void* end) {
  return pc >= reinterpret_cast<std::uintptr_t>(begin) && pc < reinterpret_cast<std::uintptr_t>(end);
}

bool is_ours(std::uintptr_t pc) {
  return is_in(pc, __executable_start, etext);
}

// Jumps by way of the table of offsets: lld makes no unwind rules there.
bool is_linkers([[maybe_unused]] std::uintptr_t pc) {
#if defined(__x86_64__)
  const auto* at = reinterpret_cast<const unsigned char*>(pc);
  return at[0] == 0xff && at[1] == 0x25;
#else
  return false;
#endif
}

const char* code(void (*function)()) {
  return reinterpret_cast<const char*>(function);
}

// In one of src/arch/switch_<isa>.S, of which this is the last.
bool is_out_of_line(std::uintptr_t pc) {
#if defined(__x86_64__)
  constexpr int size = 131;
#else
  constexpr int size = 184;
#endif
  return is_in(pc, code(sennit_enter_root), reinterpret_cast<const char*>(sennit_swapstack_call) + size);
}

bool follows_call(std::uintptr_t pc) {
  const auto* at = reinterpret_cast<const unsigned char*>(pc);
#if defined(__x86_64__)
  if (at[-5] == 0xe8 || pc == reinterpret_cast<std::uintptr_t>(sennit_served) ||
      pc == reinterpret_cast<std::uintptr_t>(sennit_went_round))  // written there as return addresses
    return true;
  for (int length = 2; length <= 8; ++length)
    if (at[-length] == 0xff && (at[-length + 1] & 0x38) == 0x10)
      return true;
  return false;
#elif defined(__aarch64__)
  std::uint32_t word;
  std::memcpy(&word, at - 4, 4);
  return (word & 0xfc000000) == 0x94000000 || (word & 0xfffffc1f) == 0xd63f0000;
#else
  return at != nullptr;
#endif
}

// The first frame of a stack, or what is outside of the program: libc, which has begun the thread.
bool is_outermost(std::uintptr_t pc) {
  if (!is_ours(pc))
    return true;
  return is_in(pc, code(_start), code(_start) + 64) ||
         is_in(pc, code(sennit_enter_root), code(sennit_enter_linked)) ||
         is_in(pc, code(sennit_enter_rounds), code(sennit_serve));
}

#if defined(SENNIT_LIBUNWIND)

void walk(ucontext_t* context, chain& to) {
  unw_cursor_t cursor;
  if (unw_init_local2(&cursor, context, UNW_INIT_SIGNAL_FRAME) != 0)
    return;
  while (to.count < std::size(to.at)) {
    unw_word_t pc = 0;
    if (unw_get_reg(&cursor, UNW_REG_IP, &pc) != 0 || pc == 0)
      break;
    // A switch leaves frames that called nothing. libunwind does not say that their addresses are exact.
    to.at[to.count] = {pc, to.count == 0 || unw_is_signal_frame(&cursor) > 0};
    ++to.count;
    if (unw_step(&cursor) <= 0)
      break;
  }
  for (std::size_t i = 1; i < to.count; ++i)
    to.at[i].exact |= is_ours(to.at[i - 1].pc) && is_out_of_line(to.at[i - 1].pc);
}

#else

_Unwind_Reason_Code add_frame(_Unwind_Context* context, void* argument) {
  auto& to = *static_cast<chain*>(argument);
  int exact = 0;
  const std::uintptr_t pc = _Unwind_GetIPInfo(context, &exact);
  if (to.count == 0 && (pc != to.from || exact == 0))
    return _URC_NO_REASON;
  if (pc == 0 || to.count == std::size(to.at))
    return _URC_END_OF_STACK;
  to.at[to.count++] = {pc, exact != 0};
  return _URC_NO_REASON;
}

void walk(ucontext_t*, chain& to) {
  _Unwind_Backtrace(add_frame, &to);
}

#endif

void print(const chain& all) {
  for (std::size_t i = 0; i < all.count; ++i)
    std::fprintf(stderr, "  #%zu %#zx%s\n", i, static_cast<std::size_t>(all.at[i].pc),
                 all.at[i].exact ? ", exactly" : "");
}

#define EXPECT(condition)                                                                        \
  do {                                                                                           \
    if (!(condition)) {                                                                          \
      std::fprintf(stderr, "at %#zx, program at %p: not so: %s\n", static_cast<std::size_t>(pc), \
                   static_cast<const void*>(__executable_start), #condition);                    \
      print(seen);                                                                               \
      _exit(1);                                                                                  \
    }                                                                                            \
  } while (0)

// Where the instruction before was: it has moved the stack pointer, is out of line, or jumps to a context.
[[maybe_unused]] bool may_begin_gap(std::uintptr_t sp) {
  const auto* at = reinterpret_cast<const unsigned char*>(total.pc);
  return sp != total.sp || is_out_of_line(total.pc) || (at[0] == 0xff && at[1] == 0x20);
}

void check(const chain& seen, std::uintptr_t pc, [[maybe_unused]] std::uintptr_t sp) {
  ++total.chains;
  EXPECT(seen.count > 0 && seen.count < std::size(seen.at));
  EXPECT(seen.at[0].pc == pc);
  for (std::size_t i = 1; i < seen.count; ++i)
    EXPECT(seen.at[i].exact || !is_ours(seen.at[i].pc) ||
           seen.at[i].pc == reinterpret_cast<std::uintptr_t>(_start) || follows_call(seen.at[i].pc));
  const bool whole = is_outermost(seen.at[seen.count - 1].pc);
  EXPECT(whole || (seen.count == 1 && !is_out_of_line(pc)));
#if defined(__x86_64__)
  EXPECT(whole || total.gap > 0 || may_begin_gap(sp));
  EXPECT(!whole || total.gap == 0 || sp != total.sp || is_out_of_line(pc));
#endif
  total.ended += !whole;
  total.gap = whole ? 0 : total.gap + 1;
  EXPECT(total.gap <= longest_gap);
}

std::uintptr_t unwinding_from;

void on_crash(int) {
  std::fprintf(stderr, "program at %p: the unwinder crashed at %#zx\n",
               static_cast<const void*>(__executable_start), static_cast<std::size_t>(unwinding_from));
  _exit(1);
}

#if defined(__x86_64__)
// A signal handler may write anywhere below the red zone. The kernel aligns its own frame there, and leaves
// up to 63 bytes. How many depends on the CPU's registers, and this fills them.
void fill_below_red_zone(const ucontext_t& context, std::uintptr_t sp) {
  struct {
    std::uint32_t magic, size;
  } extended;
  constexpr std::size_t reserved_at = 464;  // in struct _fpstate: struct _fpx_sw_bytes
  auto* const registers = reinterpret_cast<char*>(context.uc_mcontext.fpregs);
  std::memcpy(&extended, registers + reserved_at, sizeof extended);
  constexpr std::uint32_t has_extended = 0x46505853;  // FP_XSTATE_MAGIC1
  char* const from = registers + (extended.magic == has_extended ? extended.size : sizeof(_libc_fpstate));
  const std::uintptr_t to = sp - 128;
  const auto begin = reinterpret_cast<std::uintptr_t>(from);
  if (begin < to && to - begin < 64)  // otherwise the frame is on another stack
    std::memset(from, 0xcc, to - begin);
}
#endif

void on_step(int, siginfo_t*, void* argument) {
  const int error = errno;
  auto* const context = static_cast<ucontext_t*>(argument);
#if defined(__x86_64__)
  const auto pc = static_cast<std::uintptr_t>(context->uc_mcontext.gregs[REG_RIP]);
  const auto sp = static_cast<std::uintptr_t>(context->uc_mcontext.gregs[REG_RSP]);
  fill_below_red_zone(*context, sp);
#elif defined(__aarch64__)
  const std::uintptr_t pc = context->uc_mcontext.pc, sp = context->uc_mcontext.sp;
#endif
  ++total.instructions;
  if (stepping && is_ours(pc) && !is_linkers(pc)) {
    chain seen;
    seen.count = 0;
    seen.from = pc;
    unwinding_from = pc;
    walk(context, seen);
    check(seen, pc, sp);
    total.pc = pc;
    total.sp = sp;
  }
  errno = error;
}

alignas(64) char signal_memory[1 << 17];

}  // namespace

void fail(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  _exit(1);
}

extern "C" [[gnu::noinline]] void begin_steps() {
  stack_t stack{};
  sigaltstack(nullptr, &stack);
  if ((stack.ss_flags & SS_DISABLE) != 0 || stack.ss_size < sizeof signal_memory) {
    stack = {.ss_sp = signal_memory, .ss_flags = 0, .ss_size = sizeof signal_memory};
    if (sigaltstack(&stack, nullptr) != 0)
      fail("no alternate signal stack");
  }
  total.gap = 0;
  stepping = true;
#if defined(__x86_64__)
  if (unwinds)
    __asm__ volatile("subq $128, %%rsp\n\tpushfq\n\torq $0x100, (%%rsp)\n\tpopfq\n\taddq $128, %%rsp" ::
                         : "cc", "memory");
#else
  __asm__ volatile("" ::: "memory");
#endif
}

extern "C" [[gnu::noinline]] void end_steps() {
  stepping = false;  // the next lines, too, move the stack pointer
#if defined(__x86_64__)
  __asm__ volatile("subq $128, %%rsp\n\tpushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq\n\taddq $128, %%rsp" ::
                       : "cc", "memory");
#else
  __asm__ volatile("" ::: "memory");
#endif
}

int main(int count, char** arguments) {
  if (count < 3) {
    std::fprintf(stderr, "usage: stepping unwind|none alternate|own [SCENARIO...]\n");
    return 2;
  }
#if defined(SENNIT_LIBUNWIND)
  // Its cache takes an interrupted function's first instruction for the return address of a call just before
  // it.
  unw_set_caching_policy(unw_local_addr_space, UNW_CACHE_NONE);
#endif
  unwinds = std::strcmp(arguments[1], "unwind") == 0;
  struct sigaction action = {};
  action.sa_sigaction = on_step;
  action.sa_flags = SA_SIGINFO | SA_RESTART | (std::strcmp(arguments[2], "alternate") == 0 ? SA_ONSTACK : 0);
  sigaction(SIGTRAP, &action, nullptr);
  sigaction(SIGUSR1, &action, nullptr);
  action.sa_flags = SA_ONSTACK | SA_NODEFER;
  action.sa_handler = on_crash;
  sigaction(SIGSEGV, &action, nullptr);
  for (const scenario* each = scenarios; each->name != nullptr; ++each) {
    bool wanted = count == 3;
    for (int i = 3; i < count; ++i)
      wanted |= std::strcmp(arguments[i], each->name) == 0;
    if (!wanted)
      continue;
    total = {};
    each->run();
    std::printf("%s: %ld instructions, %ld backtraces, %ld ended early\n", each->name, total.instructions,
                total.chains, total.ended);
  }
}
