// Mutexes and conditions.
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <type_traits>
#include <utility>

#include "become.hpp"
#include "begin_wait.hpp"
#include "error.hpp"
#include "kind.hpp"
#include "sennit/condition_variable.hpp"
#include "sennit/local/condition_variable.hpp"
#include "sennit/local/mutex.hpp"
#include "sennit/mutex.hpp"
#include "word_access.hpp"

using namespace sennit;
using capi::create;
using capi::guarded;
using capi::time_of;
using capi::user;

struct sennit_mutex {
  explicit sennit_mutex(bool shared) : mutex(shared) { capi::should_fit(*this, mutex); }
  std::size_t users = 0;  // of a local one
  capi::lock_kinds<local::mutex, sennit::mutex> mutex;

  bool try_lock() {
    return mutex.with([](auto& one) { return one.try_lock(); });
  }
  void unlock() {
    mutex.with([](auto& one) { one.unlock(); });
  }
  bool locked() {
    return mutex.with([](auto& one) { return detail::word_access::is_locked(one); });
  }
};

int sennit_mutex_create(sennit_mutex** result) {
  return create(result, false);
}

int sennit_mutex_create_shared(sennit_mutex** result) {
  return create(result, true);
}

int sennit_mutex_destroy(sennit_mutex* mutex) {
  if (mutex != nullptr && (mutex->users != 0 || mutex->locked()))
    return -EBUSY;
  delete mutex;
  return 0;
}

// The names of two functions are also macros, for the inline lock.
int(sennit_mutex_lock)(sennit_mutex* mutex) {
  if (mutex == nullptr || !mutex->mutex.may_use())
    return -EINVAL;
  if (mutex->try_lock())
    return 0;
  return sennit_mutex_lock_until(mutex, SENNIT_NEVER);
}

int sennit_mutex_trylock(sennit_mutex* mutex) {
  if (mutex == nullptr || !mutex->mutex.may_use())
    return -EINVAL;
  return mutex->try_lock() ? 0 : -EAGAIN;
}

int sennit_mutex_lock_until(sennit_mutex* mutex, int64_t deadline) {
  if (mutex == nullptr || !mutex->mutex.may_wait())
    return -EINVAL;
  if (mutex->mutex.is_shared())
    return mutex->mutex.shared().try_lock_until(time_of(deadline)) ? 0 : -ETIMEDOUT;
  const user here(mutex->users);
  return mutex->mutex.local().try_lock_until(time_of(deadline)) ? 0 : -ETIMEDOUT;
}

int sennit_mutex_become_locking(sennit_mutex* mutex, sennit_result_function function, const void* state,
                                size_t size, int64_t deadline) {
  if (mutex == nullptr || !mutex->mutex.may_become())
    return -EINVAL;
  return mutex->mutex.with([&, frame = __builtin_dwarf_cfa()](auto& one) {
    return capi::become_with_result("sennit_mutex_become_locking", frame, one.locking(), function, state,
                                    size, deadline);
  });
}

int(sennit_mutex_unlock)(sennit_mutex* mutex) {
  if (mutex == nullptr || !mutex->mutex.may_use() || !mutex->locked())
    return -EINVAL;
  mutex->unlock();
  return 0;
}

struct sennit_condition {
  explicit sennit_condition(bool shared) : condition(shared) { capi::should_fit(*this, condition); }
  std::size_t users = 0;  // of a local one
  capi::lock_kinds<local::condition_variable, condition_variable> condition;

  bool fits(sennit_mutex& mutex) {
    return condition.may_wait() && condition.is_shared() == mutex.mutex.is_shared() && mutex.locked();
  }
};

int sennit_condition_create(sennit_condition** result) {
  return create(result, false);
}

int sennit_condition_create_shared(sennit_condition** result) {
  return create(result, true);
}

int sennit_condition_destroy(sennit_condition* condition) {
  if (condition != nullptr && condition->users != 0)
    return -EBUSY;
  delete condition;
  return 0;
}

// Its name is also a macro, for the inline switch.
int(sennit_condition_wait)(sennit_condition* condition, sennit_mutex* mutex) {
  return sennit_condition_wait_until(condition, mutex, SENNIT_NEVER);
}

namespace {

// The caller's lock: held again at the end, however that comes.
template <class Mutex>
struct lent_lock {
  explicit lent_lock(Mutex& mutex) : lock(mutex, std::adopt_lock) {}
  lent_lock(const lent_lock&) = delete;
  lent_lock& operator=(const lent_lock&) = delete;
  ~lent_lock() { lock.release(); }
  std::unique_lock<Mutex> lock;
};

int code_of(std::cv_status status) noexcept {
  return status == std::cv_status::no_timeout ? 0 : -ETIMEDOUT;
}

}  // namespace

int sennit_condition_wait_until(sennit_condition* condition, sennit_mutex* mutex, int64_t deadline) {
  if (condition == nullptr || mutex == nullptr || !condition->fits(*mutex))
    return -EINVAL;
  if (condition->condition.is_shared()) {
    lent_lock lent(mutex->mutex.shared());
    return code_of(condition->condition.shared().wait_until(lent.lock, time_of(deadline)));
  }
  lent_lock lent(mutex->mutex.local());
  const user of_condition(condition->users);
  const user of_mutex(mutex->users);
  return code_of(condition->condition.local().wait_until(lent.lock, time_of(deadline)));
}

int sennit_condition_end_wait(sennit_mutex* mutex, uintptr_t word) {
  struct leaving {
    sennit_mutex& mutex;
    ~leaving() { --mutex.users; }
  } const after{*mutex};
  const detail::word_access::lock_again<local::mutex> again{mutex->mutex.local()};
  if (const detail::worker& here = *detail::this_worker(); here.unwinding) [[unlikely]]
    detail::throw_if_shutting_down(here, word);
  return 0;
}

namespace {

// As basic_condition_variable::wait(). Afterwards the mutex is locked again, also if an exception leaves the
// wait.
int begin_local_wait(sennit_condition& condition, sennit_mutex& mutex, sennit_wait& wait) {
  detail::worker& w = *detail::this_worker();
  auto& queue = detail::word_access::queue_of(condition.condition.local());
  detail::fiber& self = *w.ready.current;
  self.word = 0;
  typename std::remove_reference_t<decltype(queue)>::guard(queue).push(self);
  detail::word_access::unlock_behind(mutex.mutex.local());
  wait.objects[0] = &condition;
  wait.objects[1] = &mutex;
  ++condition.users;
  ++mutex.users;
  return capi::begin_park(w, detail::fiber_status::waiting, {"condition variable", &queue}, wait,
                          [](sennit_wait* of, uintptr_t word) {
                            --static_cast<sennit_condition*>(of->objects[0])->users;
                            detail::keep_errno(of->error);
                            return sennit_condition_end_wait(static_cast<sennit_mutex*>(of->objects[1]),
                                                             word);
                          });
}

int begin_shared_wait(sennit_condition& condition, sennit_mutex& mutex, detail::parallel_worker& w,
                      sennit_wait& wait) {
  auto& queue = detail::word_access::queue_of(condition.condition.shared());
  using queue_type = std::remove_reference_t<decltype(queue)>;
  struct place {
    bool leave(detail::waiter& me) const noexcept { return of->leave(me); }
    queue_type* of;
  };
  wait.objects[0] = &mutex.mutex.shared();
  return capi::begin_block(
      w, {"condition variable", &queue}, place{&queue},
      [of = &queue, held = &mutex.mutex.shared()](detail::fiber& self) {
        sennit::mutex* const behind = held;  // this lambda is on the waiter's stack
        typename queue_type::guard(*of).push(self);
        detail::word_access::unlock_behind(*behind);
        return true;
      },
      wait,
      [](sennit_wait* by, uintptr_t word) {
        const detail::word_access::lock_again<sennit::mutex> again{
            *static_cast<sennit::mutex*>(by->objects[0])};
        capi::block_ended(*by, word);
        return 0;
      });
}

}  // namespace

int sennit_condition_begin_wait(sennit_condition* condition, sennit_mutex* mutex, sennit_wait* wait) {
  if (condition == nullptr || mutex == nullptr || !condition->fits(*mutex)) [[unlikely]]
    return -EINVAL;
  if (condition->condition.is_shared()) {
    detail::parallel_worker* const w = detail::can_enqueue_directly(detail::never);
    if (w != nullptr && detail::direct_entry) [[likely]]
      return begin_shared_wait(*condition, *mutex, *w, *wait);
  } else if (capi::can_begin_wait() != nullptr) [[likely]] {
    return begin_local_wait(*condition, *mutex, *wait);
  }
  return sennit_condition_wait_until(condition, mutex, SENNIT_NEVER);
}

namespace {

// The lock stays held, and belongs to the function.
struct c_locked_continuation {
  sennit_result_function function;
  template <class State, class Mutex>
  void operator()(State& state, std::unique_lock<Mutex>&& lock) const {
    lock.release();
    function(state.bytes, 0);
  }
  template <class State, class Mutex>
  void operator()(State& state, std::pair<std::unique_lock<Mutex>, std::cv_status>&& result) const {
    result.first.release();
    function(state.bytes, code_of(result.second));
  }
};

template <class Condition, class Mutex>
int become_waiting(const void* frame, Condition& condition, Mutex& mutex, sennit_result_function function,
                   const void* state, size_t size, int64_t deadline) {
  return capi::become_until<c_locked_continuation>(
      "sennit_condition_become_waiting", frame, condition.waiting(std::unique_lock(mutex, std::adopt_lock)),
      function, state, size, deadline);
}

}  // namespace

int sennit_condition_become_waiting(sennit_condition* condition, sennit_mutex* mutex,
                                    sennit_result_function function, const void* state, size_t size,
                                    int64_t deadline) {
  if (condition == nullptr || mutex == nullptr || !condition->condition.may_become() ||
      !condition->fits(*mutex))
    return -EINVAL;
  const void* const frame = __builtin_dwarf_cfa();
  if (condition->condition.is_shared())
    return become_waiting(frame, condition->condition.shared(), mutex->mutex.shared(), function, state, size,
                          deadline);
  return become_waiting(frame, condition->condition.local(), mutex->mutex.local(), function, state, size,
                        deadline);
}

// Its name is also a macro.
int(sennit_condition_notify_one)(sennit_condition* condition) {
  if (condition == nullptr || !condition->condition.may_use())
    return -EINVAL;
  condition->condition.with([](auto& one) { one.notify_one(); });
  return 0;
}

int sennit_condition_notify_all(sennit_condition* condition) {
  if (condition == nullptr || !condition->condition.may_use())
    return -EINVAL;
  condition->condition.with([](auto& one) { one.notify_all(); });
  return 0;
}
