// The driver of the io room: epoll.
#pragma once

#include "sennit/detail/sched/driver.hpp"
#include "sennit/detail/sched/worker.hpp"

namespace sennit::detail {

// A descriptor that fibers wait for. Registered once, edge-triggered: `readable` and `writable` say that the
// last event has not been used up, i.e. that an attempt is worthwhile.
struct io_source {
  int descriptor = -1;
  bool registered = false;
  bool readable = true;
  bool writable = true;
  fiber* reader = nullptr;
  fiber* writer = nullptr;
};

class epoll_driver final : public driver {
public:
  explicit epoll_driver(worker& owner);
  ~epoll_driver() override;

  void wait(time_point deadline) noexcept override;
  void wake() noexcept override;
  bool watching() const noexcept override { return sources_ != 0; }
  int descriptor() const noexcept override { return epoll_; }
  void arm(time_point deadline) noexcept override;

  // Throws std::system_error.
  void add(io_source& source);
  void remove(io_source& source) noexcept;

private:
  worker& owner_;
  int epoll_ = -1;
  int event_ = -1;
  int timer_ = -1;
  std::size_t sources_ = 0;  // registered
};

}  // namespace sennit::detail
