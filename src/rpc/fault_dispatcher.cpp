// Faults of fibers on their way to a server: see include/sennit/detail/rpc/fault_dispatcher.hpp.
#include "sennit/detail/rpc/fault_dispatcher.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "cont/discard.hpp"
#include "fault/write_message.hpp"
#include "parallel/pinned_for_now.hpp"
#include "sennit/detail/fault/unwind.hpp"
#include "sennit/detail/parallel/worker_inline.hpp"
#include "sennit/detail/sched/frame_cleanup.hpp"
#include "sennit/detail/wait/stop.hpp"
#include "sennit/exception_server.hpp"
#include "sennit/local/exception_server.hpp"

namespace sennit::inline v0_1::detail {

namespace {

restart* restart_of(const fiber& f) noexcept {
  return static_cast<restart*>(*find_local(f.frame->own.locals, local_key::restart));
}

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
      const fault_hook* const hook = hook_for(same);  // no code of the fiber has run since
      return hook != nullptr ? hook->serve(*hook, site) : fault_answer::pass;
    }};

// ---- The end of a fiber.

void print_given_up(const fiber& f, const char* why) noexcept {
  char text[256];  // `why` has some 100 characters at most, the name 31
  const int length = std::snprintf(
      text, sizeof text,
      "sennit: fiber \"%s\": %s: its frames are given up, and nothing in them is destroyed\n", f.name, why);
  write_message(STDERR_FILENO, {text, static_cast<std::size_t>(length)});
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
// Kills the fiber while the runtime ends: it must not continue after the kill.
[[noreturn]] void throw_left() {
  give_emergency_back();
  throw_forced_unwind();
}

// What a throw and its handlers need of a stack.
constexpr std::size_t throwing_room = 12 * 1024;

std::uintptr_t lowest_to_throw(const fault_site& site) noexcept {
  return reinterpret_cast<std::uintptr_t>(site.stack->memory.low) + throwing_room;
}

// The stack that the site's code ran on: its user's own, or one that is lent.
const stack_memory& stack_of(const fault_site& site) noexcept {
  const auto sp = reinterpret_cast<std::uintptr_t>(stack_pointer(*site.registers));
  for (const stack_record* each = site.stack->lent; each != nullptr; each = each->lent)
    if (each->memory.holds(sp))
      return each->memory;
  return site.stack->memory;
}

const void* accessed_by(const fault_site& site) noexcept {
  return site.kind == fault_kind::memory ? site.address : nullptr;
}

fault_answer kill(const fault_site& site, const fiber& f, void (*thrower)()) {
  const char* left_whole = nullptr;
  if (!fault_in_known_code(*site.registers, accessed_by(site), stack_of(site)))
    left_whole =
        "a fault killed it, in code without unwinding tables, which hides any sennit::guarded function";
  else if (!fault_gives_up(*site.registers, lowest_to_throw(site),
                           reinterpret_cast<const void*>(call_guarded), thrower))
    left_whole = "a fault killed it, and no sennit::guarded function is there to leave";
  if (left_whole != nullptr) {
    print_given_up(f, left_whole);
    fiber_discard();
  }
  give_up_frames_below(stack_pointer(*site.registers));
  return fault_answer::resume;
}

fault_answer unwind(const fault_site& site, const fiber& f) {
  if (!fault_in_known_code(*site.registers, accessed_by(site), stack_of(site))) {
    print_given_up(f, "no exception can leave where it is");
    fiber_discard();
  }
  switch (fault_throws_from(*site.registers, site.emergency ? lowest_to_throw(site) : 0, throw_killed)) {
    case throws_from::here:
      throw killed{};
    case throws_from::outside:
      print_given_up(f, "no exception can leave its innermost functions");
      give_up_frames_below(stack_pointer(*site.registers));
      return fault_answer::resume;
    default:
      print_given_up(f, "no exception can leave its function");
      fiber_discard();
  }
}

// ---- Without a stack.

// If the fiber is to give up its stack: what it begins again, taken from its values.
owner<restart> take_restart(const fault_site& site, const fiber& f) noexcept {
  local_value** const at = find_local(f.frame->own.locals, local_key::restart);
  if (*at == nullptr || site.emergency || f.frame->record.guards != 0 || stop_link::is_shielded())
    return {};
  // A walk cannot begin at the address of a wrong call.
  machine_registers same = *site.registers;
  if (!fault_in_known_code(same, accessed_by(site), stack_of(site)) ||
      program_counter(same) != program_counter(*site.registers) ||
      !could_leave_frames(f, stack_pointer(same)))
    return {};
  local_value* const taken = *at;
  *at = taken->next;
  return owner(static_cast<restart*>(taken));
}

// While a fiber waits without visible effects on it.
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

bool fault_may_ask(fault_site& site, bool local, std::uint32_t receiver) noexcept {
  const fiber* const f = faulting_fiber(site);
  if (f == nullptr || this_worker()->is_local() != local || (f->id != 0 && f->id == receiver))
    return false;
  restart* const then = restart_of(*f);
  if (then == nullptr || !std::exchange(then->passes, false))
    return true;
  site.refused = fault_passed_on;
  return false;
}

fault_answer fault_ask(const fault_site& site, void* dispatcher, const fault_calls& calls) {
  fiber& f = *running_worker().ready.current;
  fault_report about;
  about.kind = site.kind;
  about.stackless = false;
  about.address = site.address;
  about.registers = *site.registers;
  std::memcpy(about.fiber, f.name, sizeof about.fiber);
  if (owner<restart> then = take_restart(site, f)) {
    about.stackless = true;
    leave_frames(calls.calling(dispatcher, about, std::move(then)));
  }
  verdict what = verdict::kill;
  void (*thrower)() = throw_killed;
  {
    const undisturbed while_it_waits(f);
    try {
      what = calls.ask(dispatcher, about);
    } catch (const forced_unwind&) {
      thrower = throw_left;  // the fiber has been stopped once by the end of its runtime: it leaves
    }
  }
  switch (what) {
    case verdict::resume:
      *site.registers = about.registers;
      return fault_answer::resume;
    case verdict::kill:
      return kill(site, f, thrower);
    case verdict::unwind:
      return unwind(site, f);
    default:
      return fault_answer::pass;
  }
}

continuation fault_served(verdict what, const restart& then) {
  const bool passes = what == verdict::pass;
  return what == verdict::resume || passes ? then.again(passes) : continuation();
}

bool may_begin_again() noexcept {
  return !running_worker().unwinding;
}

void clear_restart() noexcept {
  clear_local(running_worker().ready.current->frame->own.locals, local_key::restart);
}

void set_restart(restart* made) noexcept {
  made->next = std::exchange(running_worker().ready.current->frame->own.locals, made);
}

// ---- The hooks of fibers and runtimes.

void prepare_to_serve() noexcept {
  fault_set_hook(&of_any_stack);
  fault_fill_reserve();
}

hook_of_fiber::hook_of_fiber(const fault_hook& to) noexcept
    : record_(running_worker_for("an exception guard").ready.current->frame->record),
      before_(std::exchange(record_.hook, &to)) {
  ++record_.guards;
  prepare_to_serve();
}

hook_of_fiber::~hook_of_fiber() {
  record_.hook = before_;
  --record_.guards;
  fault_give_emergency(record_);
}

namespace {

void set_for_runtime(const fault_hook* hook) noexcept {
  worker& w = running_worker_for("an exception guard of a runtime");
  for (std::size_t i = 0; worker* const each = w.operations.worker_at(w, i); ++i)
    each->fault_hook.store(hook, std::memory_order_release);
}

}  // namespace

void hook_of_runtime::set(std::shared_ptr<const fault_hook> to) {
  static std::mutex lock;
  static auto* const kept = new std::vector<std::shared_ptr<const fault_hook>>;
  const fault_hook* const hook = to.get();
  {
    const std::lock_guard hold(lock);
    if (std::find(kept->begin(), kept->end(), to) == kept->end())
      kept->push_back(std::move(to));
  }
  prepare_to_serve();
  set_for_runtime(hook);
}

void hook_of_runtime::clear() noexcept {
  set_for_runtime(nullptr);
}

}  // namespace sennit::inline v0_1::detail

namespace sennit::inline v0_1 {

scope::scope(exception_server& faults) : basic_scope(faults.for_scope()) {}
local::scope::scope(local::exception_server& faults) : basic_scope(faults.for_scope()) {}

}  // namespace sennit::inline v0_1
