// Ports: what those of local runtimes and those of all have in common. `Waits`: see local_waits.hpp.
//
// A call lies in a record, in the frame of who calls, or where its continuation is kept. It is in one of
// three places, and the lock says which:
//
//   callers_    nobody has taken it: the record's waiter is in the list, its word is the record's address
//   a server    has taken the request, and owes the answer: `incoming` and record know each other, and the
//               waiter stands in no list (a ring of its own, so that it may leave one as any waiter does)
//   nowhere     it has ended: answered, refused, or given up by the caller, who then tells the server's side
//
// So nothing is allocated, and either side may go first. A server that waits is woken with the request in its
// hands; the caller files itself and makes it ready in one step, on the way out: who waits there runs next,
// on the same worker, without a turn through a queue (direct handoff).
//
// Source: Draves et al. 1991, sections 2.3, 2.4 (stack handoff and continuation recognition in RPC) and 3.
#pragma once

#include <cassert>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "sennit/detail/cont/timed_wait.hpp"
#include "sennit/detail/rpc/call_state.hpp"
#include "sennit/detail/sched/wait.hpp"

namespace sennit::detail {

// What call() throws where there is no reply. `error`: what the server failed with, if it did.
[[noreturn, gnu::cold]] void throw_answer(call_phase what, std::exception_ptr& error);

template <class Request, class Reply, class Waits>
class basic_port {
  static_assert(std::is_object_v<Request> && std::is_nothrow_move_constructible_v<Request>,
                "a request is moved from the caller to the server, under a lock: that must not throw");
  static_assert(std::is_void_v<Reply> ||
                    (std::is_object_v<Reply> && std::is_nothrow_move_constructible_v<Reply>),
                "a reply is moved from the server to the caller, under a lock: that must not throw");
  using reply_kept = std::conditional_t<std::is_void_v<Reply>, std::monostate, Reply>;
  using state = call_state<Request, reply_kept>;

public:
  using request_type = Request;
  using reply_type = Reply;

  basic_port() noexcept = default;
  basic_port(const basic_port&) = delete;
  basic_port& operator=(const basic_port&) = delete;
  ~basic_port() { assert(callers_.empty() && servers_.empty() && "sennit: fibers wait for a dead port"); }

  // How a call ended, for who has made it without a stack.
  class answer {
  public:
    // The reply, which is moved; or throws what call() throws.
    Reply get() { return result_of(state_); }

  private:
    friend basic_port;
    explicit answer(state&& is) noexcept : state_(std::move(is)) {}
    state state_;
  };

private:
  struct record;

public:
  // A request that a server has received, and whose caller waits for the answer. An empty one: the port is
  // closed, or the deadline has passed. One that goes unanswered answers its caller with an error: so does a
  // server that is left by an exception. Used by one fiber or thread at a time, while the port is there.
  class incoming {
  public:
    incoming() noexcept = default;
    incoming(incoming&& other) noexcept { take(other); }
    incoming& operator=(incoming&& other) noexcept {
      if (this != &other) {
        abandon();
        take(other);
      }
      return *this;
    }
    ~incoming() { abandon(); }

    explicit operator bool() const noexcept { return request_.has_value(); }
    Request& operator*() noexcept { return *request_; }
    Request* operator->() noexcept { return &*request_; }

    // Each answers, and leaves nothing. False: nobody wants the answer (any more): the caller has given up,
    // or has only sent.
    bool reply(reply_kept value) noexcept {
      return end([&](state& to) { to.reply_with(std::move(value)); });
    }
    bool reply() noexcept
      requires std::is_void_v<Reply>
    {
      return reply(std::monostate{});
    }
    // The caller's call() throws it.
    bool fail(std::exception_ptr error) noexcept {
      assert(error != nullptr && "sennit: fail() with no exception");
      return end([&](state& to) { to.fail_with(std::move(error)); });
    }

  private:
    friend basic_port;
    friend record;
    explicit incoming(basic_port& at) noexcept : port_(&at) {}

    void take(incoming& other) noexcept {
      port_ = other.port_;
      if (!other.request_)
        return;
      request_.emplace(std::move(*other.request_));
      other.request_.reset();
      holder hold(port_->waits_);
      call_ = std::exchange(other.call_, nullptr);
      if (call_ != nullptr)
        call_->server = this;
    }
    template <class Write>
    bool end(Write write) noexcept {
      assert(request_ && "sennit: an answer to no request");
      request_.reset();  // not under the lock: it may do anything
      holder hold(port_->waits_);
      fiber* who = nullptr;
      const bool wanted = port_->answer_to(*this, who, write);
      hold.release();
      if (who != nullptr)
        Waits::wake(who, 0);
      return wanted;
    }
    void abandon() noexcept {
      if (request_)
        end([](state& to) { to.go_to(call_phase::abandoned); });
    }

    basic_port* port_ = nullptr;
    record* call_ = nullptr;  // null: nobody wants an answer
    std::optional<Request> request_;
  };

  // Hands a request to a server, and waits for its reply. Throws what the server failed with; or
  // std::system_error: broken_pipe, if the port is closed, or connection_reset, if the server has ended
  // without an answer. Of fibers and, where it is no local port, OS threads.
  [[gnu::always_inline]] Reply call(Request request) {
    record mine(*this, call_phase::asked, std::move(request));
    transact(mine, never);
    return result_of(mine.at);
  }
  // With a deadline (steady clock): empty (or false), if that has passed first. A server may have the request
  // then, and its answer is dropped.
  auto call_until(Request request, std::chrono::steady_clock::time_point deadline) {
    record mine(*this, call_phase::asked, std::move(request));
    transact(mine, deadline);
    if constexpr (std::is_void_v<Reply>) {
      if (mine.at.has_ended())
        result_of(mine.at);
      return mine.at.has_ended();
    } else {
      return mine.at.has_ended() ? std::optional<Reply>(result_of(mine.at)) : std::nullopt;
    }
  }
  template <class Rep, class Period>
  auto call_for(Request request, std::chrono::duration<Rep, Period> time) {
    return call_until(std::move(request), std::chrono::steady_clock::now() + time);
  }
  // One way: waits until a server has the request. False: the port is closed.
  bool send(Request request) {
    record mine(*this, call_phase::sent, std::move(request));
    transact(mine, never);
    return mine.at.phase() != call_phase::closed;
  }

  // The next request, in the order in which they came. Empty: the port is closed, and nobody has called
  // before that.
  incoming receive() { return receive_until(never); }
  // Empty also: the deadline (steady clock) has passed.
  incoming receive_until(std::chrono::steady_clock::time_point deadline) {
    incoming next(*this);
    holder hold(waits_);
    fiber* sender = nullptr;
    if (take_next(next, sender)) {
      hold.release();
      if (sender != nullptr)
        Waits::wake(sender, 0);
    } else if (!closed_) {
      hold.kept = false;
      waits_.wait_by("port receive", deadline, [this, into = &next](waiter& w) {
        enter_servers(w, *into);
        waits_.unlock();
        return true;
      });
    }
    return next;
  }

  // Answers one request and receives the next, in one step. False: the port is closed, and nobody has called
  // before that; `served` is empty then.
  [[gnu::always_inline]] bool reply_and_receive(incoming& served, reply_kept value) {
    assert(served.request_ && "sennit: an answer to no request");
    served.request_.reset();
    holder hold(waits_);
    fiber* caller = nullptr;
    answer_to(served, caller, [&](state& to) { to.reply_with(std::move(value)); });
    fiber* sender = nullptr;
    const bool more = take_next(served, sender);
    if (more || closed_) {
      hold.release();
      if (caller != nullptr)
        Waits::wake(caller, 0);
      if (sender != nullptr)
        Waits::wake(sender, 0);
      return more;
    }
    hold.kept = false;
    waits_.wait_by("port receive", never, [this, caller, into = &served](waiter& w) {
      fiber* const next = caller;
      enter_servers(w, *into);
      waits_.unlock();
      if (next != nullptr)
        Waits::wake(next, 0);
      return true;
    });
    return bool(served);
  }

  // Serves until the port is closed: `handler(Request)` returns the reply, and what it throws is thrown where
  // the call was made. Any number of fibers may serve one port. When the last of them is told to leave (a
  // stop, the runtime's end), the port is closed: nobody is left to answer.
  template <class Handler>
  void serve(Handler handler) {
    const service here(*this);
    for (incoming next = receive(); next;) {
      std::exception_ptr error;
      try {
        if constexpr (std::is_void_v<Reply>) {
          handler(std::move(*next));
          reply_and_receive(next, {});
        } else {
          reply_and_receive(next, handler(std::move(*next)));
        }
        continue;
      } catch (const forced_unwind&) {
        throw;
      } catch (...) {
        error = std::current_exception();
      }
      next.fail(std::move(error));
      next = receive();
    }
  }

  // The same without a switch: from now on who calls runs `handler(Request)` itself, as a part of its own
  // fiber; so it is called by any number at a time, on their stacks, and a call's deadline does not end it.
  // Returns when the port is closed and the last such call has ended. Nobody else may serve beside it.
  template <class Handler>
  void serve_in_callers(Handler handler) {
    procedure mine{[](void* of, Request&& request) -> reply_kept {
                     if constexpr (std::is_void_v<Reply>)
                       return (*static_cast<Handler*>(of))(std::move(request)), std::monostate{};
                     else
                       return (*static_cast<Handler*>(of))(std::move(request));
                   },
                   std::addressof(handler)};
    const lending here(*this, mine);
    for (incoming early(*this); take_early(early);) {  // who called before
      try {
        early.reply(mine.run(mine.handler, std::move(*early)));
      } catch (const forced_unwind&) {
        throw;
      } catch (...) {
        early.fail(std::current_exception());
      }
    }
    wait_until([this] { return closed_; });
  }

  // No more calls: those that nobody has taken throw, and receivers get nothing. What servers have taken they
  // may still answer. May be repeated.
  void close() noexcept {
    holder hold(waits_);
    close_held(hold);
  }
  bool closed() const noexcept {
    holder hold(waits_);
    return closed_;
  }

  // call() and receive() without a stack, for become(), whose function gets an `answer` or an `incoming`.
  auto calling(Request request) noexcept { return call_wait(*this, std::move(request)); }
  auto receiving() noexcept { return receive_wait(*this); }
  // The same until a deadline (steady clock). Where that has passed, answer.get() throws std::system_error
  // with timed_out, or the `incoming` is empty.
  auto calling_until(Request request, std::chrono::steady_clock::time_point deadline) noexcept {
    return timed_wait(calling(std::move(request)), deadline);
  }
  auto receiving_until(std::chrono::steady_clock::time_point deadline) noexcept {
    return timed_wait(receiving(), deadline);
  }

private:
  struct holder {
    [[gnu::always_inline]] explicit holder(Waits& of) noexcept : waits(of) { waits.lock(); }
    holder(const holder&) = delete;
    holder& operator=(const holder&) = delete;
    [[gnu::always_inline]] ~holder() {
      if (kept)
        waits.unlock();
    }
    [[gnu::always_inline]] void release() noexcept {
      kept = false;
      waits.unlock();
    }
    Waits& waits;
    bool kept = true;
  };

  // A call, or what was sent.
  struct record {
    record(basic_port& of, call_phase begins, Request&& request) noexcept
        : port(&of), at(begins, std::move(request)) {}
    // Before it is filed, and after its end, or when its caller waits no more.
    record(record&& other) noexcept : port(other.port), at(std::move(other.at)) {
      if (at.phase() == call_phase::taken)
        port->forget(other);
      other.at.go_to(call_phase::received);
    }
    ~record() { give_up(call_phase::received); }
    // With the lock held: the caller waits no more, nobody is to answer.
    void cut() noexcept {
      if (server != nullptr)
        server->call_ = nullptr;
      server = nullptr;
    }
    void give_up(call_phase then) noexcept {
      if (at.phase() == call_phase::taken)
        port->forget(*this);
      else if (at.phase() == call_phase::entered)
        port->leave_lent();
      at.go_to(then);
    }

    basic_port* port;
    waiter* filed = nullptr;     // who waits for its end
    incoming* server = nullptr;  // who owes the answer
    state at;
  };

  // Counts those who serve.
  struct service {
    explicit service(basic_port& at) noexcept : port(at) {
      holder hold(port.waits_);
      ++port.serving_;
    }
    ~service() {
      holder hold(port.waits_);
      if (--port.serving_ == 0)
        port.close_held(hold);
    }
    service(const service&) = delete;
    service& operator=(const service&) = delete;
    basic_port& port;
  };

  // What callers run themselves.
  struct procedure {
    reply_kept (*run)(void* handler, Request&& request);
    void* handler;
  };
  struct lending {
    lending(basic_port& at, procedure& what) noexcept : port(at) {
      holder hold(port.waits_);
      assert(port.lent_ == nullptr && port.servers_.empty() && "sennit: others serve this port already");
      port.lent_ = &what;
    }
    ~lending() {
      port.close();
      wait_in_any_case([this] { port.wait_until([this] { return port.inside_ == 0; }); });
      port.lent_ = nullptr;
    }
    lending(const lending&) = delete;
    lending& operator=(const lending&) = delete;
    basic_port& port;
  };

  class call_wait : public continuation_wait {
  public:
    static constexpr const char* reason = "port call";
    call_wait(basic_port& at, Request&& request) noexcept
        : record_(at, call_phase::asked, std::move(request)) {}
    bool file(fiber& f) noexcept { return file(f, f); }
    bool file(fiber& f, waiter& me) noexcept {
      basic_port& at = *record_.port;
      Waits::prepare(f, reason);
      holder hold(at.waits_);
      if (at.is_special()) {
        at.enter_special(record_);
        return false;
      }
      hold.kept = false;
      return at.submit(record_, me);
    }
    bool leave(waiter& me) noexcept {
      return record_.port->waits_.leave(me, [this] { record_.cut(); });
    }
    bool withdraw(fiber& f) noexcept { return leave(f); }
    answer end(fiber&, std::uintptr_t, fiber_status why) {
      if (record_.at.phase() == call_phase::entered)
        record_.port->run_lent(record_);
      if (!record_.at.has_ended())
        record_.give_up(why == fiber_status::stopped ? call_phase::stopped : call_phase::late);
      return answer(std::move(record_.at));
    }

  private:
    record record_;
  };

  class receive_wait : public continuation_wait {
  public:
    static constexpr const char* reason = "port receive";
    explicit receive_wait(basic_port& at) noexcept : next_(at) {}
    bool file(fiber& f) noexcept { return file(f, f); }
    bool file(fiber& f, waiter& me) noexcept {
      basic_port& at = *next_.port_;
      Waits::prepare(f, reason);
      holder hold(at.waits_);
      fiber* sender = nullptr;
      if (at.take_next(next_, sender)) {
        hold.release();
        if (sender != nullptr)
          Waits::wake(sender, 0);
        return false;
      }
      if (at.closed_)
        return false;
      at.enter_servers(me, next_);
      return true;
    }
    bool leave(waiter& me) noexcept { return next_.port_->waits_.leave(me); }
    bool withdraw(fiber& f) noexcept { return leave(f); }
    incoming end(fiber&, std::uintptr_t, fiber_status) noexcept { return std::move(next_); }

  private:
    incoming next_;
  };

  [[gnu::always_inline]] static Reply result_of(state& of) {
    if (of.phase() != call_phase::replied) [[unlikely]]
      throw_answer(of.phase(), of.error());
    if constexpr (!std::is_void_v<Reply>)
      return std::move(of.reply());
  }

  // Files a call and waits for its end.
  [[gnu::always_inline]] void transact(record& mine, time_point deadline) {
    holder hold(waits_);
    if (is_special()) [[unlikely]] {
      enter_special(mine);
      hold.release();
      if (mine.at.phase() == call_phase::entered)
        run_lent(mine);
      return;
    }
    hold.kept = false;
    waits_.wait_by(
        "port call", deadline, [call = &mine](waiter& w) { return call->port->submit(*call, w); },
        [call = &mine] { call->cut(); });
  }

  // With the lock held, which it lets go: to a server that waits, or into the list. False: it was only sent,
  // and a server has it.
  [[gnu::always_inline]] bool submit(record& call, waiter& w) noexcept {
    w.word = reinterpret_cast<std::uintptr_t>(&call);
    for (fiber* server = nullptr; !servers_.empty();) {
      waiter& first = list_pop_front(servers_);
      auto& into = *reinterpret_cast<incoming*>(first.word);
      if (!Waits::take(first, server)) [[unlikely]]
        continue;
      const bool waits = call.at.phase() == call_phase::asked;
      hand(call, into);
      if (waits)
        stand_alone(call, w);
      waits_.unlock();
      if (server != nullptr)
        Waits::wake(server, 0);
      return waits;
    }
    call.filed = &w;
    list_push_back(callers_, w);
    waits_.unlock();
    return true;
  }

  // Waits, as one who serves, until `condition()` holds, which is called under the lock.
  template <class Condition>
  void wait_until(Condition condition) {
    for (;;) {
      holder hold(waits_);
      if (condition())
        return;
      hold.kept = false;
      waits_.wait_by("port serve", never, [this](waiter& w) {
        list_push_back(servers_, w);
        waits_.unlock();
        return true;
      });
    }
  }

  bool take_early(incoming& into) noexcept {
    holder hold(waits_);
    fiber* sender = nullptr;
    const bool more = take_next(into, sender);
    hold.release();
    if (sender != nullptr)
      Waits::wake(sender, 0);
    return more;
  }

  void run_lent(record& call) {
    struct leaving {
      basic_port& port;
      ~leaving() { port.leave_lent(); }
    } const at_the_end{*this};
    Request request = std::move(call.at.request());
    call.at.go_to(call_phase::received);
    try {
      call.at.reply_with(lent_->run(lent_->handler, std::move(request)));
    } catch (const forced_unwind&) {
      throw;
    } catch (...) {
      call.at.fail_with(std::current_exception());
    }
  }
  void leave_lent() noexcept {
    holder hold(waits_);
    fiber* lender = nullptr;
    if (--inside_ == 0 && closed_ && !servers_.empty())
      Waits::take(list_pop_front(servers_), lender);
    hold.release();
    if (lender != nullptr)
      Waits::wake(lender, 0);
  }

  // With the lock held, all of these.

  // No server is to be waited for: the port is closed, or callers run what it serves.
  bool is_special() const noexcept { return closed_ || lent_ != nullptr; }
  void enter_special(record& call) noexcept {
    if (closed_) {
      call.at.refuse();
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
  [[gnu::always_inline]] static void hand(record& call, incoming& into) noexcept {
    into.request_.emplace(std::move(call.at.request()));
    if (call.at.phase() == call_phase::asked) {
      into.call_ = &call;
      call.server = &into;
      call.at.go_to(call_phase::taken);
    } else {
      call.at.go_to(call_phase::received);
    }
  }
  // A caller that waits for a server that has its request.
  static void stand_alone(record& call, waiter& w) noexcept {
    call.filed = &w;
    w.next = w.previous = &w;
  }

  // `sender`: who is to be made ready then, since it has only sent.
  [[gnu::always_inline]] bool take_next(incoming& into, fiber*& sender) noexcept {
    while (!callers_.empty()) {
      waiter& first = list_pop_front(callers_);
      auto& call = *reinterpret_cast<record*>(first.word);
      if (call.at.phase() == call_phase::asked)
        stand_alone(call, first);
      else if (!Waits::take(first, sender))
        continue;
      hand(call, into);
      return true;
    }
    return false;
  }

  // Ends the call that `from` has taken. False: nobody wants the answer.
  template <class Write>
  [[gnu::always_inline]] static bool answer_to(incoming& from, fiber*& who, Write write) noexcept {
    record* const call = std::exchange(from.call_, nullptr);
    if (call == nullptr)
      return false;
    call->server = nullptr;
    waiter& w = *call->filed;
    if (!Waits::stands(w) || !Waits::take(w, who))
      return false;
    write(call->at);
    return true;
  }

  void close_held(holder& hold) noexcept {
    closed_ = true;
    fiber_chain all;
    fiber* who = nullptr;
    while (!servers_.empty())
      if (Waits::take(list_pop_front(servers_), who) && who != nullptr)
        all(who);
    while (!callers_.empty()) {
      waiter& first = list_pop_front(callers_);
      auto& call = *reinterpret_cast<record*>(first.word);
      if (!Waits::take(first, who))
        continue;
      call.at.refuse();
      if (who != nullptr)
        all(who);
    }
    hold.release();
    Waits::wake_all(all);
  }

  void forget(record& call) noexcept {
    holder hold(waits_);
    call.cut();
  }

  waiter_list callers_;
  waiter_list servers_;
  unsigned serving_ = 0;       // fibers in serve()
  procedure* lent_ = nullptr;  // what callers run themselves
  unsigned inside_ = 0;        // who has entered that
  bool closed_ = false;
  [[no_unique_address]] mutable Waits waits_;
};

}  // namespace sennit::detail
