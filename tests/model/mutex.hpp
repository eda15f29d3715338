// A mutex of the library (mutex_word.hpp, basic_wait_queue.hpp) on the model checker's memory: over the
// waiters that a test chooses, and between threads that sleep at gates.
#pragma once

#include <utility>

#include "model.hpp"
#include "sennit/detail/sync/basic_wait_queue.hpp"
#include "sennit/detail/sync/mutex_word.hpp"

namespace model {

struct sleeper : sennit::detail::fiber {
  gate woken;
};

// Only the lock's holder may use the list.
template <class Waiters>
class watched : public Waiters {
public:
  using Waiters::Waiters;
  sennit::detail::waiter_list& list() noexcept {
    touched_ = touched_ + 1;
    return Waiters::list();
  }
  void push(sennit::detail::waiter& w) noexcept { list_push_back(list(), w); }

private:
  plain<int> touched_{0};
};

struct gates {
  using waiters = void;
  static bool take(sennit::detail::waiter& w, std::uintptr_t word, sennit::detail::fiber*& who) noexcept {
    w.word = word;
    who = static_cast<sennit::detail::fiber*>(&w);
    return true;
  }
  static void make_ready(sennit::detail::fiber* who) noexcept {
    if (who != nullptr)
      static_cast<sleeper*>(who)->woken.signal();
  }
  static void make_all_ready(sennit::detail::fiber_chain&) noexcept {}
};

enum class plants { nothing, forgets_waiters, wakes_before_it_lets_go };

// Barging or fair. `initial...`: what the waiters are made of.
template <class Waiters>
class mutex : sennit::detail::basic_wait_queue<gates, watched<Waiters>> {
  using queue = sennit::detail::basic_wait_queue<gates, watched<Waiters>>;

public:
  using word = sennit::detail::mutex_word<mutex>;
  friend word;
  using typename queue::guard;
  using typename queue::state;

  template <class... Initial>
  mutex(bool fair, plants what, const Initial&... initial) : queue(initial...), fair_(fair), plants_(what) {}

  void take(sleeper& me) {
    if (word::quick_lock(*this))
      return;
    word::wait_until_taken(fair_, [&](auto decide) {
      if (this->enter(me, decide))
        me.woken.wait();
      return true;
    });
  }

  void give() {
    if (word::quick_unlock(*this))
      return;
    const bool fair = fair_;
    sennit::detail::fiber* who = nullptr;
    {
      guard hold(*this);
      if (plants_ == plants::forgets_waiters)
        hold.set(word::unlocked);
      else
        word::pass_on(hold, fair, false, who);
      if (plants_ == plants::wakes_before_it_lets_go)
        queue::make_ready(std::exchange(who, nullptr));
    }
    queue::make_ready(who);
  }

private:
  const bool fair_;
  const plants plants_;
};

}  // namespace model
