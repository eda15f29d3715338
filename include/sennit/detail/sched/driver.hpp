// The driver contract: how an idle worker waits for the world. sched declares it, io implements it.
#pragma once

#include <memory>

#include "sennit/detail/sched/fiber.hpp"

namespace sennit::detail {

class driver {
public:
  virtual ~driver() = default;

  // Waits until `deadline` (in the past: looks only; never: no limit), an event, or wake(). Unparks the
  // fibers whose events came. Whether anything has come. Only the owner calls it.
  virtual bool wait(time_point deadline) noexcept = 0;

  // Unparks the fibers whose events came, on the calling worker of the owner's runtime, while the owner may
  // do the same, or sleep.
  virtual void serve() noexcept = 0;

  // Whether an event can come at all: if not, a busy worker saves itself the look.
  virtual bool watching() const noexcept = 0;

  // Ends the wait that goes on, or the next one. Any thread, any number of times.
  virtual void wake() noexcept = 0;

  // A descriptor that polls readable when wait() has something to do: an event, a wake(), or the passing of
  // the time given to arm() last.
  virtual int descriptor() const noexcept = 0;
  virtual void arm(time_point deadline) noexcept = 0;
};

// Throws std::system_error when descriptors or memory ran out. Implemented in the io room.
std::unique_ptr<driver> make_driver(sennit_worker& owner);

}  // namespace sennit::detail
