// A channel whose elements are bytes, as many as its maker says at run time. Otherwise it is basic_channel,
// with the same places and the same rules: the lists of waiters, the lock, and how a peer is taken. A waiting
// sender's word is the address of its element, and a waiting receiver's that of its place. The peer copies
// the element, and wakes the waiter with the word `done`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <string>  // for std::allocator, without the rest of <memory>

#include "begin_wait.hpp"
#include "error.hpp"
#include "sennit/detail/parallel/worker_inline.hpp"
#include "sennit/detail/sync/select_case.hpp"
#include "sennit/detail/sync/wait_lists.hpp"

namespace sennit::inline v0_1::capi {

template <class Policy>
class byte_channel {
  using lists = detail::wait_lists<Policy, typename Policy::channel_lock>;
  using lock = detail::lists_lock<lists>;
  using fiber = detail::fiber;
  using waiter = detail::waiter;

public:
  static constexpr std::uintptr_t done = 1;  // the word of a waiter that was served
  static constexpr bool is_shared = Policy::is_shared;

  // Throws std::bad_alloc.
  byte_channel(std::size_t element_size, std::size_t capacity)
      : size_(element_size),
        capacity_(capacity),
        places_(allocate(element_size, capacity)),
        is_inline_(element_size != sizeof(std::uint64_t) ? 0
                   : is_shared                           ? SENNIT_CHANNEL_SHARED
                                                         : SENNIT_CHANNEL_LOCAL) {}
  byte_channel(const byte_channel&) = delete;
  byte_channel& operator=(const byte_channel&) = delete;
  ~byte_channel() { ::operator delete(places_); }

  std::size_t element_size() const noexcept { return size_; }

  // Each returns 0 or an error.
  int send(const void* element, detail::time_point deadline) {
    lock hold(waits_);
    if (closed_)
      return -EPIPE;
    if (offer(element, hand_over{hold}))
      return 0;
    hold.pass_on();
    return result_of(waits_.wait(senders_, const_cast<void*>(element), {"channel send", this}, deadline));
  }
  int receive(void* to, detail::time_point deadline) {
    lock hold(waits_);
    if (take(to, hand_over{hold}))
      return 0;
    if (closed_)
      return -EPIPE;
    hold.pass_on();
    return result_of(waits_.wait(receivers_, to, {"channel receive", this}, deadline));
  }
  // Like send(element, never) and receive(to, never), up to the switch, which the caller makes if
  // SENNIT_WAITS is returned. (See begin_wait.hpp.) must_call: nothing has happened, and those must be
  // called. `users`: counts the fibers that wait in a local channel.
  static constexpr int must_call = 2;
  SENNIT_INLINE int begin_send(const void* element, sennit_wait& wait, std::size_t& users) {
    lock hold(waits_);
    if (closed_)
      return -EPIPE;
    if (offer(element, hand_over{hold}))
      return 0;
    return begin_wait(hold, senders_, const_cast<void*>(element), "channel send", wait, users);
  }
  SENNIT_INLINE int begin_receive(void* to, sennit_wait& wait, std::size_t& users) {
    lock hold(waits_);
    if (take(to, hand_over{hold}))
      return 0;
    if (closed_)
      return -EPIPE;
    return begin_wait(hold, receivers_, to, "channel receive", wait, users);
  }
  int try_send(const void* element) {
    lock hold(waits_);
    if (closed_)
      return -EPIPE;
    return offer(element, hand_over{hold}) ? 0 : -EAGAIN;
  }
  int try_receive(void* to) {
    lock hold(waits_);
    if (take(to, hand_over{hold}))
      return 0;
    return closed_ ? -EPIPE : -EAGAIN;
  }

  void close() {
    lock hold(waits_);
    closed_ = true;
    __atomic_store_n(&is_inline_, 0, __ATOMIC_RELAXED);  // C reads it without the lock
    detail::fiber_chain all;
    for (detail::waiter_list* waiting : {&senders_, &receivers_})
      for (fiber* who = nullptr; next_of(*waiting, who) != nullptr;)
        if (who != nullptr)
          all(who);
    hold.release();
    lists::wake_all(all);
  }
  std::size_t size() noexcept {
    const lock hold(waits_);
    return count_;
  }

  // ---- Without a stack. Each returns false if no wait is needed: `result` says how it ended.

  bool file_send(fiber& f, waiter& me, const void* element, int& result) noexcept {
    lock hold(waits_);
    if (closed_) {
      result = -EPIPE;
      return false;
    }
    if (offer(element, hand_over{hold})) {
      result = 0;
      return false;
    }
    me.word = reinterpret_cast<std::uintptr_t>(element);
    waits_.enter(senders_, f, me);
    return true;
  }
  bool file_receive(fiber& f, waiter& me, void* to, int& result) noexcept {
    lock hold(waits_);
    if (take(to, hand_over{hold})) {
      result = 0;
      return false;
    }
    if (closed_) {
      result = -EPIPE;
      return false;
    }
    me.word = reinterpret_cast<std::uintptr_t>(to);
    waits_.enter(receivers_, f, me);
    return true;
  }
  bool leave(waiter& me) noexcept { return waits_.leave(me); }

  // ---- As a case of a select.

  detail::any_lock any() noexcept {
    if constexpr (is_shared)
      return detail::any_lock(waits_.mutual_exclusion());
    else
      return detail::any_lock{};
  }
  // As those of basic_channel.
  bool may_be_done(bool sends) const noexcept {
    if (detail::can_only_lock)
      return true;
    const std::size_t count = detail::look_ahead(count_);
    return (sends ? count != capacity_ : count != 0) || detail::looks_waited(sends ? receivers_ : senders_) ||
           detail::look_ahead(closed_);
  }
  // Under the lock: returns whether it was done, with its result.
  bool attempt(bool sends, void* element, int& result, detail::later_wake& later) {
    const auto wake = detail::wake_later<Policy>(later);
    const bool could = sends ? !closed_ && offer(element, wake) : take(element, wake);
    result = could ? 0 : -EPIPE;
    return could || closed_;
  }
  void enter(bool sends, detail::select_node& me, void* element) noexcept {
    me.word = reinterpret_cast<std::uintptr_t>(element);
    detail::list_push_back(sends ? senders_ : receivers_, me);
  }

private:
  friend struct channel_layout;

  // Releases the lock before the peer is woken, which may destroy the channel.
  struct hand_over {
    lock& hold;
    SENNIT_INLINE void operator()(fiber* who) const {
      hold.release();
      lists::wake(who);
    }
  };

  // What a scheduler step does for a waiter that has left its stack: it may be served at once.
  struct enter_list {
    bool operator()(fiber& self) const noexcept {
      byte_channel& to = *channel;
      self.word = word;
      detail::list_push_back(*list, self);
      to.waits_.unlock();
      return true;
    }
    byte_channel* channel;
    detail::waiter_list* list;
    std::uintptr_t word;
  };
  struct wait_place {
    bool leave(waiter& me) const noexcept { return channel->leave(me); }
    byte_channel* channel;
  };

  // With the lock held, which it releases.
  SENNIT_INLINE int begin_wait(lock& hold, detail::waiter_list& list, void* element, const char* reason,
                               sennit_wait& wait, std::size_t& users) {
    const detail::wait_reason why(reason, this);
    if constexpr (is_shared) {
      detail::parallel_worker* const w = detail::can_enqueue_directly(detail::never);
      if (w == nullptr || !detail::direct_entry)
        return must_call;
      hold.pass_on();
      return begin_block(
          *w, why, wait_place{this}, enter_list{this, &list, reinterpret_cast<std::uintptr_t>(element)}, wait,
          [](sennit_wait* of, std::uintptr_t word) { return result_of(block_ended(*of, word)); });
    } else {
      detail::worker* const w = can_begin_wait();
      if (w == nullptr)
        return must_call;
      fiber& self = *w->ready.current;
      self.word = reinterpret_cast<std::uintptr_t>(element);
      detail::list_push_back(list, self);
      wait.objects[0] = &users;
      ++users;
      return begin_park(*w, detail::fiber_status::waiting, why, wait,
                        [](sennit_wait* of, std::uintptr_t word) {
                          --*static_cast<std::size_t*>(of->objects[0]);
                          return result_of(detail::park_ended(of->error, word));
                        });
    }
  }

  static std::byte* allocate(std::size_t size, std::size_t capacity) {
    if (capacity == 0)
      return nullptr;
    if (size > std::numeric_limits<std::size_t>::max() / capacity)
      throw std::bad_alloc();
    return static_cast<std::byte*>(::operator new(size * capacity));
  }
  static int result_of(std::uintptr_t word) noexcept {
    return word == done ? 0 : word == 0 ? -ETIMEDOUT : -EPIPE;
  }

  // The first waiter of the list that still waits, taken off the list; null if there is none.
  SENNIT_INLINE static waiter* next_of(detail::waiter_list& list, fiber*& who) {
    while (!list.empty()) {
      waiter& first = detail::list_pop_front(list);
      if (lists::take(first, who)) [[likely]]
        return &first;
    }
    return nullptr;
  }
  std::byte* place(std::size_t number) noexcept {
    return places_ + (number < capacity_ ? number : number - capacity_) * size_;
  }
  void push(const void* element) noexcept {
    copy_bytes(place(first_ + count_), element, size_);
    ++count_;
  }

  // Under the lock, of an open channel. Gives the element to a receiver, or puts it into the buffer.
  template <class Then>
  SENNIT_INLINE bool offer(const void* element, Then wake) {
    fiber* who = nullptr;
    if (waiter* const receiver = next_of(receivers_, who)) {
      detail::count_recognition(who);
      copy_bytes(reinterpret_cast<void*>(receiver->word), element, size_);
      receiver->word = done;
      wake(who);
      return true;
    }
    if (count_ == capacity_)
      return false;
    push(element);
    return true;
  }
  // Takes the next element, from the buffer or from a waiting sender. Returns false if there is none.
  template <class Then>
  SENNIT_INLINE bool take(void* to, Then wake) {
    const bool buffered = count_ != 0;
    if (buffered) {
      copy_bytes(to, place(first_), size_);
      first_ = first_ + 1 == capacity_ ? 0 : first_ + 1;
      --count_;
    }
    fiber* who = nullptr;
    waiter* const sender = next_of(senders_, who);
    if (sender == nullptr)
      return buffered;
    detail::count_recognition(who);
    if (buffered)
      push(reinterpret_cast<const void*>(sender->word));
    else
      copy_bytes(to, reinterpret_cast<const void*>(sender->word), size_);
    sender->word = done;
    wake(who);
    return true;
  }

  detail::waiter_list receivers_;
  detail::waiter_list senders_;
  std::size_t size_;
  std::size_t capacity_;
  std::byte* places_;
  std::size_t first_ = 0;
  std::size_t count_ = 0;
  bool closed_ = false;
  unsigned char is_inline_;  // C sends and receives inline until it is closed (sennit/detail/capi/channel.h)
  [[no_unique_address]] lists waits_;  // its lock is the next byte
};

}  // namespace sennit::inline v0_1::capi
