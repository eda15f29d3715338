// What happens at the end of a thread.
//
// A thread_local object with a destructor would do this, too. But its registration (__cxa_thread_atexit)
// needs memory, and glibc ends the process if there is none.
#pragma once

#include <pthread.h>

#include <atomic>

namespace sennit::inline v0_1::detail {

class thread_end {
public:
  // A constinit object. `action` is called with the value that was given to arm(), after the destructors of
  // thread_local objects. It is not called for the thread that ends the process.
  constexpr explicit thread_end(void (*action)(void* value)) noexcept : action_(action) {}
  thread_end(const thread_end&) = delete;
  thread_end& operator=(const thread_end&) = delete;

  // For the calling thread. `value`: not null. Returns an errno, or 0.
  int arm(void* value) noexcept {
    pthread_key_t key = key_.load(std::memory_order_acquire);
    if (key == none) {
      pthread_key_t made;
      if (const int error = ::pthread_key_create(&made, action_); error != 0)
        return error;
      if (key_.compare_exchange_strong(key, made, std::memory_order_acq_rel))
        key = made;
      else  // another thread was quicker
        ::pthread_key_delete(made);
    }
    return ::pthread_setspecific(key, value);
  }

private:
  static constexpr pthread_key_t none = ~pthread_key_t{0};  // keys are less than PTHREAD_KEYS_MAX
  void (*action_)(void*);
  std::atomic<pthread_key_t> key_{none};
};

}  // namespace sennit::inline v0_1::detail
