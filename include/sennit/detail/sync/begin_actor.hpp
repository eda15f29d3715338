// How an actor begins, and the two ways in which it waits: with a stack, in a loop of its behaviour, or
// without one, as a continuation that calls the behaviour for each message.
#pragma once

#include <concepts>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include "sennit/detail/cont/become.hpp"
#include "sennit/detail/sync/basic_actor.hpp"

namespace sennit::inline v0_1::detail {

template <class Behaviour, class M, class Kind>
concept behaves_with_stack = std::invocable<Behaviour&, basic_inbox<M, Kind>&>;
template <class Behaviour, class M, class Kind>
concept behaves_without_stack =
    std::invocable<Behaviour&, M> || std::invocable<Behaviour&, M, basic_inbox<M, Kind>&>;

// Calls a behaviour, and records how it ends the actor. Returns false if it has failed.
template <bool in_scope, class Cell, class Call>
SENNIT_INLINE bool behave(Cell& cell, Call call) {
  try {
    call();
    return true;
  } catch (const forced_unwind&) {
    cell.mark(exit_reason::cancelled);
    throw;
  } catch (...) {
    cell.mark(exit_reason::failed, std::current_exception());
    if constexpr (in_scope)
      throw;
    return false;
  }
}

template <class M, class Kind, class Behaviour, bool in_scope>
struct stackful_actor {
  using cell = stackful_cell<M, typename Kind::policy>;
  actor_life<cell> life;
  Behaviour behaviour;  // destroyed first

  void operator()() {
    behave<in_scope>(*life, [this] {
      auto inbox = actor_access::inbox_of<M, Kind>(*life);
      behaviour(inbox);
    });
  }
};

template <class M, class Kind, class Behaviour, bool in_scope>
struct stackless_actor {
  static_assert(std::is_nothrow_move_constructible_v<M>,
                "the move constructor of a message to an actor without a stack must be noexcept");
  using cell = stackless_cell<M, typename Kind::policy, Behaviour>;
  using life = actor_life<cell>;

  static continuation receive(life self) {
    auto& box = self->box();
    return block(box.receiving(), stackless_actor(), std::move(self));
  }
  // Without a message: the mailbox is closed and empty. An idle actor looks for the next message as it begins
  // to wait; most often there is none. A busy one looks first, and need not return for it.
  continuation operator()(life self, std::optional<M> message) const {
    if (!message)
      return {};
    const bool busy = !mailbox_access::was_idle<M, typename Kind::policy>(self->box());
    if (!handle(*self, *message))
      return {};
    if (busy)
      while (std::optional<M> next = self->box().try_receive())
        if (!handle(*self, *next))
          return {};
    return receive(std::move(self));
  }

private:
  // Returns false if the actor has failed.
  SENNIT_INLINE static bool handle(cell& self, M& message) {
    return behave<in_scope>(self, [&] {
      if constexpr (std::invocable<Behaviour&, M>) {
        self.behaviour(std::move(message));
      } else {
        auto inbox = actor_access::inbox_of<M, Kind>(self);
        self.behaviour(std::move(message), inbox);
      }
    });
  }
};

template <class M, class Kind, bool in_scope, class Behaviour, class Options, class Spawn>
basic_actor_ref<M, Kind> begin_actor(Behaviour&& behaviour, const Options& options, Spawn spawn) {
  using kept = std::decay_t<Behaviour>;
  constexpr bool with = behaves_with_stack<kept, M, Kind>;
  constexpr bool without = behaves_without_stack<kept, M, Kind>;
  static_assert(with || without,
                "a behaviour takes an inbox<M>& (it has a stack), or an M, or an M and an inbox<M>& (it has "
                "none while it waits)");
  static_assert(!(with && without),
                "a behaviour takes either an inbox<M>& or an M: name the type of its parameter");
  if constexpr (with) {
    using begun = stackful_actor<M, Kind, kept, in_scope>;
    actor_life<typename begun::cell> life(new typename begun::cell(options.mailbox));
    auto made = actor_access::adopt<M, Kind>(*life);
    spawn(begun{std::move(life), std::forward<Behaviour>(behaviour)}, options.fiber);
    return made;
  } else if constexpr (without) {
    using begun = stackless_actor<M, Kind, kept, in_scope>;
    typename begun::life life(new typename begun::cell(options.mailbox, std::forward<Behaviour>(behaviour)));
    auto made = actor_access::adopt<M, Kind>(*life);
    spawn(begun::receive(std::move(life)));
    return made;
  }
}

}  // namespace sennit::inline v0_1::detail
