// The fibers of sennit_runtime_run. Their handles belong to that call, so they must not be detached.
#pragma once

#include <cstdint>

#include "sennit/detail/sched/fiber.hpp"

namespace sennit::inline v0_1::capi {

// In the frame of sennit_runtime_run.
class main_fiber {
public:
  main_fiber() noexcept;
  main_fiber(const main_fiber&) = delete;
  main_fiber& operator=(const main_fiber&) = delete;
  ~main_fiber();
  // The calling fiber is the one. (By its number: when it has been joined, its descriptor may be another's.)
  void begins() noexcept;
  static bool is(detail::fiber& f) noexcept;

private:
  main_fiber* next_;
  main_fiber** at_;
  std::uint64_t id_ = 0;
};

}  // namespace sennit::inline v0_1::capi
