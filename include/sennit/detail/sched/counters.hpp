// How often fibers block, why, at which site, and with or without their stack: counted in builds with
// -DSENNIT_COUNTERS=ON, and written to the file that the environment variable SENNIT_COUNTERS names when the
// process exits. In all other builds nothing is left of a call.
//
// A site is a place in the code at which a fiber leaves its stack: in the library, or where that is inlined;
// of one without a stack, a combination of wait, function and state.
//
// Each thread counts for the worker that it is; what it has counted is added to the process's sums when it
// ends. Stacks in use are those of fibers that have begun to have one, be it queued, running or parked: not
// those that are kept for the next.
//
// Source: Draves et al. 1991, sections 2.7, 3.2 and 3.4 (Tables 1 and 2, stacks in use).
#pragma once

#include <cstdint>

namespace sennit::detail {

struct fiber;

#if defined(SENNIT_COUNTERS)

inline constexpr bool counting = true;

// The site of the calling thread's next block with a stack is where this is called.
void count_site() noexcept;
// The running fiber blocks, or gives way. `reason` lives as long as the process. `code`: the site, of one
// that keeps no stack; else null.
void count_block(const char* reason, const void* code = nullptr) noexcept;
// Whether the next yield of the calling thread is one that its fiber is made to do: it has a reason of its
// own.
void count_forced(bool yield) noexcept;
// A fiber goes on on the stack that another has given up right before.
void count_handoff() noexcept;
// A fiber goes on without the stack that it has blocked on.
void count_call() noexcept;
// Who makes `waiting` ready has done what it waited to do: given it the value that it wanted, taken the one
// that it offered. Null: nobody, or no fiber. To be called before that.
void count_recognition(const fiber* waiting) noexcept;
// So many stacks are in use from now on, or are no more.
void count_stacks(int change) noexcept;

#else

inline constexpr bool counting = false;
inline void count_site() noexcept {}
inline void count_block(const char*, const void* = nullptr) noexcept {}
inline void count_forced(bool) noexcept {}
inline void count_handoff() noexcept {}
inline void count_call() noexcept {}
inline void count_recognition(const fiber*) noexcept {}
inline void count_stacks(int) noexcept {}

#endif

}  // namespace sennit::detail
