// The thread of time slices.
#include "sennit/detail/sched/time_slice.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <system_error>

#include "sennit/detail/fault/poll_page.hpp"
#include "sennit/detail/sched/worker.hpp"
#include "system/service_thread.hpp"

// `used`: checks refer to it where the compiler does not see it.
extern "C" {
[[gnu::used]] __thread unsigned char sennit_yield_requested = 0;
}

namespace sennit::inline v0_1::detail {

namespace {

constexpr clock::duration shortest = std::chrono::microseconds(100);
constexpr clock::duration longest = std::chrono::hours(24 * 365);

}  // namespace

void request_yield(unsigned char& flag, void* page) noexcept {
  __atomic_store_n(&flag, 1, __ATOMIC_RELAXED);
  if (page != nullptr)
    poll_page_close(page);
}

void forget_requested_yield() noexcept {
  __atomic_store_n(&sennit_yield_requested, 0, __ATOMIC_RELAXED);
  if (void* const page = poll_page_of_thread(); page != nullptr)
    poll_page_open(page);
}

struct time_slices : of_process {
  std::mutex lock;
  std::condition_variable changed;
  time_slice* first = nullptr;
  bool has_thread = false;
  std::atomic<std::uint64_t> looks{0};
  std::atomic<time_point> wakes{time_point::min()};  // when the thread looks next; only the thread writes it

  static time_slices& only() { return of_this_process<time_slices>(); }

  // Sets the flags that are due. A wrong guess makes a fiber yield in vain, or a slice later. Returns when to
  // look again.
  time_point look_at_all() noexcept {
    time_point next = never;
    const time_point now = clock::now();
    for (time_slice* each = first; each != nullptr; each = each->next_) {
      if (each->rests_.load(std::memory_order_seq_cst)) {
        each->due_ = never;
        continue;
      }
      if (each->due_ <= now) {
        if (each->of_->operations.seems_to_have_others(*each->of_))
          request_yield(*each->requested_, each->page_);
        looks.fetch_add(1, std::memory_order_relaxed);
      }
      if (each->due_ <= now || each->due_ == never)
        each->due_ = now + each->length_;
      next = std::min(next, each->due_);
    }
    return next;
  }

  // Returns whether a worker that was seen resting has continued: it may not have seen the thread sleep.
  bool any_goes_on() const noexcept {
    for (const time_slice* each = first; each != nullptr; each = each->next_)
      if (each->due_ == never && !each->rests_.load(std::memory_order_seq_cst))
        return true;
    return false;
  }

  [[noreturn]] void serve() {
    std::unique_lock held(lock);
    for (;;) {
      const time_point next = look_at_all();
      wakes.store(next, std::memory_order_seq_cst);
      if (any_goes_on())
        continue;
      if (next == never)
        changed.wait(held);
      else
        changed.wait_until(held, next);
      wakes.store(time_point::min(), std::memory_order_relaxed);
    }
  }
};

namespace {

// Runs above the workers if those are real-time threads. Otherwise it would never run on a CPU that one of
// them uses.
void go_before_workers() noexcept {
  int policy = 0;
  sched_param wanted{};
  if (::pthread_getschedparam(::pthread_self(), &policy, &wanted) == 0 &&
      (policy == SCHED_FIFO || policy == SCHED_RR) &&
      wanted.sched_priority < ::sched_get_priority_max(policy)) {
    ++wanted.sched_priority;
    ::pthread_setschedparam(::pthread_self(), policy, &wanted);
  }
}

extern "C" void* sennit_time_slice_thread(void* argument) {
  go_before_workers();
  static_cast<time_slices*>(argument)->serve();
}

}  // namespace

void time_slice::set_length(clock::duration wanted) {
  if (wanted < clock::duration::zero())
    throw std::system_error(EINVAL, std::generic_category(),
                            "sennit: a time slice is 0 ns, for none, or longer, not " +
                                std::to_string(wanted / std::chrono::nanoseconds(1)) + " ns");
  if (wanted == clock::duration::zero())
    return;
  time_slices& all = time_slices::only();
  const std::lock_guard hold(all.lock);
  if (!all.has_thread) {
    if (const int error = start_service_thread("sennit/slices", sennit_time_slice_thread, &all); error != 0)
      throw std::system_error(error, std::generic_category(), "sennit: no thread for time slices");
    all.has_thread = true;
  }
  length_ = std::clamp(wanted, shortest, longest);
}

void time_slice::enlist(const worker& of) noexcept {
  time_slices& all = time_slices::only();
  const std::lock_guard hold(all.lock);
  of_ = &of;
  requested_ = &sennit_yield_requested;
  page_ = poll_page_of_thread();
  due_ = clock::now() + length_;
  rests_.store(false, std::memory_order_relaxed);
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
  forget_requested_yield();
}

// If the worker was seen resting, the thread must be woken. Otherwise the thread looks within a slice.
void time_slice::resume() noexcept {
  rests_.store(false, std::memory_order_seq_cst);
  time_slices& all = time_slices::only();
  if (all.wakes.load(std::memory_order_seq_cst) <= clock::now() + length_)
    return;
  const std::lock_guard hold(all.lock);
  all.changed.notify_one();
}

time_slice_looks see_time_slices() noexcept {
  const time_slices& all = time_slices::only();
  return {all.looks.load(std::memory_order_relaxed), all.wakes.load(std::memory_order_relaxed) == never};
}

}  // namespace sennit::inline v0_1::detail
