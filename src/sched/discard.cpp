// The end of a fiber in the middle of its function, without unwinding.
#include <cstdlib>

#include "sennit/detail/sched/parallel.hpp"
#include "sennit/detail/sched/stop.hpp"

namespace sennit::detail {

void fiber_discard() noexcept {
  if constexpr (!direct_entry)
    std::abort();  // nobody asks for it there
  worker& w = running_worker();
  fiber& self = *w.ready.current;
  coroutine_frame& frame = *self.frame;
  // Its round as of one that is not to begin, or whose continuation has gone: that ends it without running
  // it.
  self.flags.told = telling::due;
  self.flags.unusual = true;
  stop_link::give_up(nullptr, reinterpret_cast<const void*>(~std::uintptr_t{0}));
  frame.record.memory.size = 0;  // like no other fiber's: it is not kept, and frame_drop leaves it
  frame.record.hook = nullptr;
  *sennit_thread_self()->exceptions = {};  // whatever was being handled there
  const sennit_decision next = frame.round(&frame);
  sennit_leave(next.target, next.value);
}

}  // namespace sennit::detail
