// The driver contract: how an idle worker waits for external events. sched declares it, io implements it.
#pragma once

#include <memory>

#include "sennit/detail/sched/fiber.hpp"

namespace sennit::detail {

class driver {
public:
  virtual ~driver() = default;

  // Waits until `deadline`, an event, or wake(). A deadline in the past only polls; `never` sets no limit.
  // Unparks the fibers whose events came. Returns whether anything has come. Only the owner calls it.
  virtual bool wait(time_point deadline) noexcept = 0;

  // Unparks the fibers whose events came, on the calling worker of the owner's runtime. The owner may call
  // wait() or serve(), or sleep, at that time.
  virtual void serve() noexcept = 0;

  // Returns whether an event can come at all. If not, a busy worker skips the poll.
  virtual bool watching() const noexcept = 0;

  // Ends the current wait, or the next one. Any thread may call it, any number of times.
  virtual void wake() noexcept = 0;

  // A file descriptor that polls readable when wait() has something to do: an event, a wake(), or the
  // deadline last passed to arm().
  virtual int descriptor() const noexcept = 0;
  virtual void arm(time_point deadline) noexcept = 0;
};

// Throws std::system_error if descriptors or memory run out. The io room implements it.
std::unique_ptr<driver> make_driver(sennit_worker& owner);

}  // namespace sennit::detail
