// The driver contract: how an idle worker waits for external events, and how I/O names the ones that it
// wants. sched declares it, io implements it. Each worker has one driver.
//
// What is asked often needs no virtual call: whether anything is watched, and the driver's number.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "sennit/detail/arch/owner.hpp"
#include "sennit/detail/sched/fiber.hpp"

namespace sennit::inline v0_1::detail {

struct io_source;  // a file descriptor that fibers wait for (io/source.hpp)

class driver {
public:
  driver() = default;
  virtual ~driver() = default;
  driver(const driver&) = delete;
  driver& operator=(const driver&) = delete;

  // Never 0, never used again by another driver of the process.
  std::uint64_t id() const noexcept { return id_; }

  // Waits until `deadline`, an event, or wake(). A deadline in the past only polls; `never` sets no limit.
  // Unparks the fibers whose events came. Returns whether anything has come. Only the owner calls it.
  virtual bool wait(time_point deadline) noexcept = 0;

  // Unparks the fibers whose events came, on the calling worker of the owner's runtime. The owner may call
  // wait() or serve(), or sleep, at that time.
  virtual void serve() noexcept = 0;

  // Returns whether an event can come at all. If not, a busy worker skips the poll.
  bool watching() const noexcept { return watched_.load(std::memory_order_relaxed) != 0; }

  // Ends the current wait, or the next one. Any thread may call it, any number of times.
  virtual void wake() noexcept = 0;

  // For a fiber of the owner, which is going to wait: registers a source here, unless a driver of another
  // worker of the runtime has it and may keep it. If it is ready now, an event will say so. Events are
  // edge-triggered, and count for a source only while its `driver` is this driver's id().
  // Returns 0, or an errno, negated. Then the source has no driver, and both its sides were notified, because
  // a fiber may rely on this registration for the other side.
  virtual int watch(io_source& source) noexcept = 0;

  // Like watch(), and reports again what the source is ready for.
  virtual int watch_again(io_source& source) noexcept = 0;

  // For a source that is closed, whichever driver of the runtime has it. `stays_open`: its file descriptor.
  virtual void unwatch(io_source& source, bool stays_open) noexcept = 0;

  // A file descriptor that polls readable when wait() has something to do: an event, a wake(), or the
  // deadline last passed to arm().
  int descriptor() const noexcept { return descriptor_; }
  virtual void arm(time_point deadline) noexcept = 0;

  // How many transfers fibers have made since one waited. Only the owner uses it.
  unsigned transfers = 0;

protected:
  // A source has come or gone. Any worker of the runtime may call it for any of its drivers.
  static void count_watched(driver& at) noexcept { at.watched_.fetch_add(1, std::memory_order_relaxed); }
  static void count_unwatched(driver& at) noexcept { at.watched_.fetch_sub(1, std::memory_order_relaxed); }

  int descriptor_ = -1;

private:
  static inline constinit std::atomic<std::uint64_t> last_id_{0};

  const std::uint64_t id_ = last_id_.fetch_add(1, std::memory_order_relaxed) + 1;
  // Sources registered, and those that were closed outside of the runtime.
  std::atomic<std::size_t> watched_{0};
};

inline void destroy_owned(driver* object) noexcept {
  delete object;
}

// Makes a worker's driver. Throws std::system_error if descriptors or memory run out. The io room sets it to
// the driver of the system. A test may set another one while no runtime exists; all drivers of a runtime must
// be of one kind.
using driver_factory = owner<driver> (*)(sennit_worker& of);
extern driver_factory make_driver;

}  // namespace sennit::inline v0_1::detail
