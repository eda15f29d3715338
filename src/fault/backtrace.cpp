// Backtraces by libgcc's unwinder.
//
// The unwinder starts only from its own caller. To walk a suspended context, it is called on a stack whose
// first frame names that context as its caller, as in backtraces of scheduler steps.
#include "sennit/detail/fault/backtrace.hpp"

#include <cxxabi.h>
#include <dlfcn.h>
#include <ucontext.h>
#include <unwind.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>

#include "sennit/detail/fault/survive.hpp"
#include "sennit/detail/stack/sanitizer.hpp"

namespace sennit::inline v0_1::detail {

namespace {

struct walk {
  std::span<std::uintptr_t> at;
  std::size_t count = 0;
  // Frames are left out while their stack pointers lie here, and until one is at this pc.
  std::uintptr_t low = 0;
  std::uintptr_t high = 0;
  std::uintptr_t first_pc = 0;
};

SENNIT_UNSANITIZED _Unwind_Reason_Code note_frame(_Unwind_Context* frame, void* argument) {
  walk& w = *static_cast<walk*>(argument);
  int exact = 0;
  const std::uintptr_t pc = _Unwind_GetIPInfo(frame, &exact);
  const std::uintptr_t sp = _Unwind_GetCFA(frame);
  if ((sp >= w.low && sp < w.high) || (w.first_pc != 0 && pc != w.first_pc))
    return _URC_NO_REASON;
  w.first_pc = 0;
  if (pc == 0 || w.count == w.at.size())
    return _URC_END_OF_STACK;
  w.at[w.count++] = pc - (exact == 0);
  return _URC_NO_REASON;
}

// The space for the frames of a walk and of its caller.
constexpr std::uintptr_t what_is_below = 4096;

SENNIT_UNSANITIZED void go(void* argument) {
  _Unwind_Backtrace(note_frame, argument);
}

#if !defined(SENNIT_BACKEND_PORTABLE)

SENNIT_UNSANITIZED sennit_decision go_there(sennit_context self, void* argument) {
  go(argument);
  return {self, 0};
}

struct there {
  walk* what;
  void* stack;
};

SENNIT_UNSANITIZED void suspend_and_go(void* argument) {
  const auto& to = *static_cast<const there*>(argument);
  sennit_suspend(to.stack, go_there, to.what);
}

#endif

}  // namespace

SENNIT_UNSANITIZED std::size_t backtrace_of([[maybe_unused]] sennit_context context,
                                            [[maybe_unused]] const stack_memory& scratch,
                                            [[maybe_unused]] std::span<std::uintptr_t> at) noexcept {
#if defined(SENNIT_BACKEND_PORTABLE)
  return 0;
#else
  char* const top = scratch.high() - 48;
  *reinterpret_cast<sennit_context*>(top) = context;
  walk what{at};
  what.low = reinterpret_cast<std::uintptr_t>(scratch.low);
  what.high = reinterpret_cast<std::uintptr_t>(scratch.high());
  there to{&what, top};
  fault_survived(suspend_and_go, &to);
  return what.count;
#endif
}

SENNIT_UNSANITIZED std::size_t backtrace_interrupted(const void* ucontext,
                                                     std::span<std::uintptr_t> at) noexcept {
  walk what{at};
  what.first_pc = interrupted_pc(ucontext);
  fault_survived(go, &what);
  if (what.count == 0 && !at.empty() && interrupted_pc(ucontext) != 0)
    at[what.count++] = interrupted_pc(ucontext);
  return what.count;
}

SENNIT_UNSANITIZED std::size_t backtrace_here(const void* frame, std::span<std::uintptr_t> at) noexcept {
  walk what{at};
  what.low = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) - what_is_below;
  what.high = reinterpret_cast<std::uintptr_t>(frame);
  fault_survived(go, &what);
  return what.count;
}

namespace {

struct frame_search {
  std::uintptr_t pc;
  interrupted_frame found;
  std::size_t callers = 0;
};

SENNIT_UNSANITIZED _Unwind_Reason_Code look_at_frame(_Unwind_Context* frame, void* argument) {
  frame_search& search = *static_cast<frame_search*>(argument);
  interrupted_frame& found = search.found;
  if (found.function == 0) {  // a frame of the handler's, or the one that is wanted
    int exact = 0;
    if (_Unwind_GetIPInfo(frame, &exact) == search.pc)
      found.function = _Unwind_GetRegionStart(frame);
    return _URC_NO_REASON;
  }
  if (search.callers++ == 0)
    found.end = _Unwind_GetCFA(frame);
  found.recursive = _Unwind_GetRegionStart(frame) == found.function;
  return found.recursive || search.callers == backtrace_depth ? _URC_END_OF_STACK : _URC_NO_REASON;
}

}  // namespace

SENNIT_UNSANITIZED interrupted_frame frame_interrupted(const void* ucontext) noexcept {
  frame_search search{interrupted_pc(ucontext), {}};
  fault_survived([](void* argument) { _Unwind_Backtrace(look_at_frame, argument); }, &search);
  return search.found;
}

namespace {

// Where a signal interrupted its thread.
struct interruption {
  std::uintptr_t pc = 0;
  std::uintptr_t stack_pointer = 0;
};

interruption interruption_of([[maybe_unused]] const void* context) noexcept {
  [[maybe_unused]] const auto at = [](auto word) { return static_cast<std::uintptr_t>(word); };
  [[maybe_unused]] const auto& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return {at(machine.gregs[REG_RIP]), at(machine.gregs[REG_RSP])};
#elif defined(__aarch64__)
  return {at(machine.pc), at(machine.sp)};
#elif defined(__riscv)
  return {at(machine.__gregs[REG_PC]), at(machine.__gregs[REG_SP])};
#elif defined(__powerpc64__)
  return {at(machine.gp_regs[32]), at(machine.gp_regs[1])};  // the first is PT_NIP
#elif defined(__s390x__)
  return {at(machine.psw.addr), at(machine.gregs[15])};
#elif defined(__arm__)
  return {at(machine.arm_pc), at(machine.arm_sp)};
#else
  return {};
#endif
}

}  // namespace

std::uintptr_t interrupted_pc(const void* context) noexcept {
  return interruption_of(context).pc;
}

std::uintptr_t interrupted_stack_pointer(const void* context) noexcept {
  return interruption_of(context).stack_pointer;
}

bool on_large_stack(void (*function)(void* argument), void* argument) noexcept {
  constexpr std::size_t room = std::size_t{1} << 20;
  stack_memory memory;
  try {
    memory = stack_take(room);
  } catch (const std::exception&) {
    return false;
  }
  struct call {
    void (*function)(void*);
    void* argument;
  } wanted{function, argument};
  char* const top = memory.high() - 48;
  sennit_end_backtraces(top);
  sennit_suspend(
      top,
      [](sennit_context self, void* what) -> sennit_decision {
        const call& made = *static_cast<const call*>(what);
        made.function(made.argument);
        return {self, 0};
      },
      &wanted);
  stack_give(memory);
  return true;
}

namespace {

void append_offset(std::string& to, std::uintptr_t from, std::uintptr_t address) {
  char text[24];
  std::snprintf(text, sizeof text, "+0x%zx", address - from);
  to += text;
}

std::string demangled(const char* name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> plain(abi::__cxa_demangle(name, nullptr, nullptr, &status),
                                                     std::free);
  return plain != nullptr ? plain.get() : name;
}

}  // namespace

void describe_address(std::string& to, std::uintptr_t address) {
  Dl_info known{};
  if (::dladdr(reinterpret_cast<void*>(address), &known) == 0 || known.dli_fname == nullptr) {
    append_offset(to, 0, address);
    return;
  }
  if (known.dli_sname != nullptr) {
    to += demangled(known.dli_sname);
    append_offset(to, reinterpret_cast<std::uintptr_t>(known.dli_saddr), address);
    to += " ";
  }
  to += "(";
  to += known.dli_fname;
  append_offset(to, reinterpret_cast<std::uintptr_t>(known.dli_fbase), address);
  to += ")";
}

}  // namespace sennit::inline v0_1::detail
