// The I/O driver: epoll, edge-triggered.
#pragma once

#include <cstdint>

#include "sennit/detail/io/source.hpp"
#include "sennit/detail/sched/driver.hpp"
#include "sennit/detail/sched/worker.hpp"

struct epoll_event;

namespace sennit::inline v0_1::detail {

class epoll_driver final : public driver {
public:
  // Throws std::system_error.
  explicit epoll_driver(sennit_worker& owner);
  ~epoll_driver() override;

  // Takes at most 256 events; the kernel keeps the rest in order, so none starves.
  bool wait(time_point deadline) noexcept override;
  void serve() noexcept override;
  void wake() noexcept override;
  // A source stays with another worker's driver until it was often waited for on this worker.
  int watch(io_source& source) noexcept override;
  int watch_again(io_source& source) noexcept override;
  void unwatch(io_source& source, bool stays_open) noexcept override;
  void arm(time_point deadline) noexcept override;

private:
  int control(int operation, io_source& source) noexcept;
  int add(io_source& source, std::uint64_t registered) noexcept;
  int add_copy(io_source& source) noexcept;
  int add_again(io_source& source, std::uint64_t registered) noexcept;
  int wait_for_events(epoll_event* events, int most, time_point deadline) noexcept;
  void notify(io_source& source, std::uint32_t events) noexcept;
  void drain(int descriptor) noexcept;
  // The driver of the runtime that has this number, or null.
  driver* with_id(std::uint64_t id) noexcept;

  sennit_worker& owner_;
  int event_ = -1;
  int timer_ = -1;
  time_point armed_ = never;  // what the timer is set to
  bool precise_ = true;       // epoll_pwait2 is there
};

}  // namespace sennit::inline v0_1::detail
