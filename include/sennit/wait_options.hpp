// sennit::wait_options: how an object treats those who wait for it.
// room: sync
#pragma once

#include <cstdint>

#include "sennit/detail/arch/exceptions.hpp"

namespace sennit {

// Who is woken first.
enum class wait_order : std::uint8_t {
  fifo,   // who has waited longest
  recent  // who came last: what it uses is likely to be in the cache; others may wait for long
};

// What waking is.
enum class wake_policy : std::uint8_t {
  queue,  // the woken fiber is made ready; the waker goes on
  enter   // the waker gives way to it
};

// Whom a mutex is given to when it is unlocked.
enum class fairness : std::uint8_t {
  barging,  // the first that comes. One that locks the mutex again and again can starve those that wait
  fair      // the one that has waited longest. None can be overtaken, but each hand-over waits for a switch
};

struct wait_options {
  wait_order order = wait_order::fifo;
  wake_policy wake = wake_policy::queue;
  sennit::fairness fairness = sennit::fairness::barging;
};

}  // namespace sennit
