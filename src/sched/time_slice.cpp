// The thread of time slices.
#include "sennit/detail/sched/time_slice.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <system_error>

#include "sennit/detail/sched/parallel.hpp"

namespace sennit::detail {

namespace {

constexpr clock::duration shortest = std::chrono::microseconds(100);

// From outside, and so perhaps wrong: then a fiber yields in vain, or a slice later.
SENNIT_UNSANITIZED bool others_could_run(const worker& w) noexcept {
  if (w.shared == nullptr)
    return w.ready.seems_to_have_others() ||
           (look(w.ready.current) != nullptr &&
            (!w.inbox.empty() || !w.deadlines.empty() || w.driver->watching()));
  const auto& parallel = static_cast<const parallel_worker&>(w);
  return look(w.ready.current) != nullptr &&
         (parallel.ring.owned() != 0 || parallel.ring.slot_taken() || !parallel.arrivals.empty() ||
          parallel.runtime.any_injected.load(std::memory_order_relaxed) ||
          parallel.timers.earliest() != never || w.driver->watching());
}

}  // namespace

// Never destroyed, for its thread may outlive static objects. A forked child has no such thread, and gets
// another one of these.
struct time_slices {
  const unsigned process = process_generation();
  std::mutex lock;
  std::condition_variable changed;
  time_slice* first = nullptr;
  bool has_thread = false;

  static time_slices& only() {
    static std::atomic<time_slices*> all{new time_slices};
    time_slices* mine = all.load(std::memory_order_acquire);
    if (mine->process != process_generation()) [[unlikely]] {  // a child has one thread
      mine = new time_slices;
      all.store(mine, std::memory_order_release);
    }
    return *mine;
  }

  [[noreturn]] void serve() {
    std::unique_lock held(lock);
    for (;;) {
      time_point next = never;
      const time_point now = clock::now();
      for (time_slice* each = first; each != nullptr; each = each->next_) {
        if (each->due_ <= now) {
          each->due_ = now + each->length_;
          if (others_could_run(*each->of_))
            __atomic_store_n(each->requested_, 1, __ATOMIC_RELAXED);
        }
        next = std::min(next, each->due_);
      }
      if (next == never)
        changed.wait(held);
      else
        changed.wait_until(held, next);
    }
  }
};

namespace {

extern "C" void* sennit_time_slice_thread(void* argument) {
  static_cast<time_slices*>(argument)->serve();
}

}  // namespace

void time_slice::set_length(clock::duration wanted) {
  if (wanted <= clock::duration::zero())
    return;
  time_slices& all = time_slices::only();
  const std::lock_guard hold(all.lock);
  if (!all.has_thread) {
    sigset_t every;
    sigset_t former;
    ::sigfillset(&every);
    ::pthread_sigmask(SIG_SETMASK, &every, &former);
    pthread_t thread;
    const int error = ::pthread_create(&thread, nullptr, sennit_time_slice_thread, &all);
    ::pthread_sigmask(SIG_SETMASK, &former, nullptr);
    if (error != 0)
      throw std::system_error(error, std::generic_category(), "sennit: no thread for time slices");
    ::pthread_setname_np(thread, "sennit/slices");
    ::pthread_detach(thread);
    all.has_thread = true;
  }
  length_ = std::max(wanted, shortest);
}

void time_slice::enlist(const worker& of) noexcept {
  time_slices& all = time_slices::only();
  const std::lock_guard hold(all.lock);
  of_ = &of;
  requested_ = &sennit_yield_requested;
  due_ = clock::now() + length_;
  previous_ = nullptr;
  next_ = all.first;
  if (next_ != nullptr)
    next_->previous_ = this;
  all.first = this;
  all.changed.notify_one();
}

void time_slice::withdraw() noexcept {
  time_slices& all = time_slices::only();
  const std::lock_guard hold(all.lock);
  if (next_ != nullptr)
    next_->previous_ = previous_;
  (previous_ != nullptr ? previous_->next_ : all.first) = next_;
  sennit_yield_requested = 0;
}

}  // namespace sennit::detail
