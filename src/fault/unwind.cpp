// The places from which an exception may be thrown after a fault: see include/sennit/detail/fault/unwind.hpp.
#include "sennit/detail/fault/unwind.hpp"

#include <unwind.h>

#include <cstring>
#include <utility>

#include "sennit/detail/arch/context.h"
#include "sennit/detail/fault/hook.hpp"

namespace sennit::inline v0_1::detail {

namespace {

// A function's table of calls (Itanium C++ ABI, exception handling tables).
class call_table {
public:
  explicit call_table(const unsigned char* at) noexcept : at_(at) {
    if (byte() != omitted)  // where landing pads begin
      known_ = false;       // none of our compilers sets it
    if (byte() != omitted)  // the types
      number();
    encoding_ = byte();
    const std::uintptr_t size = number();
    end_ = at_ + size;
  }

  bool covers(std::uintptr_t offset) noexcept {
    while (next())
      if (offset >= begin_ && offset - begin_ < size_)
        return true;
    return false;
  }
  // Whether an exception that leaves any of its calls runs something in the function.
  bool lands_somewhere() noexcept {
    while (next())
      if (landing_)
        return true;
    return !known_;
  }

  // For the call that was found: whether an exception that leaves it destroys anything. (A list of actions
  // may also catch; a 0 in it is a cleanup for exceptions that it does not catch.)
  bool cleans_up() noexcept {
    if (!landing_ || action_ == 0)
      return landing_;
    at_ = end_ + action_ - 1;
    for (;;) {
      if (signed_number() == 0)
        return true;
      const unsigned char* const from = at_;
      const std::intptr_t next = signed_number();
      if (next == 0)
        return false;
      at_ = from + next;
    }
  }

private:
  static constexpr unsigned char omitted = 0xff;

  bool next() noexcept {
    if (!known_ || at_ >= end_)
      return false;
    begin_ = encoded();
    size_ = encoded();
    landing_ = encoded() != 0;
    action_ = number();
    return known_;
  }

  unsigned char byte() noexcept { return *at_++; }
  std::uintptr_t number() noexcept {
    std::uintptr_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const unsigned char next = byte();
      value |= static_cast<std::uintptr_t>(next & 0x7f) << shift;
      if ((next & 0x80) == 0)
        return value;
    }
  }
  std::intptr_t signed_number() noexcept {
    std::uintptr_t value = 0;
    for (unsigned shift = 0;;) {
      const unsigned char next = byte();
      value |= static_cast<std::uintptr_t>(next & 0x7f) << shift;
      shift += 7;
      if ((next & 0x80) != 0)
        continue;
      if ((next & 0x40) != 0 && shift < 8 * sizeof value)
        value |= ~std::uintptr_t{0} << shift;
      return static_cast<std::intptr_t>(value);
    }
  }
  template <class T>
  std::uintptr_t fixed() noexcept {
    T value;
    std::memcpy(&value, at_, sizeof value);
    at_ += sizeof value;
    return static_cast<std::uintptr_t>(value);
  }
  std::uintptr_t encoded() noexcept {
    switch (encoding_) {
      case 0x01:
        return number();
      case 0x02:
        return fixed<std::uint16_t>();
      case 0x03:
        return fixed<std::uint32_t>();
      case 0x00:
      case 0x04:
        return fixed<std::uint64_t>();
      default:
        known_ = false;
        return 0;
    }
  }

  const unsigned char* at_;
  const unsigned char* end_ = nullptr;
  unsigned char encoding_ = omitted;
  bool known_ = true;
  std::uintptr_t begin_ = 0;
  std::uintptr_t size_ = 0;
  bool landing_ = false;
  std::uintptr_t action_ = 0;
};

// What the table of a frame's function states for its place. `otherwise`: there is no table.
template <class Ask>
bool ask_table(_Unwind_Context* frame, bool otherwise, Ask ask) noexcept {
  const auto* table = reinterpret_cast<const unsigned char*>(_Unwind_GetLanguageSpecificData(frame));
  if (table == nullptr)
    return otherwise;
  int exact = 0;
  const std::uintptr_t pc = _Unwind_GetIPInfo(frame, &exact) - 1 + static_cast<std::uintptr_t>(exact);
  call_table calls(table);
  return ask(calls, pc - _Unwind_GetRegionStart(frame));
}

struct cleanup_search {
  std::uintptr_t above;  // stack pointers of frames that matter
  unsigned trusted;      // the number of frames to skip
  bool (*is_root)(std::uintptr_t);
  silence not_said;
  std::uintptr_t found = 0;
  std::uintptr_t last = 0;  // the place in the last frame
  bool reached_root = false;
};

_Unwind_Reason_Code look_for_cleanup(_Unwind_Context* frame, void* argument) {
  auto& search = *static_cast<cleanup_search*>(argument);
  if (_Unwind_GetCFA(frame) < search.above)
    return _URC_NO_REASON;
  if (search.is_root(_Unwind_GetRegionStart(frame))) {
    search.reached_root = true;
    return _URC_END_OF_STACK;
  }
  const bool innermost = std::exchange(search.last, _Unwind_GetIP(frame) - 1) == 0;
  if (search.trusted != 0) {
    --search.trusted;
    return _URC_NO_REASON;
  }
  const bool may_hide_some = search.not_said == silence::may_hide_some;
  int exact = 0;
  _Unwind_GetIPInfo(frame, &exact);
  const bool interrupted = exact != 0 && !innermost;  // by a signal handler
  if (!(may_hide_some && interrupted) &&
      !ask_table(frame, false, [&](call_table& calls, std::uintptr_t offset) {
        return may_hide_some ? calls.lands_somewhere() : calls.covers(offset) && calls.cleans_up();
      }))
    return _URC_NO_REASON;
  search.found = search.last;
  return _URC_END_OF_STACK;
}

}  // namespace

std::uintptr_t frame_with_cleanup(const void* frame, unsigned trusted, bool (*is_root)(std::uintptr_t),
                                  silence not_said) noexcept {
  cleanup_search search{.above = reinterpret_cast<std::uintptr_t>(frame),
                        .trusted = trusted,
                        .is_root = is_root,
                        .not_said = not_said};
  _Unwind_Backtrace(look_for_cleanup, &search);
  if (search.found == 0 && not_said == silence::may_hide_some && !search.reached_root)
    return search.last;  // it has called the next one through code without unwind tables
  return search.found;
}

#if SENNIT_REDIRECTS && !defined(SENNIT_BACKEND_PORTABLE)

namespace {

// libgcc's, which no header declares. Without a table it would look at the instruction, which may not be
// there.
struct table_bases {
  void* text;
  void* data;
  void* function;
};
extern "C" const void* _Unwind_Find_FDE(void* pc, table_bases* bases);

bool has_table(std::uintptr_t pc) noexcept {
  table_bases bases;
  return pc != 0 && _Unwind_Find_FDE(reinterpret_cast<void*>(pc), &bases) != nullptr;
}

// Whether an exception may leave the function where it is.
bool may_be_left(_Unwind_Context* frame) noexcept {
  return ask_table(frame, true,
                   [](call_table& calls, std::uintptr_t offset) { return calls.covers(offset); });
}

struct frames {
  machine_registers& registers;
  const std::uintptr_t lowest;
  const std::uintptr_t give_up_to = 0;  // a function; 0: look at tables
  bool at_fault = false;                // the walk has come to the instruction
  bool at_root = false;                 // and to the end
  bool at_serve = false;                // to a generator's or coroutine's first frame
  bool in_caller = false;               // beyond one
  throws_from from = throws_from::here;
  bool give_up = false;  // this frame, so that its caller is the candidate
  machine_registers candidate{};
};

#if defined(__x86_64__)

constexpr int rbx = 3, rbp = 6, r12 = 12, r13 = 13, r14 = 14, r15 = 15;

// The caller's registers as after the return of its callee, except the stack pointer and the program counter,
// which are those of the return.
machine_registers registers_at_return(const machine_registers& others, _Unwind_Context* frame) noexcept {
  machine_registers all = others;
  all.rbx = _Unwind_GetGR(frame, rbx);
  all.rbp = _Unwind_GetGR(frame, rbp);
  all.r12 = _Unwind_GetGR(frame, r12);
  all.r13 = _Unwind_GetGR(frame, r13);
  all.r14 = _Unwind_GetGR(frame, r14);
  all.r15 = _Unwind_GetGR(frame, r15);
  all.rsp = _Unwind_GetCFA(frame) - sizeof(std::uintptr_t);
  return all;
}

// Registers of registers_at_return(): calls the function in place of the return.
void call_at_return(machine_registers& registers, void (*function)()) noexcept {
  registers.rip = reinterpret_cast<std::uintptr_t>(function);
  registers.rflags &= ~std::uint64_t{1 << 10};  // forwards, as functions expect
}

// The code has just been called, and its caller is at the call. Returns false if that is certainly not so.
bool go_to_caller(machine_registers& registers, const void*, const stack_memory& stack) noexcept {
  if (!stack.holds(registers.rsp))
    return false;
  std::memcpy(&registers.rip, reinterpret_cast<const void*>(registers.rsp), sizeof registers.rip);
  registers.rsp += sizeof registers.rip;
  --registers.rip;  // the call: what lies behind it may be left otherwise, or be another function
  return has_table(registers.rip);
}

#else

constexpr int x19 = 19, x30 = 30, d8 = 64 + 8;

// The callee-saved halves of the vector registers are in x0 to x7, which sennit_call_with_vectors() expects.
machine_registers registers_at_return(const machine_registers& others, _Unwind_Context* frame) noexcept {
  machine_registers all = others;
  for (int i = 0; i < 8; ++i)
    all.x[i] = _Unwind_GetGR(frame, d8 + i);
  for (int i = x19; i < x30; ++i)
    all.x[i] = _Unwind_GetGR(frame, i);
  int exact = 0;
  all.x[x30] = _Unwind_GetIPInfo(frame, &exact);
  all.sp = _Unwind_GetCFA(frame);
  return all;
}

extern "C" void sennit_call_with_vectors();  // redirect_aarch64.S

void call_at_return(machine_registers& registers, void (*function)()) noexcept {
  registers.x[16] = reinterpret_cast<std::uintptr_t>(function);
  registers.pc = reinterpret_cast<std::uintptr_t>(sennit_call_with_vectors);
  registers.pstate &= ~(std::uint64_t{3} << 10);  // no branch is under way
}

// The link register does not say whether the code has a frame by now. So the fault must be that no
// instruction could be read, or the instruction before the address in the link register must be a call of the
// very address at which the fault was. In both cases nothing else has run since the call.
bool go_to_caller(machine_registers& registers, const void* accessed, const stack_memory&) noexcept {
  constexpr unsigned length = 4;
  const std::uint64_t at = registers.x[x30] - length;
  if (at % length != 0 || !has_table(at))
    return false;
  std::uint32_t call;
  std::memcpy(&call, reinterpret_cast<const void*>(at), sizeof call);
  constexpr std::uint32_t call_register = 0xd63f0000, register_field = 0x3e0;
  const unsigned by = (call & register_field) >> 5;
  const bool is_its_call =
      (call & ~register_field) == call_register && by < x30 && registers.x[by] == registers.pc;
  if (!is_its_call && reinterpret_cast<std::uintptr_t>(accessed) != registers.pc)
    return false;
  registers.pc = at;
  return true;
}

#endif

_Unwind_Reason_Code look_at(_Unwind_Context* frame, void* argument) {
  auto& all = *static_cast<frames*>(argument);
  int exact = 0;
  const std::uintptr_t pc = _Unwind_GetIPInfo(frame, &exact);
  if (!all.at_fault) {
    if (exact == 0 || pc != program_counter(all.registers) ||
        _Unwind_GetCFA(frame) != reinterpret_cast<std::uintptr_t>(stack_pointer(all.registers)))
      return _URC_NO_REASON;
    all.at_fault = true;
  } else if (all.give_up) {
    all.from = all.in_caller ? throws_from::nowhere : throws_from::outside;
    all.candidate = registers_at_return(all.registers, frame);
  }
  const auto function = static_cast<std::uintptr_t>(_Unwind_GetRegionStart(frame));
  if (function == reinterpret_cast<std::uintptr_t>(sennit_enter_rounds)) {
    all.at_root = true;
    return _URC_END_OF_STACK;
  }
  // A generator hands its exception to its resumer, which throws it by a call: not where it was left.
  const bool resumes =
      std::exchange(all.at_serve, function == reinterpret_cast<std::uintptr_t>(sennit_serve));
  all.in_caller |= all.at_serve;
  if (all.give_up_to != 0) {
    all.at_root = all.from == throws_from::outside;
    all.give_up = function == all.give_up_to;
    return all.at_root ? _URC_END_OF_STACK : _URC_NO_REASON;
  }
  all.give_up = !(resumes || may_be_left(frame)) || (!all.in_caller && _Unwind_GetCFA(frame) < all.lowest);
  if (all.give_up && all.in_caller)
    all.from = throws_from::nowhere;
  return all.from == throws_from::nowhere ? _URC_END_OF_STACK : _URC_NO_REASON;
}

void go_on_in(void (*thrower)(), frames& all) noexcept {
  all.registers = all.candidate;
  call_at_return(all.registers, thrower);
}

}  // namespace

bool fault_in_known_code(machine_registers& registers, const void* accessed,
                         const stack_memory& stack) noexcept {
  return has_table(program_counter(registers)) || go_to_caller(registers, accessed, stack);
}

bool fault_gives_up(machine_registers& registers, std::uintptr_t lowest, const void* function,
                    void (*thrower)()) noexcept {
  frames all{
      .registers = registers, .lowest = lowest, .give_up_to = reinterpret_cast<std::uintptr_t>(function)};
  _Unwind_Backtrace(look_at, &all);
  if (all.from != throws_from::outside ||
      reinterpret_cast<std::uintptr_t>(stack_pointer(all.candidate)) < lowest)
    return false;
  go_on_in(thrower, all);
  return true;
}

throws_from fault_throws_from(machine_registers& registers, std::uintptr_t lowest,
                              void (*thrower)()) noexcept {
  frames all{.registers = registers, .lowest = lowest};
  _Unwind_Backtrace(look_at, &all);
  if (!all.at_root || all.give_up)
    return throws_from::nowhere;
  if (all.from == throws_from::outside)
    go_on_in(thrower, all);
  return all.from;
}

#else

bool fault_in_known_code(machine_registers&, const void*, const stack_memory&) noexcept {
  return false;
}

bool fault_gives_up(machine_registers&, std::uintptr_t, const void*, void (*)()) noexcept {
  return false;
}

throws_from fault_throws_from(machine_registers&, std::uintptr_t, void (*)()) noexcept {
  return throws_from::nowhere;
}

#endif

}  // namespace sennit::inline v0_1::detail
