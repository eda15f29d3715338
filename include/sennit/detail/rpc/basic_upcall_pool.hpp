// Pools of blocked fibers for events: the parts that local and parallel pools share.
//
// An idle fiber of a pool has no stack, and its continuation is a default one: to end. The poster of an event
// replaces that: it writes the handler, with its state, into the descriptor of an idle fiber, and readies the
// fiber. So no fiber begins or ends for an event, and nothing is allocated. If no fiber is idle, the event is
// stored in a ring, which has its size from the beginning.
//
// Source: Draves et al. 1991, section 4 (upcalls by a pool of blocked threads).
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "sennit/detail/cont/waits.hpp"
#include "sennit/detail/rpc/pool_operation.hpp"
#include "sennit/detail/sync/wait_lists.hpp"
#include "sennit/upcall_options.hpp"

namespace sennit::inline v0_1::detail {

/// The members of sennit::upcall_pool and sennit::local::upcall_pool. `Self` is the pool's class, `Fiber`
/// its kind of handle; for `Policy` see basic_wait_queue.hpp.
template <class Self, class Fiber, class Policy>
class basic_upcall_pool {
public:
  /// Starts the fibers, which have no stack while they are idle.
  ///
  /// \throws std::bad_alloc if there is no memory
  explicit basic_upcall_pool(upcall_options options = {}) : kept_(checked(options.events)) {
    assert(options.fibers > 0 && "sennit: a pool of no fibers");
    try {
      fibers_.reserve(options.fibers);
      for (unsigned i = 0; i < options.fibers; ++i)
        fibers_.push_back(start(idle()));
    } catch (...) {
      end();
      throw;
    }
  }
  basic_upcall_pool(const basic_upcall_pool&) = delete;
  basic_upcall_pool& operator=(const basic_upcall_pool&) = delete;
  /// Closes the pool, and waits until all posted handlers have run. A stop does not end this wait.
  ~basic_upcall_pool() { end(); }

  /// Calls `handler()` or `handler(pool)` on one of the fibers. Neither waits nor throws. An exception that
  /// leaves the handler ends the program.
  ///
  /// The handler is copied byte by byte: a function, or a lambda whose captures are trivially copyable, of
  /// at most 32 bytes. It may wait as any fiber may. To wait without a stack it returns a continuation. The
  /// last continuation must return pool.idle(), or the pool loses the fiber.
  ///
  /// \returns false if all fibers are busy and the queue is full, or if the pool is closed
  template <class Handler>
  [[nodiscard]] bool post(Handler handler) noexcept {
    static_assert(std::is_trivially_copyable_v<Handler> && sizeof(Handler) <= sizeof(event::state) &&
                      alignof(Handler) <= alignof(event),
                  "a handler is kept in 32 bytes, and copied as they are; more may lie behind a pointer");
    event what;
    what.handler = call<Handler>;
    ::new (static_cast<void*>(what.state)) Handler(handler);
    lock hold(waits_);
    if (closed_)
      return false;
    while (!idle_.empty()) {
      waiter& first = list_pop_front(idle_);
      auto& goes_on = *reinterpret_cast<idle_wait*>(first.word);
      fiber* who = nullptr;
      if (!lists::take(first, who)) [[unlikely]]
        continue;
      count_recognition(who);
      goes_on.what = what;
      hold.release_and_wake(who);
      return true;
    }
    if (kept_count_ == kept_.size())
      return false;
    kept_[(kept_first_ + kept_count_++) % kept_.size()] = what;
    return true;
  }

  /// Closes the pool: post() returns false from now on. Handlers that were posted before still run. May be
  /// called again, by any thread that may post.
  void close() noexcept {
    lock hold(waits_);
    closed_ = true;
    fiber_chain all;
    for (fiber* who = nullptr; !idle_.empty();)
      if (lists::take(list_pop_front(idle_), who) && who != nullptr)
        all(who);
    hold.release();
    lists::wake_all(all);
  }

  /// For a pool that is destroyed after its runtime has ended: nothing waits for its fibers.
  void ends_with_runtime() noexcept {
    for (Fiber& each : fibers_)
      each.detach();
    std::vector<Fiber>().swap(fibers_);
  }

  /// The continuation with which a handler's fiber returns to the pool.
  continuation idle() { return block(idle_wait(*this), go_on{}, no_state{}); }

private:
  friend struct upcall_access;
  using lists = wait_lists<Policy>;
  using lock = lists_lock<lists>;

  struct event {
    continuation (*handler)(Self& pool, void* state) = nullptr;  // null: none
    alignas(8) std::byte state[32];
  };

  struct turn {
    basic_upcall_pool* pool;
    event what;
  };

  struct idle_wait : continuation_wait {
    static constexpr const char* reason = "upcall";
    SENNIT_OBJECT_AT(idle_wait, pool)
    explicit idle_wait(basic_upcall_pool& of) noexcept : pool(&of) {}
    bool file(fiber& f) noexcept {
      Policy::prepare(f, reason);
      const lock hold(pool->waits_);
      if (pool->take_kept(what) || pool->closed_)
        return false;
      f.word = reinterpret_cast<std::uintptr_t>(this);
      list_push_back(pool->idle_, f);
      return true;
    }
    bool withdraw(fiber& f) noexcept { return pool->waits_.leave(f); }
    turn end(fiber&, std::uintptr_t, fiber_status) noexcept { return {pool, what}; }

    basic_upcall_pool* pool;
    event what;
  };

  struct go_on {
    continuation operator()(turn now) const {
      return now.what.handler == nullptr ? continuation()
                                         : now.what.handler(static_cast<Self&>(*now.pool), now.what.state);
    }
  };
  static_assert(sizeof(blocked<idle_wait, go_on, no_state>) <= continuation_room);

  // Where a vector would throw std::length_error.
  static std::size_t checked(std::size_t events) {
    if (events > std::vector<event>().max_size())
      throw std::bad_alloc();
    return events;
  }

  void end() {
    close();
    for (Fiber& each : fibers_)
      wait_uninterruptible([&each] {
        if (each.joinable())
          each.join();
      });
  }

  static Fiber start(continuation begins) {
    if constexpr (std::is_same_v<Fiber, local::fiber>)
      return local::spawn(std::move(begins));
    else
      return sennit::spawn(std::move(begins));
  }

  template <class Handler>
  static continuation call(Self& pool, void* state) {
    Handler handler(*static_cast<Handler*>(state));
    const auto run = [&] {
      if constexpr (std::is_invocable_v<Handler&, Self&>)
        return handler(pool);
      else
        return handler();
    };
    try {
      if constexpr (std::is_void_v<decltype(run())>) {
        run();
        return pool.idle();
      } else {
        return run();
      }
    } catch (const forced_unwind&) {
      throw;
    } catch (...) {
      std::terminate();
    }
  }

  void keep(pool_operation& one) noexcept {
    const lock hold(waits_);
    operations_.add(one);
  }
  void give_back(pool_operation& one) noexcept {
    const lock hold(waits_);
    pool_operations::remove(one);
  }

  bool take_kept(event& into) noexcept {
    if (kept_count_ == 0)
      return false;
    into = kept_[kept_first_];
    kept_first_ = (kept_first_ + 1) % kept_.size();
    --kept_count_;
    return true;
  }

  waiter_list idle_;
  std::vector<event> kept_;  // a ring of events that found no idle fiber
  std::size_t kept_first_ = 0;
  std::size_t kept_count_ = 0;
  bool closed_ = false;
  pool_operations operations_;
  std::vector<Fiber> fibers_;
  [[no_unique_address]] lists waits_;
};

}  // namespace sennit::inline v0_1::detail
