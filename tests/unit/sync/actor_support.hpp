// Actors of both kinds of runtime, for tests.
#pragma once

#include <atomic>
#include <optional>
#include <stdexcept>
#include <utility>
#include <variant>

#include "sennit/actor.hpp"
#include "sennit/local/actor.hpp"
#include "support/kinds.hpp"

namespace sennit {

template <class Kind>
struct actors_of;

template <>
struct actors_of<parallel_kind> {
  using options = actor_options;
  template <class M>
  using ref = actor_ref<M>;
  template <class M>
  using inbox = sennit::inbox<M>;
  template <class M, class... Arguments>
  static ref<M> spawn(Arguments&&... arguments) {
    return spawn_actor<M>(std::forward<Arguments>(arguments)...);
  }
};

template <>
struct actors_of<local_kind> {
  using options = local::actor_options;
  template <class M>
  using ref = local::actor_ref<M>;
  template <class M>
  using inbox = local::inbox<M>;
  template <class M, class... Arguments>
  static ref<M> spawn(Arguments&&... arguments) {
    return local::spawn_actor<M>(std::forward<Arguments>(arguments)...);
  }
};

template <class Kind>
class actor_test : public kind_test<Kind> {
protected:
  using actors = actors_of<Kind>;
  template <class T>
  using promise = typename Kind::template promise<T>;

  struct add {
    int amount;
  };
  struct sum {
    promise<int> reply;
  };
  struct fail {};
  using message = std::variant<add, sum, fail>;
  using ref = typename actors::template ref<message>;
  using message_inbox = typename actors::template inbox<message>;

  static void handle(int& total, message& next) {
    if (auto* added = std::get_if<add>(&next))
      total += added->amount;
    else if (auto* asked = std::get_if<sum>(&next))
      asked->reply.set_value(total);
    else
      throw std::runtime_error("failed");
  }
  // An adder, with a stack or without.
  template <class... Scope>
  static ref adder(bool has_stack, Scope&... scope) {
    if (has_stack)
      return actors::template spawn<message>(scope..., [](message_inbox& in) {
        for (int total = 0; auto next = in.receive();)
          handle(total, *next);
      });
    return actors::template spawn<message>(scope...,
                                           [total = 0](message next) mutable { handle(total, next); });
  }
  static channel_result<int> sum_of(const ref& of) {
    return of.template ask<int>([](promise<int> reply) { return sum{std::move(reply)}; });
  }

  // Counts messages that exist.
  struct counted_message {
    explicit counted_message(std::atomic<int>& of) : alive(&of) { ++*alive; }
    counted_message(counted_message&& other) noexcept : alive(other.alive) { ++*alive; }
    ~counted_message() { --*alive; }
    std::atomic<int>* alive;
  };
};

}  // namespace sennit
