// The driver of the io room: epoll, edge-triggered.
#pragma once

#include <cstdint>

#include "sennit/detail/io/source.hpp"
#include "sennit/detail/sched/driver.hpp"
#include "sennit/detail/sched/worker.hpp"

struct epoll_event;

namespace sennit::detail {

class epoll_driver final : public driver {
public:
  // Throws std::system_error.
  epoll_driver();
  ~epoll_driver() override;

  // Takes at most 256 events; the kernel keeps the rest in order, so none starves.
  void wait(time_point deadline) noexcept override;
  bool watching() const noexcept override { return watched_ != 0; }
  void wake() noexcept override;
  int descriptor() const noexcept override { return epoll_; }
  void arm(time_point deadline) noexcept override;

  // Never 0, never used again by another driver of the process.
  std::uint64_t id() const noexcept { return id_; }

  // Registers a source. If it is ready now, an event will say so. Returns 0, or an errno, negated.
  int add(io_source& source) noexcept;
  // Has events tell anew what a registered source is ready for. Returns 0, or an errno, negated.
  int refresh(io_source& source) noexcept;
  // For a file descriptor that stays open.
  void remove(io_source& source) noexcept;
  // For one that is about to be closed: that takes it out of epoll.
  void forget(io_source& source) noexcept;

  // How many transfers fibers have made since one waited.
  static constexpr unsigned transfer_budget = 64;
  unsigned transfers = 0;

private:
  int control(int operation, io_source& source) noexcept;
  int wait_for_events(epoll_event* events, int most, time_point deadline) noexcept;
  void tell(io_source& source, std::uint32_t events) noexcept;
  void drain(int descriptor) noexcept;

  std::uint64_t id_;
  std::size_t watched_ = 0;  // sources registered, and those that were closed outside of the runtime
  int epoll_ = -1;
  int event_ = -1;
  int timer_ = -1;
  time_point armed_ = never;  // what the timer is set to
  bool precise_ = true;       // epoll_pwait2 is there
};

inline epoll_driver& driver_of(worker& w) noexcept {
  return static_cast<epoll_driver&>(*w.driver);
}

}  // namespace sennit::detail
