// Cleanups of frames that are discarded. Destructors in such a frame do not run, but other fibers wait for
// what the frame owes them.
#pragma once

#include <utility>

namespace sennit::inline v0_1::detail {

// Lies in a frame on the running fiber's own stack, or on one lent to it, until it is destroyed there.
// Cleanups nest. Elsewhere (an OS thread, a generator) frames are never discarded, and it does nothing.
class frame_cleanup {
public:
  // `run` must not block, nor destroy anything that the frame's user has made: that may be what faulted.
  explicit frame_cleanup(void (*run)(frame_cleanup&) noexcept) noexcept;
  // For callers that know the running fiber's list; null elsewhere.
  frame_cleanup(void (*run)(frame_cleanup&) noexcept, frame_cleanup** list) noexcept : run_(run), of_(list) {
    if (of_ != nullptr)
      outer_ = std::exchange(*of_, this);
  }
  ~frame_cleanup() {
    if (of_ != nullptr)
      *of_ = outer_;
  }
  frame_cleanup(const frame_cleanup&) = delete;
  frame_cleanup& operator=(const frame_cleanup&) = delete;

private:
  friend void give_up_frames_below(const void* high) noexcept;
  friend void give_up_all_frames() noexcept;
  static void give_up(frame_cleanup*& first, const void* low, const void* high) noexcept;
  void (*const run_)(frame_cleanup&) noexcept;
  frame_cleanup** of_ = nullptr;  // the fiber's list
  frame_cleanup* outer_ = nullptr;
};

// Discards the frames of the running fiber that were called from `high`, an address on its stack or on one
// lent to it. Runs their cleanups, and ends their guards and shields.
void give_up_frames_below(const void* high) noexcept;
void give_up_all_frames() noexcept;

}  // namespace sennit::inline v0_1::detail
