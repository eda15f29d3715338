// A port whose callers are fibers that fault. Its receiver is an exception server. The hook of the callers'
// stacks (fault/hook.hpp) makes the call.
//
//   faulting fiber, in the place of its instruction       server's fiber
//   desk.serve(): sends registers and address             receives them
//   waits, on its own stack, as in any call               replies with a verdict, and registers
//   resumes, or is killed, or repeats the fault
//
// Meanwhile the faulting fiber is pinned to its worker: its code does not expect a wait, and may hold the
// address of a thread-local variable in a register. It may give up its stack instead: restartable.hpp.
//
// A fault is not served while the fiber is inside the scheduler, as far as that can be seen: its descriptor
// says that it waits, or another fiber is current. Nor is it served where the fiber must not yield, because
// waiting for a server is a yield. Nor while the fiber holds a pthread lock; debug builds know that, and code
// with checks marks it as a place without yields. Nor while the fiber serves another fiber's fault.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <system_error>
#include <type_traits>
#include <utility>

#include "sennit/detail/fault/hook.hpp"
#include "sennit/detail/rpc/basic_port.hpp"
#include "sennit/detail/rpc/restartable.hpp"
#include "sennit/detail/sched/fiber.hpp"

namespace sennit::inline v0_1 {

/// What an exception server decides about a fault.
enum class verdict : std::uint8_t {
  /// The fiber repeats the instruction, with the registers as the server has left them.
  resume,
  /// The innermost guarded() of the fiber throws sennit::killed. Without one, the fiber ends.
  kill,
  /// The instruction throws sennit::killed.
  unwind,
  /// As without a server: the handler that was installed before Sennit's is called, or the process ends with
  /// a
  /// message.
  pass,
};

}  // namespace sennit::inline v0_1

namespace sennit::inline v0_1::detail {

struct fault_report {
  fault_kind kind;
  bool stackless;
  void* address;
  machine_registers registers;
  char fiber[32];
};
struct fault_reply {
  verdict what;
  machine_registers registers;
};

// The calls of a dispatcher whose type is not known. `ask` waits; in the report are the reply's registers
// then. `calling` makes the continuation of a fiber that gives up its stack, in the memory of `then`.
struct fault_calls {
  verdict (*ask)(void* dispatcher, fault_report& about);
  continuation (*calling)(void* dispatcher, fault_report& about, owner<restart> then) noexcept;
};
// What a faulting fiber does without the dispatcher's type: whether it may ask (of a local runtime or of
// others), unless it is the one of that number; and to ask, and do what the verdict is.
bool fault_may_ask(fault_site& site, bool local, std::uint32_t receiver) noexcept;
fault_answer fault_ask(const fault_site& site, void* dispatcher, const fault_calls& calls);
// The call without a stack has ended.
continuation fault_served(verdict what, const restart& then);

template <class Policy>
class fault_dispatcher : public fault_hook, public basic_port<fault_report, fault_reply, Policy> {
  using port = basic_port<fault_report, fault_reply, Policy>;
  using calls = port_calls<fault_report, fault_reply, Policy>;
  using typename calls::record;
  using typename port::answer;

public:
  using typename calls::incoming;
  static constexpr const char* receive_reason = "exception receive";

  fault_dispatcher() noexcept : fault_hook{wants, serve} {}

  // The server's. Nothing is received if the deadline has passed, or it is closed.
  void receive(incoming& into, time_point deadline) {
    is_received_by(*running_worker_for("exception_server::receive").ready.current);
    this->receive_by(into, deadline, receive_reason);
  }
  using calls::leave_receive;
  using calls::nothing_yet;
  bool file_receive(incoming& into, fiber& f, waiter& me) noexcept {
    Policy::prepare(f, receive_reason);
    is_received_by(f);
    return calls::file_receive(into, me, f) != nullptr;
  }

private:
  void is_received_by(fiber& server) noexcept {
    receiver_.store(static_cast<std::uint32_t>(fiber_id(server)), std::memory_order_relaxed);
  }
  static bool wants(const fault_hook& self, fault_site& site) noexcept {
    return fault_may_ask(
        site, !Policy::is_shared,
        static_cast<const fault_dispatcher&>(self).receiver_.load(std::memory_order_relaxed));
  }
  static constexpr const char* reason_of(bool memory) noexcept { return memory ? "page fault" : "exception"; }
  static fault_answer serve(const fault_hook& self, const fault_site& site) {
    static constexpr fault_calls mine{ask, calling};
    return fault_ask(site, &const_cast<fault_dispatcher&>(static_cast<const fault_dispatcher&>(self)), mine);
  }
  static verdict ask(void* self, fault_report& about) {
    auto& dispatcher = *static_cast<fault_dispatcher*>(self);
    record mine(dispatcher, call_phase::asked, std::move(about));
    dispatcher.transact(mine, never, reason_of(about.kind == fault_kind::memory));
    if (mine.at.phase() != call_phase::replied)
      return verdict::pass;
    about.registers = mine.at.reply().registers;
    return mine.at.reply().what;
  }

  // ---- Of a fiber that has given up its stack.

  template <bool memory>
  struct call_of_stackless : port::template call_wait<answer> {
    using port::template call_wait<answer>::call_wait;
    static constexpr const char* reason = reason_of(memory);
  };
  struct served {
    owner<restart> then;
    continuation operator()(answer&& by) const {
      verdict what = verdict::pass;
      try {
        what = by.get().what;
      } catch (const std::system_error&) {  // without a reply
      }
      return fault_served(what, *then);
    }
  };
  template <bool memory>
  static continuation calling_of(fault_dispatcher& self, fault_report& about,
                                 owner<restart>&& then) noexcept {
    using call = blocked<call_of_stackless<memory>, served, no_state>;
    static_assert(sizeof(call) > continuation_room && sizeof(call) <= fault_call_size);
    continuation made;
    void* const place = continuation_access::begin_in(made, std::exchange(then->memory, nullptr));
    ::new (place)
        call(no_state{}, served{std::move(then)}, call_of_stackless<memory>(self, std::move(about)));
    continuation_access::finish(made, call::code);
    return made;
  }
  static continuation calling(void* self, fault_report& about, owner<restart> then) noexcept {
    auto& dispatcher = *static_cast<fault_dispatcher*>(self);
    return about.kind == fault_kind::memory ? calling_of<true>(dispatcher, about, std::move(then))
                                            : calling_of<false>(dispatcher, about, std::move(then));
  }

  std::atomic<std::uint32_t> receiver_{0};  // the number of the last receiver
};

// Called before any hook is set.
void prepare_to_serve() noexcept;

// A fiber's hook while it lives: it leads to `to`. In a fiber of any runtime.
class hook_of_fiber {
public:
  explicit hook_of_fiber(const fault_hook& to) noexcept;
  ~hook_of_fiber();
  hook_of_fiber(const hook_of_fiber&) = delete;
  hook_of_fiber& operator=(const hook_of_fiber&) = delete;

private:
  stack_record& record_;
  const fault_hook* const before_;
};

// Sets the hook of all fibers of the calling fiber's runtime that have no own hook. `to` is never freed:
// another worker may be about to call it.
class hook_of_runtime {
public:
  explicit hook_of_runtime(std::shared_ptr<const fault_hook> to) { set(std::move(to)); }
  ~hook_of_runtime() { clear(); }
  hook_of_runtime(const hook_of_runtime&) = delete;
  hook_of_runtime& operator=(const hook_of_runtime&) = delete;

  static void set(std::shared_ptr<const fault_hook> to);
  static void clear() noexcept;
};

// For the C API.
struct exception_server_access {
  template <class Server>
  static void guard_runtime(const Server& server) {
    hook_of_runtime::set(server.dispatcher_);
  }
};

// Calls the function. If a server kills the fiber, its frames are given up to here.
#if defined(__clang__)
[[gnu::noinline]]
#else
[[gnu::noipa]]
#endif
void call_guarded(void (*function)(void*), void* argument);

// The hook of fibers whose faults are not served.
extern const fault_hook unserved;

}  // namespace sennit::inline v0_1::detail
