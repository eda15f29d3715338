// What is done for a frame though the frame is discarded: nobody destroys what lies in it, but others wait
// for what it owes them.
#pragma once

#include <utility>

namespace sennit::detail {

// Lies in a frame on the running fiber's own stack, or one that is lent to it, until its destruction there;
// nested. Elsewhere (an OS thread, a generator), where frames are not discarded so, it does nothing.
class frame_cleanup {
public:
  // `run`: must not block, nor destroy what the frame's user has made: that may be what faulted.
  explicit frame_cleanup(void (*run)(frame_cleanup&) noexcept) noexcept;
  // For callers that know the list of the running fiber; null: elsewhere.
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
// that is lent to it: runs their cleanups, and ends their guards and shields.
void give_up_frames_below(const void* high) noexcept;
void give_up_all_frames() noexcept;

}  // namespace sennit::detail
