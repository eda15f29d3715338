// From a fault to its hook: see include/sennit/detail/fault/hook.hpp.
#include <signal.h>

#include <atomic>
#include <exception>
#include <new>
#include <utility>

#include "sennit/detail/fault/backtrace.hpp"
#include "sennit/detail/fault/hook.hpp"
#include "sennit/errno.h"

namespace sennit::inline v0_1::detail {

// Lies at the top of one.
struct emergency_stack {
  stack_record record;
};

namespace {

constinit std::atomic<const fault_hook*> process_hook{nullptr};

// Where a fault happens again that its hook has passed on. Nothing else runs on the thread before it does.
struct passing {
  bool due = false;
  std::uintptr_t at = 0;  // may be 0, after a call of a null pointer
};
[[gnu::tls_model("initial-exec")]] constinit thread_local passing passed;

// ---- Emergency stacks.

constexpr std::size_t emergency_size = 64 * 1024;

constinit std::atomic<emergency_stack*> reserve[8]{};

// The reserve is full if as many have been taken from it as when it was last filled. A flag would say so
// before it is: to whoever else is about to need one.
constinit std::atomic<std::uint32_t> taken{1};
constinit std::atomic<std::uint32_t> filled_after{0};

// The hook of a context whose faults no hook serves.
constinit const fault_hook no_hook{[](const fault_hook&, fault_site&) noexcept { return false; }, nullptr};

emergency_stack* make_emergency() noexcept {
  try {
    const stack_memory memory = stack_take(emergency_size);
    auto* const made = ::new (memory.high() - sizeof(emergency_stack))
        emergency_stack{{.kind = "an emergency stack", .hook = &no_hook, .memory = memory}};
    stack_name(memory, &made->record);
    return made;
  } catch (const std::exception&) {
    return nullptr;
  }
}

void drop_emergency(emergency_stack* dropped) noexcept {
  if (dropped != nullptr)
    stack_give(dropped->record.memory);
}

emergency_stack* take_emergency() noexcept {
  for (auto& each : reserve)
    if (emergency_stack* const found = each.exchange(nullptr, std::memory_order_acquire)) {
      taken.fetch_add(1, std::memory_order_relaxed);
      return found;
    }
  return nullptr;
}

// Returns the stack if there is no room for it.
emergency_stack* put_into_reserve(emergency_stack* put) noexcept {
  for (auto& each : reserve) {
    emergency_stack* none = nullptr;
    if (put == nullptr ||
        each.compare_exchange_strong(none, put, std::memory_order_release, std::memory_order_relaxed))
      return nullptr;
  }
  return put;
}

// ---- Serving.

// What a hook may need: to wait, to throw, to say something.
constexpr std::size_t serving_room = 12 * 1024;

struct service {
  const fault_hook* hook;
  fault_site site;
};

[[gnu::noinline]] void pass_at(std::uintptr_t pc) noexcept {
  passed = {true, pc};
}

// In the place of the instruction. The hook may throw.
void serve(redirection& what) {
  auto& wanted = *static_cast<service*>(what.argument);
  const int kept = errno;
  wanted.site.registers = &what.registers;
  const fault_answer answer = wanted.hook->serve(*wanted.hook, wanted.site);
  errno = kept;
  if (answer == fault_answer::pass)
    pass_at(program_counter(what.registers));
}

fault_kind kind_of(int signal) noexcept {
  switch (signal) {
    case SIGBUS:
      return fault_kind::bus;
    case SIGILL:
      return fault_kind::instruction;
    case SIGFPE:
      return fault_kind::arithmetic;
    default:
      return fault_kind::memory;
  }
}

// Where to serve: below what the interrupted code uses, or elsewhere. Null: nowhere.
char* place_for(fault_site& site, const stack_place& on, std::uintptr_t sp, std::size_t room) noexcept {
  const auto low = reinterpret_cast<std::uintptr_t>(on.low);
  if (site.kind != fault_kind::overflow && sp >= low + red_zone + room + serving_room)
    return reinterpret_cast<char*>(sp - red_zone);
  site.emergency = true;
  if (site.stack->emergency == nullptr)
    site.stack->emergency = take_emergency();
  return reinterpret_cast<char*>(site.stack->emergency);
}

}  // namespace

void fault_set_hook(const fault_hook* hook) noexcept {
  process_hook.store(hook, std::memory_order_release);
}

void fault_fill_reserve() noexcept {
  const std::uint32_t before = taken.load(std::memory_order_relaxed);
  if (!fault_redirects || filled_after.load(std::memory_order_acquire) == before)
    return;
  for (auto& each : reserve)
    if (each.load(std::memory_order_relaxed) == nullptr) {
      emergency_stack* const made = make_emergency();
      if (made == nullptr)
        return;
      drop_emergency(put_into_reserve(made));
    }
  filled_after.store(before, std::memory_order_release);
}

void fault_give_emergency(stack_record& of) noexcept {
  drop_emergency(put_into_reserve(std::exchange(of.emergency, nullptr)));
}

fault_location fault_locate(std::uintptr_t address, const void* ucontext, bool thorough) noexcept {
  const std::uintptr_t sp = interrupted_stack_pointer(ucontext);
  const stack_place touched = address != 0 ? stack_find(address) : stack_place{};
  fault_location at{stack_find(sp), {}};
  if (!touched.guard && !at.stack.guard && !(thorough && !at.stack.found))
    return at;
  // The stack pointer, and the accessed address, may already lie in another stack; the frame's caller does
  // not.
  at.frame = frame_interrupted(ucontext);
  if (at.frame.end != 0) {
    const stack_place caller = stack_find(at.frame.end - 1);
    const auto low = reinterpret_cast<std::uintptr_t>(caller.low);
    if (caller.found && !caller.guard) {
      at.stack = caller;
      at.stack.guard = sp < low || (address != 0 && address < low && touched.guard);
      return at;
    }
  }
  // Without tables: the stack whose guard was touched, if the stack pointer is not far from it.
  constexpr std::uintptr_t largest_frame = 1 << 20;
  const auto high = reinterpret_cast<std::uintptr_t>(touched.low) + touched.size;
  if (touched.guard && sp <= high && high - sp <= touched.size + largest_frame)
    at.stack = touched;
  else if (at.stack.guard)
    at.stack = {};
  return at;
}

bool fault_redirect(int signal, const void* address, const stack_place& on, void* ucontext,
                    const char*& refused) noexcept {
  if (!fault_redirects)
    return false;
  if (std::exchange(passed.due, false) && passed.at == interrupted_pc(ucontext)) {
    refused = fault_passed_on;
    return false;
  }
  const std::uintptr_t sp = interrupted_stack_pointer(ucontext);
  if (on.record == nullptr)
    return false;
  // A thread that has no alternate stack: what is to be written there is what we stand on.
  if (reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) -
          reinterpret_cast<std::uintptr_t>(on.low) <
      on.size)
    return false;
  const fault_hook* const hook =
      on.record->hook != nullptr ? on.record->hook : process_hook.load(std::memory_order_acquire);
  fault_site site{.kind = on.guard ? fault_kind::overflow : kind_of(signal),
                  .address = const_cast<void*>(address),
                  .stack = on.record};
  const std::size_t room = redirection_room(ucontext) + sizeof(service);
  if (hook == nullptr || room == sizeof(service) || !hook->wants(*hook, site)) {
    refused = site.refused;
    return false;
  }
  char* top = place_for(site, on, sp, room);
  if (top == nullptr) {
    refused = ", and no emergency stack is left";
    return false;
  }
  top -= sizeof(service);
  top -= reinterpret_cast<std::uintptr_t>(top) % alignof(service);
  redirect(ucontext, top, serve, ::new (top) service{hook, site});
  return true;
}

}  // namespace sennit::inline v0_1::detail
