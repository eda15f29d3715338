// Faults of fibers on their way to a server: see include/sennit/detail/rpc/exception_desk.hpp.
#include "sennit/detail/rpc/exception_desk.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "sched/pinned_for_now.hpp"
#include "sennit/detail/fault/unwind.hpp"
#include "sennit/detail/sched/frame_cleanup.hpp"
#include "sennit/detail/sched/parallel.hpp"
#include "sennit/detail/sched/stop.hpp"
#include "sennit/exception_server.hpp"
#include "sennit/local/exception_server.hpp"

namespace sennit::detail {

namespace {

// The fiber that faults, if it is in its own code. In the signal handler.
fiber* faulting_fiber(fault_site& site) noexcept {
  worker* const w = this_worker();
  if (w == nullptr || !w->ready.running() || w->unwinding)
    return nullptr;
  fiber* const f = w->ready.current;
  if (f == nullptr || f->flags.stackless || f->is_parked() || f->frame == nullptr)
    return nullptr;
  if (site.stack->kind == fiber_kind && site.stack != &f->frame->record)
    return nullptr;  // it is about to leave, or to be left
  if (site.stack->kind != fiber_kind && site.kind == fault_kind::overflow)
    return nullptr;  // maybe in a switch, and it is not the current fiber's
  if (f->frame->no_yield != 0)
    site.refused = ", where it is not to yield";
  else if (sennit_thread_self()->report_held_locks != nullptr)
    site.refused = ", while it holds a pthread lock";
  else
    return f;
  return nullptr;
}

// ---- All that have no hook of their own: generators that a fiber runs, and fibers of a runtime that has
// one.

const fault_hook* hook_for(fault_site& site) noexcept {
  const fiber* const f = faulting_fiber(site);
  if (f == nullptr)
    return nullptr;
  if (const fault_hook* own = f->frame->record.hook)
    return own;
  return this_worker()->fault_hook.load(std::memory_order_acquire);
}

constinit const fault_hook of_any_stack{
    [](const fault_hook&, fault_site& site) noexcept {
      const fault_hook* const hook = hook_for(site);
      return hook != nullptr && hook->wants(*hook, site);
    },
    [](const fault_hook&, const fault_site& site) {
      fault_site same = site;
      const fault_hook* const hook = hook_for(same);  // the same: nothing of the fiber's has run since
      return hook != nullptr ? hook->serve(*hook, site) : fault_answer::pass;
    }};

// ---- The end of a fiber.

void say_given_up(const fiber& f, const char* why) noexcept {
  char text[192];
  const int length = std::snprintf(text, sizeof text,
                                   "sennit: fiber \"%s\": %s: nothing of that is destroyed\n", f.name, why);
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text, static_cast<std::size_t>(length));
}

// The emergency stack, if there was one, has been left.
void give_emergency_back() noexcept {
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  if (stack_record* const record = stack_find(here).record)
    fault_give_emergency(*record);
}
[[noreturn]] void throw_killed() {
  give_emergency_back();
  throw killed{};
}
// The same where the runtime ends: who would go on after a kill is not to.
[[noreturn]] void throw_left() {
  give_emergency_back();
  throw_forced_unwind();
}

// What a throw and its handlers need of a stack.
constexpr std::size_t throwing_room = 12 * 1024;

std::uintptr_t lowest_to_throw(const fault_site& site) noexcept {
  return reinterpret_cast<std::uintptr_t>(site.stack->memory.low) + throwing_room;
}

fault_answer kill(const fault_site& site, const fiber& f, void (*thrower)()) {
  const machine_registers faulted = *site.registers;
  if (!fault_in_known_code(*site.registers, site.stack->memory) ||
      !fault_gives_up(*site.registers, lowest_to_throw(site), reinterpret_cast<const void*>(call_guarded),
                      thrower)) {
    say_given_up(f, "a fault killed it, and no sennit::guarded function is there to leave");
    fiber_discard();
  }
  give_up_frames(stack_pointer(faulted), stack_pointer(*site.registers));
  return fault_answer::resume;
}

fault_answer unwind(const fault_site& site, const fiber& f) {
  const machine_registers faulted = *site.registers;
  if (!fault_in_known_code(*site.registers, site.stack->memory)) {
    say_given_up(f, "no exception can leave where it is");
    fiber_discard();
  }
  switch (fault_throws_from(*site.registers, site.emergency ? lowest_to_throw(site) : 0, throw_killed)) {
    case throws_from::here:
      throw killed{};
    case throws_from::outside:
      say_given_up(f, "no exception can leave its innermost functions");
      give_up_frames(stack_pointer(faulted), stack_pointer(*site.registers));
      return fault_answer::resume;
    default:
      say_given_up(f, "no exception can leave its function");
      fiber_discard();
  }
}

// While a fiber waits as if nothing had happened.
class undisturbed {
public:
  explicit undisturbed(fiber& f) : fiber_(f), pinned_(running_worker(), f), status_(f.flags.status) {
    if (f.flags.stoppable)
      shield_.emplace(stop_link::kind::shield);
  }
  ~undisturbed() {
    shield_.reset();
    fiber_.flags.status = status_;
  }
  undisturbed(const undisturbed&) = delete;
  undisturbed& operator=(const undisturbed&) = delete;

private:
  fiber& fiber_;
  const pinned_for_now pinned_;
  const fiber_status status_;
  std::optional<stop_link> shield_;
};

}  // namespace

constinit const fault_hook unserved{[](const fault_hook&, fault_site&) noexcept { return false; }, nullptr};

void call_guarded(void (*function)(void*), void* argument) {
  function(argument);
  asm volatile("");  // our frame is there until it returns
}

// ---- The faulting fiber's side.

constexpr std::uintptr_t answered = 1;

template <class Kind>
bool exception_desk<Kind>::wants(const fault_hook& self, fault_site& site) noexcept {
  const auto& desk = static_cast<const exception_desk&>(self);
  const fiber* const f = faulting_fiber(site);
  return f != nullptr && (this_worker()->shared == nullptr) == Kind::local &&
         !desk.closed_.load(std::memory_order_relaxed) &&
         (f->id == 0 || desk.receiver_.load(std::memory_order_relaxed) != f->id);
}

template <class Kind>
fault_answer exception_desk<Kind>::serve(const fault_hook& self, const fault_site& site) {
  auto& desk = const_cast<exception_desk&>(static_cast<const exception_desk&>(self));
  fiber& f = *running_worker().ready.current;
  bool leaves = false;
  switch (desk.ask(site, f, leaves)) {
    case verdict::resume:
      return fault_answer::resume;
    case verdict::kill:
      return kill(site, f, leaves ? throw_left : throw_killed);
    case verdict::unwind:
      return unwind(site, f);
    default:
      return fault_answer::pass;
  }
}

// A fiber whose runtime ends while it waits is told so once: it leaves.
template <class Kind>
verdict exception_desk<Kind>::ask(const fault_site& site, fiber& who, bool& leaves) {
  const undisturbed while_it_waits(who);
  call mine{.site = site, .who = who};
  if (!file(mine))
    return verdict::pass;
  filed_.release();
  try {
    mine.done.wait(site.kind == fault_kind::memory ? "page fault" : "exception", never,
                   [](std::uintptr_t& now) { return now == answered; });
  } catch (const forced_unwind&) {
    withdraw(mine);
    leaves = true;
    return verdict::kill;
  }
  return mine.answer;
}

template <class Kind>
bool exception_desk<Kind>::file(call& mine) noexcept {
  const std::lock_guard hold(lock_);
  if (closed_.load(std::memory_order_relaxed))
    return false;
  *last_ = &mine;
  last_ = &mine.next;
  return true;
}

template <class Kind>
void exception_desk<Kind>::withdraw(call& mine) noexcept {
  const std::lock_guard hold(lock_);
  if (mine.received != nullptr) {
    mine.received->of = nullptr;
    return;
  }
  for (call** each = &first_; *each != nullptr; each = &(*each)->next)
    if (*each == &mine) {
      *each = mine.next;
      if (last_ == &mine.next)
        last_ = each;
      return;
    }
}

// ---- The server's side.

template <class Kind>
typename exception_desk<Kind>::call* exception_desk<Kind>::take_first() noexcept {
  call* const taken = first_;
  if (taken != nullptr) {
    first_ = taken->next;
    if (first_ == nullptr)
      last_ = &first_;
  }
  return taken;
}

template <class Kind>
void exception_desk<Kind>::is_received_by(fiber& server) noexcept {
  receiver_.store(static_cast<std::uint32_t>(fiber_id(server)), std::memory_order_relaxed);
}

template <class Kind>
bool exception_desk<Kind>::take(holder& into) noexcept {
  const std::lock_guard hold(lock_);
  call* const next = take_first();
  if (next == nullptr)
    return false;
  next->received = &into;
  into.of = next;
  into.was_received = true;
  into.kind = next->site.kind;
  into.address = next->site.address;
  into.registers = *next->site.registers;
  std::memcpy(into.fiber, next->who.name, sizeof into.fiber);
  return true;
}

template <class Kind>
void exception_desk<Kind>::receive(holder& into, time_point deadline) {
  fault_fill_reserve();
  is_received_by(*running_worker_for("exception_server::receive").ready.current);
  while (filed_.try_acquire_until(deadline) && !take(into)) {
  }
}

// It is woken under the lock: who withdraws meanwhile may be gone after it.
template <class Kind>
void exception_desk<Kind>::reply(holder& to, verdict answer) noexcept {
  const std::lock_guard hold(lock_);
  call* const of = std::exchange(to.of, nullptr);
  if (of == nullptr)
    return;
  if (answer == verdict::resume)
    *of->site.registers = to.registers;
  of->received = nullptr;
  of->answer = answer;
  of->done.wake_all(answered);
}

template <class Kind>
void exception_desk<Kind>::close() noexcept {
  const std::lock_guard hold(lock_);
  closed_.store(true, std::memory_order_relaxed);
  while (call* const next = take_first())
    next->done.wake_all(answered);
}

template class exception_desk<exceptions_in_parallel>;
template class exception_desk<exceptions_in_local>;

// ---- Who has which hook.

void prepare_to_serve() noexcept {
  fault_set_hook(&of_any_stack);
  fault_fill_reserve();
}

hook_of_fiber::hook_of_fiber(const fault_hook& to) noexcept
    : record_(running_worker_for("an exception guard").ready.current->frame->record),
      before_(std::exchange(record_.hook, &to)) {
  prepare_to_serve();
}

hook_of_fiber::~hook_of_fiber() {
  record_.hook = before_;
  fault_give_emergency(record_);
}

hook_of_runtime::hook_of_runtime(std::shared_ptr<const fault_hook> to) {
  static std::mutex lock;
  static auto* const kept = new std::vector<std::shared_ptr<const fault_hook>>;
  const fault_hook* const hook = to.get();
  {
    const std::lock_guard hold(lock);
    kept->push_back(std::move(to));
  }
  prepare_to_serve();
  set(hook);
}

hook_of_runtime::~hook_of_runtime() {
  set(nullptr);
}

void hook_of_runtime::set(const fault_hook* hook) noexcept {
  worker& w = running_worker_for("an exception guard of a runtime");
  if (w.shared == nullptr) {
    w.fault_hook.store(hook, std::memory_order_release);
    return;
  }
  for (const auto& each : w.shared->workers)
    each->fault_hook.store(hook, std::memory_order_release);
}

}  // namespace sennit::detail

namespace sennit {

scope::scope(exception_server& faults) : basic_scope(faults.for_scope()) {}
local::scope::scope(local::exception_server& faults) : basic_scope(faults.for_scope()) {}

}  // namespace sennit
