// What is done for a frame though the frame is discarded: nobody destroys what lies in it, but others wait
// for what it owes them.
#pragma once

namespace sennit::detail {

// Lies in a frame on the running fiber's own stack, until its destruction there; nested. Elsewhere (an OS
// thread, a generator), where frames are not discarded so, it does nothing.
class frame_cleanup {
public:
  // `run`: must not block, nor destroy what the frame's user has made: that may be what faulted.
  explicit frame_cleanup(void (*run)(frame_cleanup&) noexcept) noexcept;
  ~frame_cleanup();
  frame_cleanup(const frame_cleanup&) = delete;
  frame_cleanup& operator=(const frame_cleanup&) = delete;

private:
  friend void give_up_frames(const void* low, const void* high) noexcept;
  void (*const run_)(frame_cleanup&) noexcept;
  frame_cleanup** of_ = nullptr;  // the fiber's list
  frame_cleanup* outer_ = nullptr;
};

// The running fiber's frames that lie there are discarded: runs their cleanups, and ends guards and shields.
void give_up_frames(const void* low, const void* high) noexcept;

}  // namespace sennit::detail
