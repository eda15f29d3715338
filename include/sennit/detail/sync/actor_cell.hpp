// The memory of an actor: its mailbox, and how it has ended. It is one allocation, which exists until the
// actor has ended and no reference, monitor or link needs it.
//
//   references   actor_ref objects. When the last one is destroyed, the mailbox is closed.
//   holders      references, the actor, and the fibers of monitors and links. The last one frees the cell.
//
// The mailbox is a channel, and its lock also protects how the actor ends. So actors have no lock-free code
// of their own. A monitor or a link is a fiber without a stack that waits for the event `ended`.
//
// Rejected: a list of monitors in the cell. A notice would need memory when the actor ends, and a full
// mailbox would block the ending actor. The monitor's fiber has its memory from the beginning, and only it
// waits for room.
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include "sennit/actor_exit.hpp"
#include "sennit/detail/sync/basic_channel.hpp"
#include "sennit/detail/sync/basic_event.hpp"

namespace sennit::inline v0_1::detail {

template <class M, class Policy>
using mailbox = basic_channel<M, with_lazy_ring<Policy>>;

struct mailbox_access {
  // Calls a function under the mailbox's lock.
  template <class M, class Policy, class Function>
  static void locked(const mailbox<M, Policy>& box, Function function) noexcept {
    const lists_lock hold(box.waits_);
    function();
  }
  // For an actor without a stack that has got a message: whether it was idle until then.
  template <class M, class Policy>
  SENNIT_INLINE static bool was_idle(mailbox<M, Policy>& box) noexcept {
    return box.ring_.has_rested();
  }
};

// The part of a cell that does not depend on the type of the messages.
template <class Policy>
class actor_cell_base {
public:
  actor_cell_base() noexcept = default;
  actor_cell_base(const actor_cell_base&) = delete;
  actor_cell_base& operator=(const actor_cell_base&) = delete;

  void add_reference() noexcept {
    references_.add();
    holders_.add();
  }
  void drop_reference() noexcept {
    if (references_.drop())
      close(exit_reason::stopped, nullptr);
    drop_holder();
  }
  void add_holder() noexcept { holders_.add(); }
  void drop_holder() noexcept {
    if (holders_.drop())
      delete this;
  }

  // Closes the mailbox. With reason `cancelled` or `failed`, also destroys what is in it, and requests the
  // stop of the actor's token. Of several reasons, the one declared last counts.
  virtual void close(exit_reason why, std::exception_ptr error) noexcept = 0;

  basic_event<Policy>& ended() noexcept { return ended_; }
  // After ended().
  actor_exit result() const noexcept { return {reason_, error_}; }

protected:
  virtual ~actor_cell_base() = default;

  // Under the mailbox's lock.
  void note(exit_reason why, std::exception_ptr& error) noexcept {
    if (is_over_ || why <= reason_)
      return;
    reason_ = why;
    error_.swap(error);  // the caller destroys the other one, without the lock
  }
  bool is_cancelled() const noexcept { return reason_ >= exit_reason::cancelled; }
  void finish() noexcept { is_over_ = true; }

private:
  basic_event<Policy> ended_;
  std::exception_ptr error_;
  typename Policy::owners references_;  // with the first reference
  typename Policy::owners holders_;     // with the actor
  exit_reason reason_ = exit_reason::normal;
  bool is_over_ = false;
};

template <class M, class Policy>
class actor_cell : public actor_cell_base<Policy> {
public:
  explicit actor_cell(std::size_t capacity) noexcept : box_(capacity) {}

  mailbox<M, Policy>& box() noexcept { return box_; }

  void close(exit_reason why, std::exception_ptr error) noexcept override {
    mark(why, std::move(error));
    box_.close();
    if (why < exit_reason::cancelled)
      return;
    drain();
    interrupt();
  }
  void mark(exit_reason why, std::exception_ptr error = nullptr) noexcept {
    mailbox_access::locked<M, Policy>(box_, [&] { this->note(why, error); });
  }
  // The actor's last action. It no longer has a behaviour.
  void end() noexcept {
    box_.close();
    drain();
    mailbox_access::locked<M, Policy>(box_, [this] { this->finish(); });
    this->ended().set();
    this->drop_holder();
  }

  // A stop is requested when the actor is cancelled. For the actor's fiber. May throw std::bad_alloc.
  virtual std::stop_token token() { return {}; }

private:
  virtual void interrupt() noexcept {}
  void drain() noexcept {
    while (box_.try_receive()) {
    }
  }

  mailbox<M, Policy> box_;
};

template <class M, class Policy>
class stackful_cell final : public actor_cell<M, Policy> {
public:
  using actor_cell<M, Policy>::actor_cell;
  void dispose() noexcept { this->end(); }

  std::stop_token token() override {
    std::stop_source fresh;
    bool cancelled = false;
    mailbox_access::locked<M, Policy>(this->box(), [&] {
      if (!stop_.stop_possible())
        stop_.swap(fresh);
      cancelled = this->is_cancelled();
    });
    if (cancelled)
      stop_.request_stop();
    return stop_.get_token();
  }

private:
  void interrupt() noexcept override {
    std::stop_source of_actor(std::nostopstate);
    mailbox_access::locked<M, Policy>(this->box(), [&] { of_actor = stop_; });
    of_actor.request_stop();
  }

  std::stop_source stop_{std::nostopstate};  // made for the first token, and not changed after that
};

// With the behaviour of an actor that waits without a stack.
template <class M, class Policy, class Behaviour>
class stackless_cell final : public actor_cell<M, Policy> {
public:
  template <class From>
  stackless_cell(std::size_t capacity, From&& from)
      : actor_cell<M, Policy>(capacity), behaviour(std::forward<From>(from)) {}
  void dispose() noexcept {
    // A scope or a runtime that ends such a fiber calls none of its functions.
    if (!this->box().closed() || this->box().size() != 0)
      this->mark(exit_reason::cancelled);
    std::destroy_at(std::addressof(behaviour));
    this->end();
  }

  union {
    Behaviour behaviour;
  };

private:
  ~stackless_cell() override {}  // NOLINT(modernize-use-equals-default): the behaviour is gone
};

// What the actor's fiber owns. Its destruction is the actor's end, however the fiber ends.
struct actor_end {
  template <class Cell>
  void operator()(Cell* cell) const noexcept {
    cell->dispose();
  }
};
template <class Cell>
using actor_life = std::unique_ptr<Cell, actor_end>;

// Keeps a cell, but no mailbox open.
struct actor_holder_drop {
  template <class Cell>
  void operator()(Cell* cell) const noexcept {
    cell->drop_holder();
  }
};
template <class Cell>
using actor_holder = std::unique_ptr<Cell, actor_holder_drop>;
template <class Cell>
actor_holder<Cell> hold_actor(Cell& cell) noexcept {
  cell.add_holder();
  return actor_holder<Cell>(&cell);
}

}  // namespace sennit::inline v0_1::detail
