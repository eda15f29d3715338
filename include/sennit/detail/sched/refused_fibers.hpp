// A worker's fibers that are to begin, or to resume without a stack, and for which there is no memory for
// one. One of them tries again every millisecond. When it gets a stack, so may the next one, at once. After a
// second in which no other fiber could have freed a stack, those that begin fail, one after another. One that
// resumes then ends the program.
//
// A fiber is refused by being entered: the fiber before it leaves by a switch, and must be able to go
// anywhere. Each worker keeps one stack in reserve for that. A fiber that fails is destroyed on that stack.
#pragma once

#include "sennit/detail/sched/fiber.hpp"
#include "sennit/detail/timer/chrono.hpp"
#include "sennit/detail/timer/clock.hpp"

struct sennit_worker;

namespace sennit::inline v0_1::detail {

struct refused_fibers {
  static constexpr std::chrono::milliseconds pause{1};
  static constinit inline unsigned most_tries = 1000;  // tests make it small

  coroutine_frame* reserve = nullptr;
  fiber_chain all;
  time_point next_try = never;  // if there are any
  unsigned tries = 0;           // in vain, since another fiber could have freed a stack
};

// Makes one of them ready, if it is time.
void retry_refused(sennit_worker& w) noexcept;

}  // namespace sennit::inline v0_1::detail
