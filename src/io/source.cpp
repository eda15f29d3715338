// Sources: their memory, and how fibers wait for them.
#include "sennit/detail/io/source.hpp"

#include <unistd.h>

#include <cassert>
#include <cerrno>
#include <mutex>
#include <thread>

#include "sennit/detail/arch/never_destroyed.hpp"
#include "sennit/detail/wait/slot.hpp"
#include "sennit/detail/wait/wait.hpp"

namespace sennit::inline v0_1::detail {

namespace {

// Type-stable: blocks are never given back, and never destroyed.
struct source_pool {
  std::mutex lock;
  io_source* free = nullptr;
};

constinit never_destroyed<source_pool> all_sources;

source_pool& sources() noexcept {
  return all_sources.value;
}

constexpr unsigned block_size = 64;

void give(io_source& source) noexcept {
  source_pool& to = sources();
  std::lock_guard hold(to.lock);
  source.next = to.free;
  to.free = &source;
}

// No operation uses the source any more, or ever will.
void close_descriptor(io_source& source) noexcept {
  const int descriptor = source.descriptor.exchange(-1, std::memory_order_relaxed);
  if (descriptor >= 0 && (!source.borrowed || source.copied))
    ::close(descriptor);
}

// One of a fiber of the calling worker, or of a parallel runtime.
std::uintptr_t word_of(waiter& w) noexcept {
  const worker* const here = this_worker();
  return reinterpret_cast<std::uintptr_t>(&w) | (here != nullptr && here->is_local() ? local_waiter : 0);
}

}  // namespace

bool source_enter(io_side& side, waiter& me) noexcept {
  std::uintptr_t seen = std::exchange(side.last_seen_event, 0);
  return slot_enter(side.word, seen, word_of(me));
}

bool source_leave(io_side& side, waiter& me) noexcept {
  return slot_leave(side.word, io_side::first, word_of(me));
}

io_source* source_take(int descriptor, bool borrowed) {
  source_pool& from = sources();
  std::lock_guard hold(from.lock);
  if (from.free == nullptr) {
    auto* block = new io_source[block_size];
    for (unsigned i = block_size; i-- > 0;) {
      block[i].next = from.free;
      from.free = &block[i];
    }
  }
  io_source* source = from.free;
  from.free = source->next;
  assert(source->driver.load(std::memory_order_relaxed) == 0 && "sennit: a source was given back registered");
  source->descriptor.store(descriptor, std::memory_order_relaxed);
  source->borrowed = borrowed;
  source->copied = false;
  source->exact.store(false, std::memory_order_relaxed);
  source->reading.last_seen_event = source->writing.last_seen_event = 0;
  source->uses.renew();
  return source;
}

void io_use::end_last() noexcept {
  source_.uses.end_last(what_, shared_, [this] { close_descriptor(source_); }, [this] { give(source_); });
}

void source_notify(io_side& side, bool shared) noexcept {
  std::uintptr_t was;
  if (shared) {
    // Ignored is what a worker met before its source was closed, given back and taken by a local runtime's.
    const auto late = [](std::uintptr_t word) {
      return word % 2 == 0 && (word & local_waiter) != 0 && this_worker() != nullptr;
    };
    was = side.record_event(late);
    if (late(was)) [[unlikely]]
      return;
  } else {
    was = side.word.load(std::memory_order_relaxed);
    side.word.store(io_side::after_event(was), std::memory_order_relaxed);
  }
  if (was % 2 == 0)
    wake_in_slot(was);
}

int source_wait(io_source& source, io_side io_source::* which, const char* reason, time_point deadline) {
  if (source.closed())  // perhaps before `seen` was noted: then there will be no other event
    return 0;
  worker& w = running_worker_for("I/O");
  driver& driver = *w.driver;
  if (source.driver.load(std::memory_order_relaxed) != driver.id()) [[unlikely]]
    if (const int error = driver.watch(source); error != 0)
      return error;
  driver.transfers = 0;
  io_side& side = source.*which;
  // However the wait ends: the event that ended it may be gone from the word.
  const std::uintptr_t seen = std::exchange(side.last_seen_event, 0);
  const wait_reason why(reason, reinterpret_cast<std::uintptr_t>(&source.descriptor) + is_descriptor);
  const bool in_time = w.operations.wait_in_slot(side.word, seen, io_side::first, why, deadline);
  // The closed object often belonged to a fiber that has ended, and so has its runtime. Then we return no
  // result that the caller must see, and unwind as if we had still been parked.
  if (source.closed())
    throw_if_shutdown_pending();
  return in_time ? 0 : -ETIMEDOUT;
}

void source_yield() {
  worker& w = running_worker_for("I/O");
  w.driver->transfers = 0;
  yield_polling();
}

owned_source::owned_source(int descriptor) {
  try {
    source_ = source_take(descriptor);
  } catch (...) {
    ::close(descriptor);
    throw;
  }
}

// Closing the file descriptor removes it from epoll, unless a duplicate of it is open. Then its events find a
// source that is not registered, or another one, whose fiber then retries for nothing. That is cheaper than a
// system call for each close.
void owned_source::cancel_operations(io_source& source, bool shared, bool stays_open) noexcept {
  if (worker* const w = this_worker()) {
    w->driver->unwatch(source, stays_open);
  } else {
    const lock_holder hold(source.registering);
    source.driver.store(0, std::memory_order_relaxed);
  }
  source_notify(source.reading, shared);
  source_notify(source.writing, shared);
}

void owned_source::end(std::uint32_t how) noexcept {
  const bool shared = io_may_be_shared();
  const io_use last(io_use::ending{}, *source_, how, shared);
  if (last.error() == 0)  // else it was closed before
    cancel_operations(*source_, shared, source_->borrowed);
}

// An operation of another worker may be about to use the number, which the caller may close. So this waits
// until all have ended. In a local runtime other operations are parked, and check whether the source is
// closed before they use the number.
int owned_source::release() {
  if (source_ == nullptr)
    return -1;
  const bool shared = io_may_be_shared();
  const io_use last(io_use::ending{}, *source_, io_use::closed, shared);
  if (last.error() != 0)
    return -1;
  cancel_operations(*source_, shared, true);
  while (shared && !source_->uses.is_only()) {
    if (parallel_worker* const w = this_parallel())
      parallel_yield(*w);
    else
      std::this_thread::yield();
  }
  return source_->descriptor.exchange(-1, std::memory_order_relaxed);
}

}  // namespace sennit::inline v0_1::detail
