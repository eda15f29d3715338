// Actors over either policy (basic_wait_queue.hpp). `Kind` defines the policy, and how fibers begin.
#pragma once

#include <cassert>
#include <concepts>
#include <cstddef>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>

#include "sennit/channel_result.hpp"
#include "sennit/detail/cont/become.hpp"
#include "sennit/detail/cont/stoppable_wait.hpp"
#include "sennit/detail/sync/actor_access.hpp"
#include "sennit/detail/sync/actor_cell.hpp"
#include "sennit/detail/sync/basic_future.hpp"
#include "sennit/detail/timer/chrono.hpp"
#include "sennit/detail/timer/deadline.hpp"

namespace sennit::inline v0_1::detail {

/// The members of sennit::actor_ref and sennit::local::actor_ref.
template <class M, class Kind>
class basic_actor_ref {
  using policy = typename Kind::policy;
  using cell = actor_cell<M, policy>;

public:
  /// The type of the messages.
  using message_type = M;

  /// An empty reference. Only assignment, comparison, destruction and operator bool may be used.
  basic_actor_ref() noexcept = default;
  /// Another reference to the same actor.
  basic_actor_ref(const basic_actor_ref& other) noexcept : cell_(other.cell_) {
    if (cell_ != nullptr)
      cell_->add_reference();
  }
  /// Takes the reference over; the other one is empty afterwards.
  basic_actor_ref(basic_actor_ref&& other) noexcept : cell_(std::exchange(other.cell_, nullptr)) {}
  /// Refers to the actor of `other` afterwards.
  basic_actor_ref& operator=(basic_actor_ref other) noexcept {
    std::swap(cell_, other.cell_);
    return *this;
  }
  /// Stops the actor if this is the last reference to it. Does not wait.
  ~basic_actor_ref() {
    if (cell_ != nullptr)
      cell_->drop_reference();
  }
  /// \returns whether it refers to an actor, which may have ended
  explicit operator bool() const noexcept { return cell_ != nullptr; }
  /// \returns whether both refer to the same actor, or both are empty
  friend bool operator==(const basic_actor_ref& a, const basic_actor_ref& b) noexcept {
    return a.cell_ == b.cell_;
  }

  /// Sends a message. Waits while the mailbox is full.
  ///
  /// \returns false if the actor was stopped or has ended. `message` is moved from only if it was sent.
  SENNIT_INLINE bool send(M&& message) const { return box().send(std::move(message)); }
  /// Sends a copy of a message. Otherwise like send(M&&).
  SENNIT_INLINE bool send(const M& message) const
    requires std::is_copy_constructible_v<M>
  {
    return box().send(message);
  }
  /// Like send(), but gives up at a deadline. The result tells an actor that was stopped (closed) from a
  /// deadline that has passed.
  channel_result<void> send_until(M&& message, std::chrono::steady_clock::time_point deadline) const {
    return box().send_until(std::move(message), deadline);
  }
  /// Moves from `message` and returns true if there is room in the mailbox. Otherwise returns false, and
  /// `message` is unchanged. Does not wait.
  SENNIT_INLINE bool try_send(M& message) const { return box().try_send(message); }

  /// Sends a request, and waits for the answer. `make` gets a promise of the answer, and returns the message
  /// that contains it. The actor fulfils that promise.
  ///
  /// \code
  ///   account.ask<int>([](auto reply) { return balance{std::move(reply)}; });
  /// \endcode
  ///
  /// \returns the answer. The result is empty, with status() closed, if the actor ends before it answers,
  ///   or if it destroys the promise
  /// \throws what the actor gives to promise::set_exception()
  template <class R, class Make>
    requires std::invocable<Make&, basic_promise<R, policy>>
  channel_result<R> ask(Make make) const {
    return ask_until<R>(std::move(make), never);
  }
  /// Like ask(), but gives up at a deadline. Then status() is timeout. The actor may still handle the
  /// request; its answer is lost.
  template <class R, class Make>
    requires std::invocable<Make&, basic_promise<R, policy>>
  channel_result<R> ask_until(Make make, std::chrono::steady_clock::time_point deadline) const {
    basic_promise<R, policy> promise;
    basic_future<R, policy> answer = promise.get_future();
    M request(make(std::move(promise)));
    if (const auto sent = box().send_until(std::move(request), deadline); !sent)
      return ask_access::unanswered<R>(sent.status());
    if (!answer.wait_until(deadline))
      return ask_access::unanswered<R>(channel_status::timeout);
    return ask_access::take(answer);
  }
  /// Like ask_until(), but gives up after a duration.
  template <class R, class Make, class Rep, class Period>
    requires std::invocable<Make&, basic_promise<R, policy>>
  channel_result<R> ask_for(Make make, std::chrono::duration<Rep, Period> time) const {
    return ask_until<R>(std::move(make), deadline_after(time));
  }

  /// Closes the mailbox. The actor handles the messages that are queued, and ends. Does not wait. May be
  /// called again.
  void stop() const noexcept { some().close(exit_reason::stopped, nullptr); }
  /// Closes the mailbox, destroys the messages in it, and requests the stop of inbox::get_token(). The actor
  /// ends at its next receive(), or when it has handled its current message. Does not wait. May be called
  /// again, or after stop().
  void cancel() const noexcept { some().close(exit_reason::cancelled, nullptr); }

  /// \returns whether the actor has ended. Does not wait.
  bool ended() const noexcept { return some().ended().is_set(); }
  /// Waits until the actor has ended. It does not stop the actor.
  actor_exit wait() const {
    some().ended().wait();
    return cell_->result();
  }
  /// Like wait(), but gives up at a deadline.
  ///
  /// \returns an empty optional if the deadline passed first
  std::optional<actor_exit> wait_until(std::chrono::steady_clock::time_point deadline) const {
    if (!some().ended().wait_until(deadline))
      return std::nullopt;
    return cell_->result();
  }
  /// Like wait(), but gives up after a duration.
  template <class Rep, class Period>
  std::optional<actor_exit> wait_for(std::chrono::duration<Rep, Period> time) const {
    return wait_until(deadline_after(time));
  }

  /// Sends a message to `watcher` when this actor has ended, or at once if it has. `make` gets an
  /// actor_exit and returns the message. It must not throw. The notice is lost if `watcher` has ended.
  ///
  /// If `make` throws, the program ends, as for a fiber that is not joined.
  /// A monitor is a fiber without a stack of the caller's runtime. It keeps neither actor alive. Only fibers
  /// may call it.
  ///
  /// \throws std::bad_alloc if there is no memory
  template <class W, class Make>
    requires std::is_invocable_r_v<W, Make&, actor_exit>
  void monitor(const basic_actor_ref<W, Kind>& watcher, Make make) const {
    Kind::spawn(
        block(some().ended().waiting(), deliver<W, Make>(),
              monitored<W, Make>{hold_actor<base>(*cell_), hold_actor(watcher.some()), std::move(make)}))
        .detach();
  }

  /// Like monitor(watcher, make), until a stop is requested: then the monitor ends without a notice.
  template <class W, class Make>
    requires std::is_invocable_r_v<W, Make&, actor_exit>
  void monitor(const basic_actor_ref<W, Kind>& watcher, Make make, std::stop_token token) const {
    Kind::spawn(
        block(stoppable_wait(multi_wait_form(some().ended().waiting()), std::move(token)), deliver<W, Make>(),
              monitored<W, Make>{hold_actor<base>(*cell_), hold_actor(watcher.some()), std::move(make)}))
        .detach();
  }

  /// Links two actors: if one fails, the other one is cancelled, and fails with the same exception. Other
  /// ends have no effect. Actors may be linked to any number of others.
  ///
  /// A link is two fibers without a stack of the caller's runtime, until both actors have ended. It keeps
  /// neither actor alive. Only fibers may call it.
  ///
  /// \throws std::bad_alloc if there is no memory. A failure of one of the two may then still end the other
  ///   one.
  template <class N>
  void link(const basic_actor_ref<N, Kind>& other) const {
    fail_with<N>(some(), other.some());
    fail_with<M>(other.some(), some());
  }

private:
  friend struct actor_access;
  template <class, class>
  friend class basic_actor_ref;
  using base = actor_cell_base<policy>;

  template <class W, class Make>
  struct monitored {
    actor_holder<base> watched;
    actor_holder<actor_cell<W, policy>> watcher;
    Make make;
  };
  template <class W, class Make>
  struct deliver {
    void operator()(monitored<W, Make> what, bool has_ended = true) const {
      if (has_ended)
        what.watcher->box().send(W(what.make(what.watched->result())));
    }
  };

  struct linked {
    actor_holder<base> from;
    actor_holder<base> to;
  };
  struct pass_failure {
    void operator()(linked both) const noexcept {
      actor_exit exit = both.from->result();
      if (exit.reason == exit_reason::failed)
        both.to->close(exit_reason::failed, std::move(exit.error));
    }
  };
  template <class To>
  static void fail_with(base& from, actor_cell<To, policy>& to) {
    Kind::spawn(
        block(from.ended().waiting(), pass_failure(), linked{hold_actor<base>(from), hold_actor<base>(to)}))
        .detach();
  }

  explicit basic_actor_ref(cell& adopted) noexcept : cell_(&adopted) {}
  cell& some() const noexcept {
    assert(cell_ != nullptr && "sennit: an empty actor_ref was used: assign what spawn_actor returned first");
    return *cell_;
  }
  SENNIT_INLINE mailbox<M, policy>& box() const noexcept { return some().box(); }

  cell* cell_ = nullptr;
};

/// The members of sennit::inbox and sennit::local::inbox.
template <class M, class Kind>
class basic_inbox {
  using cell = actor_cell<M, typename Kind::policy>;

public:
  basic_inbox(const basic_inbox&) = delete;
  basic_inbox& operator=(const basic_inbox&) = delete;

  /// Waits for the next message and takes it.
  ///
  /// \returns an empty optional if the actor was stopped and no message is left
  SENNIT_INLINE std::optional<M> receive() { return cell_.box().receive(); }
  /// Like receive(), but gives up at a deadline. The result tells an actor that was stopped (closed) from a
  /// deadline that has passed.
  channel_result<M> receive_until(std::chrono::steady_clock::time_point deadline) {
    return cell_.box().receive_until(deadline);
  }
  /// Like receive_until(), but gives up after a duration.
  template <class Rep, class Period>
  channel_result<M> receive_for(std::chrono::duration<Rep, Period> time) {
    return receive_until(deadline_after(time));
  }
  /// Takes a message if there is one now. Does not wait for one.
  std::optional<M> try_receive() { return cell_.box().try_receive(); }

  /// The first message, which is waited for: `for (M& each : inbox)`.
  auto begin() { return cell_.box().begin(); }
  /// The end of the iteration.
  std::default_sentinel_t end() const noexcept { return {}; }

  /// A reference to the actor itself, to send or to monitor with. An actor that keeps one does not end when
  /// all others are destroyed: stop it.
  basic_actor_ref<M, Kind> self() const noexcept { return actor_access::refer<M, Kind>(cell_); }
  /// Closes the mailbox: further sends fail. Messages that are queued are still handled.
  void stop() noexcept { cell_.box().close(); }
  /// A token whose stop cancel() requests. A behaviour with a stack that waits for anything but messages
  /// makes a stop_guard of it. An actor without a stack gets a token without a stop.
  ///
  /// \throws std::bad_alloc if there is no memory
  std::stop_token get_token() const { return cell_.token(); }
  /// \returns whether the mailbox is closed: the actor was stopped or cancelled
  bool stopped() const noexcept { return cell_.box().closed(); }
  /// \returns the number of messages in the mailbox at the moment
  std::size_t size() const noexcept { return cell_.box().size(); }

private:
  friend struct actor_access;
  explicit basic_inbox(cell& of) noexcept : cell_(of) {}
  cell& cell_;
};

}  // namespace sennit::inline v0_1::detail
