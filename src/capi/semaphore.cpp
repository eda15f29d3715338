// Semaphores.
#include <cstddef>
#include <cstdint>

#include "become.hpp"
#include "error.hpp"
#include "kind.hpp"
#include "sennit/counting_semaphore.hpp"
#include "sennit/local/counting_semaphore.hpp"
#include "word_access.hpp"

using namespace sennit;
using capi::create;
using capi::time_of;
using capi::user;

struct sennit_semaphore {
  sennit_semaphore(bool shared, std::size_t permits) : front{nullptr, shared}, semaphore(shared, permits) {
    front.word = semaphore.with([](auto& one) { return detail::word_access::word_of(one); });
  }
  sennit_semaphore_front front;
  capi::kinds<local::counting_semaphore, counting_semaphore> semaphore;
  std::size_t users = 0;  // of a local one
};

static int create_semaphore(sennit_semaphore** result, bool shared, size_t permits) {
  return permits > counting_semaphore::max() ? -EINVAL : create(result, shared, permits);
}

int sennit_semaphore_create(sennit_semaphore** result, size_t permits) {
  return create_semaphore(result, false, permits);
}

int sennit_semaphore_create_shared(sennit_semaphore** result, size_t permits) {
  return create_semaphore(result, true, permits);
}

int sennit_semaphore_destroy(sennit_semaphore* semaphore) {
  if (semaphore != nullptr && semaphore->users != 0)
    return -EBUSY;
  delete semaphore;
  return 0;
}

// The names of two functions are also macros, for the inline forms.
int(sennit_semaphore_acquire)(sennit_semaphore* semaphore) {
  return sennit_semaphore_acquire_until(semaphore, SENNIT_NEVER);
}

int sennit_semaphore_tryacquire(sennit_semaphore* semaphore) {
  if (semaphore == nullptr || !semaphore->semaphore.may_use())
    return -EINVAL;
  return semaphore->semaphore.with([](auto& one) { return one.try_acquire(); }) ? 0 : -EAGAIN;
}

int sennit_semaphore_acquire_until(sennit_semaphore* semaphore, int64_t deadline) {
  if (semaphore == nullptr || !semaphore->semaphore.may_wait())
    return -EINVAL;
  if (semaphore->semaphore.is_shared())
    return semaphore->semaphore.shared().try_acquire_until(time_of(deadline)) ? 0 : -ETIMEDOUT;
  const user here(semaphore->users);
  return semaphore->semaphore.local().try_acquire_until(time_of(deadline)) ? 0 : -ETIMEDOUT;
}

int sennit_semaphore_become_acquiring(sennit_semaphore* semaphore, sennit_result_function function,
                                      const void* state, size_t size, int64_t deadline) {
  if (semaphore == nullptr || !semaphore->semaphore.may_become())
    return -EINVAL;
  return semaphore->semaphore.with([&, frame = __builtin_dwarf_cfa()](auto& one) {
    return capi::become_with_result("sennit_semaphore_become_acquiring", frame, one.acquiring(), function,
                                    state, size, deadline);
  });
}

int(sennit_semaphore_release)(sennit_semaphore* semaphore, size_t permits) {
  if (semaphore == nullptr || !semaphore->semaphore.may_use() || permits > SIZE_MAX / 8)
    return -EINVAL;
  semaphore->semaphore.with([permits](auto& one) { one.release(permits); });
  return 0;
}
