// Calls on large stacks: see include/sennit/on_large_stack.hpp.
//
// The stack is lent to the running fiber or coroutine. Faults, reports and guards still know it by its own
// record (lent_stack in stack.hpp).
#include "sennit/on_large_stack.hpp"

#include <cstdint>

#include "sennit/detail/arch/call_on_stack.hpp"
#include "sennit/detail/fault/handler.hpp"
#include "sennit/detail/sched/frame_cleanup.hpp"
#include "sennit/detail/sched/worker.hpp"

namespace sennit::inline v0_1::detail {

namespace {

[[gnu::cold, gnu::noinline]] lent_stack& make_large_stack() {
  fault_watch_thread();
  const stack_memory memory = stack_take(large_stack_size);
  char* top = memory.high() - sizeof(lent_stack);
  top -= reinterpret_cast<std::uintptr_t>(top) % 64;
  auto* const made = ::new (top) lent_stack;
  made->kind = lent_kind;
  made->memory = memory;
  stack_name(memory, made);
  return *made;
}

lent_stack& take_large_stack(worker* w) {
  if (w == nullptr || w->large_stacks == nullptr) [[unlikely]]
    return make_large_stack();
  --w->large_stack_count;
  return *std::exchange(w->large_stacks, w->large_stacks->next);
}

// `stands_on_it`: the caller runs on it, and is about to leave it permanently. Other threads must not get it
// before.
void give_large_stack(lent_stack& stack, bool stands_on_it) noexcept {
  worker* const w = this_worker();
  if (w == nullptr || (w->large_stack_count == most_large_stacks && !stands_on_it)) [[unlikely]]
    return stack_give(stack_memory(stack.memory));
  ++w->large_stack_count;
  stack.next = std::exchange(w->large_stacks, &stack);
}

// The borrower: a fiber, or a coroutine, which has no list of cleanups. Without a record, a thread on its own
// stack.
struct borrower {
  worker* at = nullptr;
  stack_record* record = nullptr;
  frame_cleanup** cleanups = nullptr;
};

// Lies in a frame on the borrower's stack.
class large_stack_loan : public frame_cleanup {
public:
  explicit large_stack_loan(const borrower& to)
      : frame_cleanup([](frame_cleanup& loan) noexcept { static_cast<large_stack_loan&>(loan).end(true); },
                      to.cleanups),
        stack_(take_large_stack(to.at)) {
    stack_.name = to.record->name;
    stack_.borrower = to.record;
    stack_.lent = std::exchange(to.record->lent, &stack_);
  }
  ~large_stack_loan() { end(false); }

  char* top() const noexcept { return reinterpret_cast<char*>(&stack_); }
  const stack_memory& memory() const noexcept { return stack_.memory; }

private:
  void end(bool given_up) noexcept {
    stack_record& to = *std::exchange(stack_.borrower, nullptr);
    to.lent = stack_.lent;
    if (!given_up || to.memory.size != 0)  // otherwise others may still refer to its contents
      give_large_stack(stack_, given_up);
  }

  lent_stack& stack_;
};

#if defined(SENNIT_SANITIZED)
struct large_call {
  void (*function)(void*);
  void* argument;
  const stack_visit& visit;
};

SENNIT_UNSANITIZED void run_visit(void* argument) {
  const auto& call = *static_cast<const large_call*>(argument);
  const struct visiting {
    const stack_visit& of;
    ~visiting() { visit_leaves(of); }
  } here{call.visit};
  visit_arrives();
  call.function(call.argument);
}
#endif

borrower borrower_at(std::uintptr_t here) noexcept {
  worker* const w = this_worker();
  if (w != nullptr && w->ready.running()) [[likely]]
    if (coroutine_frame* const frame = fiber_frame(*w->ready.current))
      if (frame->record.holds(here)) [[likely]]
        return {w, &frame->record, &frame->cleanups};
  return {w, stack_find(here).record, nullptr};
}

}  // namespace

void drop_large_stacks(worker& w) noexcept {
  while (w.large_stacks != nullptr)
    stack_give(stack_memory(std::exchange(w.large_stacks, w.large_stacks->next)->memory));
}

void call_on_large_stack(void (*function)(void*), void* argument) {
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  const borrower to = borrower_at(here);
  if (to.record == nullptr)
    return function(argument);
  const stack_memory& on = to.record->lent != nullptr ? to.record->lent->memory : to.record->memory;
  if (here - reinterpret_cast<std::uintptr_t>(on.low) >= large_stack_size / 2 && on.holds(here))
    return function(argument);
  const large_stack_loan loan(to);
#if defined(SENNIT_SANITIZED)
  stack_visit visit(loan.memory());
  const large_call call{function, argument, visit};
  call_on_stack(loan.top(), run_visit, const_cast<large_call*>(&call));
#else
  call_on_stack(loan.top(), function, argument);
#endif
}

}  // namespace sennit::inline v0_1::detail
