// A subscription to signals, as the process's signal handler sees it.
//
// Nodes are never freed. A handler enters (counts itself in `inside`), then checks that its signal is wanted.
// The end of the subscription clears `wanted`, then waits until no handler is inside. These four accesses are
// seq_cst, so that one of the two sees the other: the eventfd is open while a handler writes to it. (The
// store is an exchange for the reason given in inbox.hpp.)
#pragma once

#include <cstdint>

#include "sennit/detail/arch/native_memory.hpp"

namespace sennit::inline v0_1::detail {

// Bit n - 1 of a mask stands for signal n.
template <class Memory>
struct basic_signal_node {
  template <class T>
  using atomic = typename Memory::template atomic<T>;

  atomic<std::uint64_t> wanted{0};   // the subscription's signals; 0: the node is free, or about to be
  atomic<std::uint64_t> pending{0};  // set by handlers, taken by the waiter
  atomic<unsigned> inside{0};        // handlers that may be using `event`
  atomic<int> event{-1};             // the subscription's eventfd
  bool taken = false;                // under the lock
  typename Memory::template plain<basic_signal_node*> next = nullptr;  // all nodes; constant

  // The handler. `notify` is called with the eventfd if the signal is wanted.
  template <class Notify>
  void deliver(std::uint64_t bit, Notify&& notify) noexcept {
    inside.fetch_add(1, std::memory_order_seq_cst);
    if ((wanted.load(std::memory_order_seq_cst) & bit) != 0) {
      pending.fetch_or(bit, std::memory_order_release);
      notify(event.load(std::memory_order_relaxed));
    }
    inside.fetch_sub(1, std::memory_order_release);
  }

  void publish(int descriptor, std::uint64_t signals) noexcept {
    event.store(descriptor, std::memory_order_relaxed);
    pending.store(0, std::memory_order_relaxed);
    wanted.store(signals, std::memory_order_seq_cst);
  }

  // Afterwards no handler uses the eventfd. Handlers are short, and a handler on this very thread ends before
  // we continue.
  void unpublish() noexcept {
    wanted.exchange(0, std::memory_order_seq_cst);
    while (inside.load(std::memory_order_seq_cst) != 0)
      Memory::yield_thread();
  }
};

using signal_node = basic_signal_node<native_memory>;

}  // namespace sennit::inline v0_1::detail
