// Annotations for clang's thread-safety analysis, which the clang presets turn on: data that a lock guards
// must not be touched without it. Other compilers see nothing of them.
//
// The standard library's locks and guards have no annotations here (libstdc++). So the analysis knows
// spin_lock and lock_holder.
#pragma once

#if defined(__clang__)
#define SENNIT_THREAD_SAFETY(...) __attribute__((__VA_ARGS__))
#else
#define SENNIT_THREAD_SAFETY(...)
#endif

#define SENNIT_GUARDED_BY(lock) SENNIT_THREAD_SAFETY(guarded_by(lock))
#define SENNIT_REQUIRES(lock) SENNIT_THREAD_SAFETY(requires_capability(lock))
// For functions that return with a lock, or release their caller's: a waiter releases it where it waits.
#define SENNIT_NOT_ANALYZED SENNIT_THREAD_SAFETY(no_thread_safety_analysis)

namespace sennit::inline v0_1::detail {

// Like std::lock_guard, and known to the analysis.
template <class Lock>
class SENNIT_THREAD_SAFETY(scoped_lockable) lock_holder {
public:
  explicit lock_holder(Lock& lock) SENNIT_THREAD_SAFETY(acquire_capability(lock)) : lock_(lock) {
    lock_.lock();
  }
  ~lock_holder() SENNIT_THREAD_SAFETY(release_capability()) { lock_.unlock(); }
  lock_holder(const lock_holder&) = delete;
  lock_holder& operator=(const lock_holder&) = delete;

private:
  Lock& lock_;
};

}  // namespace sennit::inline v0_1::detail
