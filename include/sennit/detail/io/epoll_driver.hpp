// The I/O driver: epoll, edge-triggered.
#pragma once

#include <atomic>
#include <cstdint>

#include "sennit/detail/io/source.hpp"
#include "sennit/detail/sched/driver.hpp"
#include "sennit/detail/sched/worker.hpp"

struct epoll_event;

namespace sennit::detail {

class epoll_driver final : public driver {
public:
  // Throws std::system_error.
  explicit epoll_driver(sennit_worker& owner);
  ~epoll_driver() override;

  // Takes at most 256 events; the kernel keeps the rest in order, so none starves.
  bool wait(time_point deadline) noexcept override;
  bool watching() const noexcept override { return watched_.load(std::memory_order_relaxed) != 0; }
  void serve() noexcept override;
  void wake() noexcept override;
  int descriptor() const noexcept override { return epoll_; }
  void arm(time_point deadline) noexcept override;

  // Never 0, never used again by another driver of the process.
  std::uint64_t id() const noexcept { return id_; }

  // For a fiber of the owner, which is going to wait: registers a source here, unless it is with another
  // worker of the runtime and not often waited for on this one. If it is ready now, an event will say so.
  // Returns 0, or an errno, negated.
  int watch(io_source& source) noexcept;
  // Like add(), and makes epoll report again what the source is ready for.
  int refresh(io_source& source) noexcept;
  // For a source that is closed, wherever in the runtime it is registered. `stays_open`: its file descriptor.
  void forget(io_source& source, bool stays_open) noexcept;

  // How many transfers fibers have made since one waited.
  static constexpr unsigned transfer_budget = 64;
  unsigned transfers = 0;

private:
  int control(int operation, io_source& source) noexcept;
  int add(io_source& source, std::uint64_t registered) noexcept;
  int add_copy(io_source& source) noexcept;
  int add_again(io_source& source, std::uint64_t registered) noexcept;
  int wait_for_events(epoll_event* events, int most, time_point deadline) noexcept;
  void tell(io_source& source, std::uint32_t events) noexcept;
  void drain(int descriptor) noexcept;
  // The driver of the runtime that has this number, or null.
  epoll_driver* with_id(std::uint64_t id) noexcept;

  std::uint64_t id_;
  sennit_worker& owner_;
  // Sources registered, and those that were closed outside of the runtime.
  std::atomic<std::size_t> watched_{0};
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
