// Sources: their memory, and how fibers wait for them.
#include "sennit/detail/io/source.hpp"

#include <unistd.h>

#include <cassert>
#include <cerrno>
#include <mutex>

#include "sennit/detail/io/epoll_driver.hpp"

namespace sennit::detail {

namespace {

// Type-stable: blocks are never given back, and never destroyed.
struct source_pool {
  std::mutex lock;
  io_source* free = nullptr;
};

source_pool& pool() {
  static auto* only = new source_pool;
  return *only;
}

constexpr unsigned block_size = 64;

// Leaves its source's slot when the wait ends, however it ends.
struct waiting {
  waiting(fiber*& place, fiber& who) : slot(place), self(who) {
    assert(slot == nullptr && "sennit: two fibers wait for the same direction of one file descriptor");
    slot = &self;
  }
  ~waiting() {
    if (slot == &self)
      slot = nullptr;
  }
  waiting(const waiting&) = delete;
  waiting& operator=(const waiting&) = delete;

  fiber*& slot;
  fiber& self;
};

}  // namespace

io_source* source_take(int descriptor) {
  source_pool& from = pool();
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
  source->descriptor = descriptor;
  source->readable = source->writable = true;
  source->exact = false;
  return source;
}

void source_give(io_source* source) noexcept {
  source_pool& to = pool();
  std::lock_guard hold(to.lock);
  source->next = to.free;
  to.free = source;
}

int source_wait(io_source& source, fiber* io_source::* slot, const char* reason, time_point deadline) {
  worker& w = running_worker_for("I/O");
  epoll_driver& driver = driver_of(w);
  if (source.driver.load(std::memory_order_relaxed) != driver.id()) [[unlikely]]
    if (const int error = driver.add(source); error != 0)
      return error;
  driver.transfers = 0;
  fiber& self = *w.ready.current;
  const std::uint32_t epoch = source.epoch;
  {
    waiting here(source.*slot, self);
    if (deadline == never)
      park(w, fiber_status::parked, reason);
    else
      park_until(w, fiber_status::parked, reason, deadline);
  }
  if (source.epoch != epoch) {
    // Often what was closed belonged to a fiber that has ended, and its runtime with it: then we were given
    // nothing that we must see, and leave as if we had still been parked.
    if (std::exchange(self.flags.unwind, false))
      throw_forced_unwind();
    return -ECANCELED;
  }
  return self.flags.status == fiber_status::timed_out ? -ETIMEDOUT : 0;
}

bool source_give_way(io_source& source) {
  worker& w = running_worker_for("I/O");
  driver_of(w).transfers = 0;
  w.until_poll = 1;
  const std::uint32_t epoch = source.epoch;
  yield();
  return source.epoch == epoch;
}

owned_source::owned_source(int descriptor) {
  try {
    source_ = source_take(descriptor);
  } catch (...) {
    ::close(descriptor);
    throw;
  }
}

int owned_source::release() noexcept {
  io_source* source = std::exchange(source_, nullptr);
  ++source->epoch;
  if (worker* w = this_worker())
    driver_of(*w).forget(*source);
  source->driver.store(0, std::memory_order_relaxed);
  source_wake(source->reader);
  source_wake(source->writer);
  const int descriptor = std::exchange(source->descriptor, -1);
  source_give(source);
  return descriptor;
}

// Closing the file descriptor takes it out of epoll, unless somebody else still holds a duplicate: then its
// events find a source that is not registered, or another one, which is told something untrue and tries in
// vain. That is cheaper than a system call for each.
void owned_source::close() noexcept {
  if (source_ != nullptr)
    ::close(release());
}

}  // namespace sennit::detail
