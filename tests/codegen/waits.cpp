// What blocks without a deadline, in both kinds of runtime: each switches in its user's own code.
#include <mutex>

#include "sennit/barrier.hpp"
#include "sennit/channel.hpp"
#include "sennit/condition_variable.hpp"
#include "sennit/counting_semaphore.hpp"
#include "sennit/event.hpp"
#include "sennit/fiber.hpp"
#include "sennit/future.hpp"
#include "sennit/local/barrier.hpp"
#include "sennit/local/channel.hpp"
#include "sennit/local/condition_variable.hpp"
#include "sennit/local/counting_semaphore.hpp"
#include "sennit/local/event.hpp"
#include "sennit/local/fiber.hpp"
#include "sennit/local/future.hpp"
#include "sennit/local/wait_group.hpp"
#include "sennit/mutex.hpp"
#include "sennit/wait_group.hpp"

#define WAITS(kind, name)                                                                              \
  void name##_parks() {                                                                                \
    kind::this_fiber::park();                                                                          \
  }                                                                                                    \
  void name##_joins(kind::fiber& of) {                                                                 \
    of.join();                                                                                         \
  }                                                                                                    \
  void name##_acquires(kind::counting_semaphore& of) {                                                 \
    of.acquire();                                                                                      \
  }                                                                                                    \
  void name##_waits_for_event(kind::event& of) {                                                       \
    of.wait();                                                                                         \
  }                                                                                                    \
  void name##_waits_for_group(kind::wait_group& of) {                                                  \
    of.wait();                                                                                         \
  }                                                                                                    \
  void name##_arrives(kind::barrier<>& of) {                                                           \
    of.arrive_and_wait();                                                                              \
  }                                                                                                    \
  void name##_waits_for_future(kind::future<int>& of) {                                                \
    of.wait();                                                                                         \
  }                                                                                                    \
  bool name##_sends(kind::channel<long>& to, long value) {                                             \
    return to.send(value);                                                                             \
  }                                                                                                    \
  long name##_receives(kind::channel<long>& from) {                                                    \
    return *from.receive();                                                                            \
  }                                                                                                    \
  void name##_waits_for_condition(kind::condition_variable& of, std::unique_lock<kind::mutex>& lock) { \
    of.wait(lock);                                                                                     \
  }

WAITS(sennit, parallel)
WAITS(sennit::local, local)

// Not so: a mutex, which is seldom waited for, would take all registers from a loop that locks.
void parallel_locks(sennit::mutex& of) {
  of.lock();
}
void local_locks(sennit::local::mutex& of) {
  of.lock();
}
