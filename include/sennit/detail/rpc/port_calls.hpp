// The calls of a port, on their way from the caller to the server and back. Its policy: basic_wait_queue.hpp.
//
// A call lies in a record, in the caller's frame or in its continuation. The record is in one of three
// places, which the lock protects:
//
//   callers_    no server has taken it: the record's waiter is in the list, its word is the record's address
//   a server    has taken the request, and owes the reply: `incoming` and the record refer to each other, and
//               the waiter is in no list (a ring of its own, so that it can leave one like any waiter)
//   nowhere     it has ended: answered, refused, or given up by the caller, which then notifies the server
//
// So nothing is allocated, and either side may abandon a call. A waiting server is woken with the request
// already stored in its `incoming`. The caller files itself and readies the server in one step while it
// blocks. If the caller's time slice permits, that server runs next on the same worker, without a queue
// (direct handoff).
//
// A server that accepts no request above a size states the limit when it waits. The caller checks that limit,
// and is refused without waking the server. A server that begins to receive refuses the too large requests
// that it finds. So callers wait only if no waiting server would take them. (In Mach a receiver with a size
// limit resumes in its own continuation, checks there, and waits once more.)
//
// Source: Draves et al. 1991, sections 2.3, 2.4 (stack handoff and continuation recognition in RPC) and 3.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iterator>
#include <limits>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "sennit/detail/arch/inline.hpp"
#include "sennit/detail/arch/look.hpp"
#include "sennit/detail/rpc/call_state.hpp"
#include "sennit/detail/sched/faults_are_fatal.hpp"
#include "sennit/detail/sched/frame_cleanup.hpp"
#include "sennit/detail/sync/wait_lists.hpp"
#include "sennit/detail/wait/wait.hpp"

namespace sennit::inline v0_1::detail {

// (std::ranges::sized_range takes a tenth of the time in which port.hpp compiles.)
template <class T>
concept is_sized_range = requires(const T& range) {
  std::size(range);
  std::begin(range);
};

// As receive_options has it. Under the lock.
template <class Request>
std::size_t size_of_request(const Request& request) noexcept {
  if constexpr (requires { message_size(request); }) {
    const no_switch_here<true, switch_in::message_size> meanwhile;
    return message_size(request);
  } else if constexpr (is_sized_range<Request>) {
    const no_switch_here<has_nontrivial_move<Request>, switch_in::message_size> meanwhile;
    return std::size(request) * sizeof(std::remove_cvref_t<decltype(*std::begin(request))>);
  } else {
    return sizeof(Request);
  }
}
inline constexpr std::size_t any_size = std::numeric_limits<std::size_t>::max();

// `Reply`: what is kept of one: std::monostate where there is none.
template <class Request, class Reply, class Policy>
class port_calls {
protected:
  using state = call_state<Request, Reply>;
  using lists = wait_lists<Policy>;
  using lock = lists_lock<lists>;
  static constexpr const char* receive_reason = "port receive";
  struct record;
  // Under the lock.
  using moving_request = no_switch_here<has_nontrivial_move<Request>>;
  using moving_reply = no_switch_here<has_nontrivial_move<Reply>>;
  // Without it, with a call that the server's side does not know how to answer.
  using moving_unknown_request = faults_are_fatal<has_nontrivial_move<Request>>;

public:
  /// A request that a server has received, whose caller waits for the answer. It is empty if the port is
  /// closed or the deadline has passed. If it is destroyed without an answer, also by an exception, its
  /// caller gets connection_reset. One fiber or thread at a time may use it, while the port exists.
  class incoming {
  public:
    /// An empty one.
    incoming() noexcept {}
    /// Takes the request over from `other`, which is empty afterwards.
    incoming(incoming&& other) noexcept
        : port_(other.port_), word_(Policy::is_shared && other.request_ ? any_size : other.word_) {
      if (other.request_)
        take_request(other);
    }
    /// Takes the request over from `other`. A request that was here and has no answer is dropped.
    incoming& operator=(incoming&& other) noexcept {
      if (this != &other) {
        abandon();
        take(other);
      }
      return *this;
    }
    /// Drops the request if it has no answer: its caller gets connection_reset.
    ~incoming() { abandon(); }

    /// \returns whether there is a request
    explicit operator bool() const noexcept { return request_.has_value(); }
    /// The request, to be read or moved from.
    Request& operator*() noexcept { return *request_; }
    /// Access to a member of the request.
    Request* operator->() noexcept { return &*request_; }

    /// Answers the request; this object is empty afterwards. Does not block.
    ///
    /// \returns false if the caller has given up, or has only sent
    bool reply(Reply value) noexcept {
      if constexpr (std::is_trivially_copyable_v<Reply> &&
                    sizeof(Reply) <= sizeof(void*))  // stays in a register
        return end([value](state& to) noexcept { to.reply_with(Reply(value)); });
      else
        return end([&value](state& to) noexcept { to.reply_with(std::move(value)); });
    }
    /// Answers a request whose Reply is void.
    bool reply() noexcept
      requires std::is_same_v<Reply, std::monostate>
    {
      return reply(std::monostate{});
    }
    /// Answers the request with an exception, which the caller's call() throws.
    ///
    /// \pre `error` is not null.
    /// \returns false if the caller has given up, or has only sent
    bool fail(std::exception_ptr error) noexcept {
      assert(error != nullptr && "sennit: fail() with no exception");
      return end([&error](state& to) noexcept { to.fail_with(std::move(error)); });
    }

  private:
    friend port_calls;
    friend record;
    incoming(port_calls& at, std::size_t largest) noexcept : port_(&at), word_(largest) {}

    // Of a request: its call, or null if there is no caller to answer. (The word and the request are moved
    // apart. As one vector they would be late, or wait for the stores.)
    record* call() const noexcept { return reinterpret_cast<record*>(word_); }
    void owe(record* caller) noexcept { store_in_order(word_, reinterpret_cast<std::uintptr_t>(caller)); }
    // Without a request: larger ones are refused.
    std::size_t largest() const noexcept { return word_; }

    void take(incoming& other) noexcept {
      port_ = other.port_;
      if (other.request_)
        take_request(other);
      else
        word_ = other.word_;
    }
    void take_request(incoming& other) noexcept {
      const moving_unknown_request meanwhile;
      // Ours is empty. (emplace() would look, and gcc would then warn of what lies in an empty one.)
      ::new (static_cast<void*>(&request_)) std::optional<Request>(std::in_place, std::move(*other.request_));
      other.request_.reset();
      const lock hold(port_->waits_);
      owe(reinterpret_cast<record*>(look(other.word_)));  // null if the caller has given up meanwhile
      other.word_ = any_size;
      if (call() != nullptr) [[likely]]
        call()->server = this;
    }
    template <class Write>
    bool end(Write write) noexcept {
      assert(request_ && "sennit: an answer to no request");
      {
        const moving_unknown_request meanwhile;
        request_.reset();  // not under the lock: it may do anything
      }
      port_->waits_.lock();
      // As in file_call().
      if (call() == nullptr || call()->filed->flags.kind != waiter_kind::fiber) [[unlikely]]
        return end_held_late(std::move(write));
      return end_held(write);
    }
    // With the lock held, which it releases.
    template <class Write>
    SENNIT_INLINE bool end_held(Write& write) noexcept {
      fiber* who = nullptr;
      const bool wanted = port_->answer_to(*this, who, write);
      word_ = any_size;
      port_->waits_.unlock();
      if (who != nullptr)
        lists::wake(who);
      else
        lists::release_taken();
      return wanted;
    }
    template <class Write>
    [[gnu::noinline]] bool end_held_late(Write write) noexcept {
      return end_held(write);
    }
    void abandon() noexcept {
      if (request_) [[unlikely]]
        end_unanswered();
    }
    [[gnu::noinline, gnu::cold]] void end_unanswered() noexcept {
      end([](state& to) { to.go_to(call_phase::abandoned); });
    }

    port_calls* port_ = nullptr;
    std::uintptr_t word_ = any_size;
    std::optional<Request> request_;
  };

  port_calls() noexcept = default;
  port_calls(const port_calls&) = delete;
  port_calls& operator=(const port_calls&) = delete;

  /// Closes the port: no more calls. Calls that no server has taken throw, and receivers get nothing.
  /// Servers may still answer what they have taken. Does not block. May be called again.
  void close() noexcept {
    lock hold(waits_);
    close_held(hold);
  }
  /// \returns whether close() was called
  bool closed() const noexcept {
    const lock hold(waits_);
    return closed_;
  }

protected:
  ~port_calls() { assert(callers_.empty() && servers_.empty() && "sennit: fibers wait for a dead port"); }

  // A call, or a request that was only sent.
  struct record {
    record(port_calls& of, call_phase begins, Request&& request) noexcept
        : port(&of), at(begins, std::move(request)) {}
    // Only before it is filed, after its end, or when its caller has stopped waiting.
    record(record&& other) noexcept : port(other.port), at(std::move(other.at)) {
      if (at.holds_request()) [[likely]] {
        other.at.request_moved(call_phase::received);
        return;
      }
      if (at.phase() == call_phase::taken) {
        port->forget(other);
        server = nullptr;
      }
      other.at.leave_answer(call_phase::received);
    }
    ~record() { give_up(call_phase::received); }
    // With the lock held: the caller stops waiting, and the server need not answer.
    void cut() noexcept {
      if (at.phase() == call_phase::taken && server != nullptr)
        server->owe(nullptr);
      server = nullptr;
    }
    void give_up(call_phase then) noexcept {
      if (at.phase() == call_phase::taken)
        port->forget(*this);
      else if (at.phase() == call_phase::entered) [[unlikely]]
        port->leave_lent_early();
      at.go_to(then);
    }

    port_calls* port;
    // While it is taken:
    waiter* filed;     // the waiter for its end
    incoming* server;  // the server that owes the reply; null: none any more
    state at;
  };

  // The function that callers run themselves, if any.
  struct procedure {
    Reply (*run)(void* handler, Request&& request);
    void* handler;
  };

  // ---- Callers.

  // Files a call and waits for its end. `reason` is the reason of the wait.
  SENNIT_INLINE void transact(record& mine, time_point deadline, const char* reason = "port call") {
    lock hold(waits_);
    if (is_special()) [[unlikely]] {
      enter_special(mine);
      hold.release();
      if (mine.at.phase() == call_phase::entered)
        run_lent(mine.at);
      return;
    }
    hold.pass_on();
    const bool waits = mine.at.phase() == call_phase::asked;
    waits_.wait_by(
        {reason, mine.port}, deadline,
        [call = &mine, waits](waiter& w, fiber*& next)
            __attribute__((always_inline)) { return call->port->submit(*call, w, waits, next); },
        [call = &mine] { call->cut(); });
  }
  // The part of transact() that files the call, for a caller that then waits by itself. Returns false if it
  // must not wait for a server: nothing has happened. `next`: the fiber that it readies, or null.
  SENNIT_INLINE bool begin_transact(record& mine, waiter& me, fiber*& next) noexcept {
    lock hold(waits_);
    if (is_special()) [[unlikely]]
      return false;
    hold.pass_on();
    return submit(mine, me, true, next);
  }
  // Files it, of a fiber without a stack. `Me`: fiber, if that is what waits, or waiter. Returns what
  // continuation_code::file() returns.
  template <bool asked, class Me>
  SENNIT_INLINE static fiber* file_call(record& call, Me& me, fiber& f) noexcept {
    port_calls& at = *call.port;
    at.waits_.lock();
    fiber* server = nullptr;
    // The compiler then sees that nothing on this path calls a function which returns.
    if (at.servers_.empty() || at.is_special() ||
        static_cast<waiter&>(*at.servers_.next).flags.kind != waiter_kind::fiber ||
        !at.hand_to_first_server(call, me, asked, server)) [[unlikely]]
      return at.file_call_late(call, me, f, asked);
    if (!Policy::is_shared && asked && std::is_same_v<Me, fiber> && server->home == f.home) [[likely]]
      return server;
    if (server != nullptr)
      lists::wake(server);
    else
      lists::release_taken();
    return asked ? &f : nullptr;
  }
  // The rest of it, with the lock held, which it releases: where no server takes the call at once.
  [[gnu::noinline]] fiber* file_call_late(record& call, waiter& me, fiber& f, bool asked) noexcept {
    if (is_special()) [[unlikely]] {
      enter_special(call);
      waits_.unlock();
      return nullptr;
    }
    fiber* next = nullptr;
    const bool waits = submit(call, me, asked, next);
    if (next != nullptr)
      lists::wake(next);
    return waits ? &f : nullptr;
  }
  static bool leave_call(record& call, waiter& me) noexcept {
    return call.port->waits_.leave(me, [&call] { call.cut(); });
  }

  // Of one that was filed, before it is moved. `why`: how its wait has ended.
  SENNIT_INLINE static void finish_call(record& call, fiber_status why) noexcept {
    if (call.at.phase() != call_phase::replied) [[unlikely]]
      give_up_call(call, why);
  }
  [[gnu::noinline]] static void give_up_call(record& call, fiber_status why) noexcept {
    if (!call.at.has_ended() && call.at.phase() != call_phase::entered)
      call.give_up(why == fiber_status::stopped ? call_phase::stopped : call_phase::late);
  }

  SENNIT_INLINE void run_lent(state& call) {
    struct leaving {
      port_calls& port;
      ~leaving() { port.leave_lent(); }
    } const at_the_end{*this};
    Request request = std::move(call.request());
    call.go_to(call_phase::received);
    try {
      call.reply_with(lent_->run(lent_->handler, std::move(request)));
    } catch (const forced_unwind&) {
      throw;
    } catch (...) {
      call.fail_with(std::current_exception());
    }
  }

  // ---- Servers.

  // To be received into.
  incoming nothing_yet(std::size_t largest = any_size) noexcept { return incoming(*this, largest); }
  SENNIT_INLINE void receive_by(incoming& next, time_point deadline, const char* reason = receive_reason) {
    for (;;) {
      lock hold(waits_);
      if (no_callers()) [[likely]] {
        hold.pass_on();
        return wait_for_call(next, deadline, nullptr, reason);
      }
      left_behind left;
      const bool done = take_next(next, left) || closed_;
      hold.release();
      left.wake();
      if (done)
        return;
    }
  }
  // Returns false if the port is closed and there is no earlier caller.
  SENNIT_INLINE bool answer_and_receive(incoming& served, Reply&& value, std::size_t largest) {
    assert(served.request_ && "sennit: an answer to no request");
    {
      const moving_unknown_request meanwhile;
      served.request_.reset();
    }
    lock hold(waits_);
    fiber* caller = nullptr;
    const bool answered = answer_to(served, caller, [&](state& to) { to.reply_with(std::move(value)); });
    const bool release_others = answered && caller == nullptr;
    served.word_ = largest;
    if (no_callers()) [[likely]] {
      hold.pass_on();
      wait_for_call(served, never, caller, receive_reason, release_others);
      return bool(served);
    }
    left_behind left;
    const bool done = take_next(served, left) || closed_;
    hold.release_and_wake(caller);
    left.wake();
    if (!done)
      receive_by(served, never);
    return bool(served);
  }
  // Of a fiber without a stack. Returns what continuation_code::file() returns.
  SENNIT_INLINE static fiber* file_receive(incoming& next, waiter& me, fiber& f) noexcept {
    port_calls& at = *next.port_;
    at.waits_.lock();
    if (!at.no_callers()) [[unlikely]]
      return at.file_receive_late(next, me, f);
    at.enter_servers(me, next);
    at.waits_.unlock();
    return &f;  // which may be gone
  }
  static bool leave_receive(const incoming& next, waiter& me) noexcept {
    return next.port_->waits_.leave(me);
  }
  // The rest of it, where calls wait already, or none comes any more. With the lock held, which it releases.
  [[gnu::noinline]] fiber* file_receive_late(incoming& next, waiter& me, fiber& f) noexcept {
    left_behind left;
    const bool waits = !take_next(next, left) && !closed_;
    if (waits)
      enter_servers(me, next);
    waits_.unlock();
    left.wake();
    return waits ? &f : nullptr;
  }
  // What has been called before now, if anything: it does not wait.
  bool receive_early(incoming& next) noexcept {
    lock hold(waits_);
    left_behind left;
    const bool more = take_next(next, left);
    hold.release();
    left.wake();
    return more;
  }

  // Waits, as a server, until `condition()` holds, which is called under the lock.
  template <class Condition>
  void wait_until(Condition condition) {
    for (;;) {
      lock hold(waits_);
      if (condition())
        return;
      hold.pass_on();
      waits_.wait_by({"port serve", this}, never, [this](waiter& w, fiber*&) {
        list_push_back(servers_, w);
        waits_.unlock();
        return true;
      });
    }
  }

  // A fiber that serves until the port is closed. It is counted, answers and leaves even if its frame is
  // discarded.
  struct service : frame_cleanup {
    service(port_calls& at, std::size_t largest) noexcept
        : frame_cleanup(give_up), port(at), next(at.nothing_yet(largest)) {
      const lock hold(port.waits_);
      ++port.serving_;
    }
    ~service() {
      next = incoming();  // before the port is closed: it may be gone then
      leave();
    }
    void leave() noexcept {
      lock hold(port.waits_);
      if (--port.serving_ == 0)
        port.close_held(hold);
    }
    static void give_up(frame_cleanup& of) noexcept {
      auto& self = static_cast<service&>(of);
      self.port.drop(self.next);
      self.leave();
    }
    port_calls& port;
    incoming next;
  };
  struct lending {
    lending(port_calls& at, procedure& what) noexcept : port(at) {
      const lock hold(port.waits_);
      assert(port.lent_ == nullptr && port.servers_.empty() && "sennit: others serve this port already");
      port.lent_ = &what;
      port.special_ = true;
    }
    // Returns when the last call that runs it has ended.
    ~lending() {
      port.close();
      wait_uninterruptible([this] { port.wait_until([this] { return port.inside_ == 0; }); });
      port.lent_ = nullptr;
    }
    lending(const lending&) = delete;
    lending& operator=(const lending&) = delete;
    // Until the port is closed.
    void wait() {
      port.wait_until([this] { return port.closed_; });
    }
    port_calls& port;
  };

private:
  // Callers whose waits a receiver ended. wake() readies them after the lock is released.
  struct left_behind {
    fiber* sender = nullptr;      // its one-way request was received
    fiber* refused = nullptr;     // the first of the refused callers, linked by `next`
    bool release_others = false;  // some refused waiters continue by themselves

    [[gnu::noinline, gnu::cold]] void refuse(record& call, waiter& w) noexcept {
      fiber* who = nullptr;
      if (!lists::take(w, who))
        return;
      call.at.refuse(call_phase::too_large);
      if (who != nullptr)
        who->next = std::exchange(refused, who);
      else
        release_others = true;
    }
    SENNIT_INLINE void wake() noexcept {
      if (sender != nullptr)
        lists::wake(sender);
      while (refused != nullptr) {
        fiber* const first = refused;
        refused = static_cast<fiber*>(first->next);
        lists::wake(first);
      }
      if (release_others) [[unlikely]]
        lists::release_taken();
    }
  };

  // With the lock held, which it releases: hands the call to a waiting server, or puts it into the list.
  // Returns false if no wait is needed: the call was refused, or a server has a request that was only sent.
  // `asked`: the caller wants a reply. `next`: the server, which the waiting caller readies.
  SENNIT_INLINE bool submit(record& call, waiter& w, bool asked, fiber*& next) noexcept {
    if (servers_.empty()) {
      w.word = reinterpret_cast<std::uintptr_t>(&call);
      list_push_back(callers_, w);
      waits_.unlock();
      return true;
    }
    fiber* server = nullptr;
    if (!hand_to_first_server(call, w, asked, server)) [[unlikely]] {
      if (call.at.phase() != call_phase::too_large)
        return submit_again(call, w, asked, next);
      waits_.unlock();
      return false;
    }
    if (server == nullptr) [[unlikely]]
      lists::release_taken();
    else if (Policy::direct && asked)
      next = server;
    else
      lists::wake(server);
    return asked;
  }
  // Hands the call to the server that has waited longest, and releases the lock. Returns false, with the lock
  // still held, if that server has stopped waiting (it has left the list then), or if the call was refused.
  // `server`: the fiber to ready, or null.
  SENNIT_INLINE bool hand_to_first_server(record& call, waiter& w, bool asked, fiber*& server) noexcept {
    waiter& first = static_cast<waiter&>(*servers_.next);
    auto& into = *reinterpret_cast<incoming*>(first.word);
    if (size_of_request(call.at.request()) > into.largest()) [[unlikely]] {
      call.at.refuse(call_phase::too_large);
      return false;
    }
    list_pop_front(servers_);
    if (!lists::take(first, server)) [[unlikely]]
      return false;
    count_recognition(server);
    hand(call, into, asked);
    if (asked)
      stand_alone(call, w);
    waits_.unlock();
    return true;
  }
  [[gnu::noinline, gnu::cold]] bool submit_again(record& call, waiter& w, bool asked, fiber*& next) noexcept {
    fiber* server = nullptr;
    const bool waits = submit(call, w, asked, server);
    next = server;
    return waits;
  }
  // With the lock held, which it releases. `caller`: the fiber that is made ready then, or null.
  // `release_others`: the caller was taken, and continues by itself.
  SENNIT_INLINE void wait_for_call(incoming& into, time_point deadline, fiber* caller, const char* reason,
                                   bool release_others = false) {
    waits_.wait_by({reason, this}, deadline,
                   [this, caller, release_others, into = &into](waiter& w, fiber*& next)
                       __attribute__((always_inline)) {
                         fiber* const woken = caller;  // this lambda is on the waiter's stack
                         const bool releases_others = release_others;
                         enter_servers(w, *into);
                         waits_.unlock();
                         if (Policy::direct)
                           next = woken;
                         else if (woken != nullptr)
                           lists::wake(woken);
                         if (releases_others) [[unlikely]]
                           lists::release_taken();
                         return true;
                       });
  }

  SENNIT_INLINE void leave_lent() noexcept {
    lock hold(waits_);
    if (--inside_ == 0 && closed_ && !servers_.empty()) [[unlikely]] {
      fiber* lender = nullptr;
      lists::take(list_pop_front(servers_), lender);
      hold.release_and_wake(lender);
    }
  }
  // The caller has not run the server's function.
  [[gnu::noinline, gnu::cold]] void leave_lent_early() noexcept { leave_lent(); }
  void forget(record& call) noexcept {
    const lock hold(waits_);
    call.cut();
  }
  // Answers for a server that is no more. The request itself is left as it is.
  void drop(incoming& unanswered) noexcept {
    if (!unanswered)
      return;
    lock hold(waits_);
    fiber* who = nullptr;
    answer_to(unanswered, who, [](state& to) { to.go_to(call_phase::abandoned); });
    hold.release_and_wake(who);
  }

  // ---- With the lock held.

  // Returns true if a server must wait for a caller.
  bool no_callers() const noexcept { return callers_.empty() && !closed_; }
  // A caller must not wait for a server: the port is closed, or callers run the served function.
  bool is_special() const noexcept { return special_; }
  void enter_special(record& call) noexcept {
    if (closed_) {
      call.at.refuse(call_phase::closed);
    } else {
      ++inside_;
      call.at.enter();
    }
  }

  void enter_servers(waiter& w, incoming& into) noexcept {
    w.word = reinterpret_cast<std::uintptr_t>(&into);
    list_push_back(servers_, w);
  }

  // Gives a request to a server, which owes the answer, if one is wanted.
  SENNIT_INLINE static void hand(record& call, incoming& into, bool asked) noexcept {
    const moving_request meanwhile;
    into.request_.emplace(std::move(call.at.request()));
    if constexpr (requires { Request::handed(call, into); })  // capi's
      Request::handed(call, into);
    if (asked) {
      into.owe(&call);
      store_in_order(call.server, &into);
      call.at.request_moved(call_phase::taken);
    } else {
      into.owe(nullptr);
      call.at.request_moved(call_phase::received);
    }
  }
  // A caller that waits for a server that has its request.
  static void stand_alone(record& call, waiter& w) noexcept {
    store_in_order(call.filed, &w);
    store_in_order<wait_node*>(w.next, &w);
    store_in_order<wait_node*>(w.previous, &w);
  }

  // Those that are too large for it are refused on the way.
  SENNIT_INLINE bool take_next(incoming& into, left_behind& left) noexcept {
    while (!callers_.empty()) {
      waiter& first = list_pop_front(callers_);
      auto& call = *reinterpret_cast<record*>(first.word);
      if (size_of_request(call.at.request()) > into.largest()) [[unlikely]] {
        left.refuse(call, first);
        continue;
      }
      const bool asked = call.at.phase() == call_phase::asked;
      if (asked)
        stand_alone(call, first);
      else if (!lists::take(first, left.sender))
        continue;
      else
        left.release_others |= left.sender == nullptr;
      hand(call, into, asked);
      return true;
    }
    return false;
  }

  // Ends the call that `from` has taken. Returns false if there is no caller to answer.
  template <class Write>
  SENNIT_INLINE static bool answer_to(incoming& from, fiber*& who, Write&& write) noexcept {
    record* const call = from.call();
    if (call == nullptr)
      return false;
    waiter& w = *call->filed;
    if (!lists::stands(w) || !lists::take(w, who)) [[unlikely]] {
      call->server = nullptr;
      return false;
    }
    count_recognition(who);
    const moving_reply meanwhile;
    write(call->at);
    if constexpr (requires { Request::answered(*call); })  // capi's
      Request::answered(*call);
    return true;
  }

  void close_held(lock& hold) noexcept {
    closed_ = special_ = true;
    fiber_chain all;
    fiber* who = nullptr;
    while (!servers_.empty())
      if (lists::take(list_pop_front(servers_), who) && who != nullptr)
        all(who);
    while (!callers_.empty()) {
      waiter& first = list_pop_front(callers_);
      auto& call = *reinterpret_cast<record*>(first.word);
      if (!lists::take(first, who))
        continue;
      call.at.refuse(call_phase::closed);
      if (who != nullptr)
        all(who);
    }
    hold.release();
    lists::wake_all(all);
  }

  waiter_list callers_;
  waiter_list servers_;
  unsigned serving_ = 0;       // fibers in serve()
  procedure* lent_ = nullptr;  // the function that callers run themselves
  unsigned inside_ = 0;        // the callers that run it
  bool closed_ = false;
  bool special_ = false;  // closed, or lent
  [[no_unique_address]] mutable lists waits_;
};

}  // namespace sennit::inline v0_1::detail
