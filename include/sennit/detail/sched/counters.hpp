// Counters of how often fibers block, why, at which site, and with or without their stack. Builds with
// -DSENNIT_COUNTERS=ON count, and write the counters when the process exits, to the file that the environment
// variable SENNIT_COUNTERS names. In all other builds the calls compile to nothing.
//
// A site is a place in the code at which a fiber leaves its stack: in the library, or where its code is
// inlined. The site of a stackless fiber is a combination of wait, function and state.
//
// Each thread counts for its worker. When the thread ends, its counters are added to the process's sums. A
// stack is in use if a fiber has begun on it, whether that fiber is queued, running or parked. Stacks that
// are kept for reuse do not count. A worker that waits for events sleeps, however short the wait is.
//
// Source: Draves et al. 1991, sections 2.7, 3.2 and 3.4 (Tables 1 and 2, stacks in use).
#pragma once

#include <cstdint>

namespace sennit::inline v0_1::detail {

struct fiber;

#if defined(SENNIT_COUNTERS)

inline constexpr bool counting = true;

// The call's own address becomes the site of the calling thread's next block with a stack.
void count_site() noexcept;
// The running fiber blocks or yields. `reason` lives as long as the process. `code`: the site of a stackless
// fiber; otherwise null.
void count_block(const char* reason, const void* code = nullptr) noexcept;
// Sets whether the calling thread's next yield is a forced one, which has a reason of its own.
void count_forced(bool yield) noexcept;
// A fiber continues on the stack that another fiber has just given up.
void count_handoff() noexcept;
// A fiber has given up its stack to wait, and its worker has no other fiber that is ready.
void count_nothing_ready() noexcept;
// A fiber gives up its stack to wait, and the worker polls for external events before it runs another.
void count_poll_due() noexcept;
// A fiber continues without the stack on which it blocked.
void count_call() noexcept;
// The waker has performed the step for which `waiting` waits: passed it the value, or taken the one that it
// offered. Called before `waiting` is made ready. Null: there is no waiting fiber.
void count_recognition(const fiber* waiting) noexcept;
// Adds `change` to the number of stacks in use.
void count_stacks(int change) noexcept;
// The calling thread's worker sleeps while this lives.
class counted_sleep {
public:
  counted_sleep() noexcept;
  ~counted_sleep();
  counted_sleep(const counted_sleep&) = delete;
  counted_sleep& operator=(const counted_sleep&) = delete;

private:
  std::int64_t began_;  // nanoseconds
};

#else

inline constexpr bool counting = false;
inline void count_site() noexcept {}
inline void count_block(const char*, const void* = nullptr) noexcept {}
inline void count_forced(bool) noexcept {}
inline void count_handoff() noexcept {}
inline void count_nothing_ready() noexcept {}
inline void count_poll_due() noexcept {}
inline void count_call() noexcept {}
inline void count_recognition(const fiber*) noexcept {}
inline void count_stacks(int) noexcept {}
struct counted_sleep {
  counted_sleep() noexcept {}
};

#endif

}  // namespace sennit::inline v0_1::detail
