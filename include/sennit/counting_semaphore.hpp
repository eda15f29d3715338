// sennit::counting_semaphore: permits that fibers and OS threads take and give back.
// room: sync
//
//   sennit::counting_semaphore connections(100);
//   connections.acquire();
//   ...
//   connections.release();
#pragma once

#include "sennit/detail/sync/basic_counting_semaphore.hpp"
#include "sennit/detail/sync/wait_queue.hpp"

namespace sennit {

// As std::counting_semaphore. Who waits is served in order; a permit that is given back goes to the one who
// has waited longest.
//
//   counting_semaphore(permits)
//                        `permits`: how many there are in the beginning; at most max(), which is static.
//   acquire()            waits for a permit, and takes it.
//   try_acquire()        takes one if there is one, and returns true; does not wait.
//   try_acquire_until(deadline), try_acquire_for(time)
//                        false: that (steady clock) has passed first.
//   release(count = 1)   gives back so many, or adds them: who calls it need not have taken any. More than
//                        max() in all is a misuse.
//   acquiring(), acquiring_until(deadline)
//                        acquire() and try_acquire_until() without a stack, for become(), whose function gets
//                        the latter's result.
//
//   threads  Any, and fibers of any runtime. (A fiber of a local runtime blocks its thread.)
//   errors   A wait throws sennit::cancelled where a stop is requested (stop_guard.hpp), and has no permit.
//   misuse   To destroy it while somebody waits.
//
// Source: Dolan 2013, section 5.1 (a queue of paused fibers and a small number of states).
class counting_semaphore : public detail::basic_counting_semaphore<detail::wait_queue> {
public:
  using basic_counting_semaphore::basic_counting_semaphore;
};

using binary_semaphore = counting_semaphore;

}  // namespace sennit
