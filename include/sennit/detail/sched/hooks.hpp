// What the core and the workers of parallel runtimes call of later rooms. The functions are declared here,
// and defined there: so no room includes a later one. Classes with members that later rooms define have
// headers of their own in this room: driver (io), registration and watchdog_use (observe), time_slice
// (preempt).
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>

#include "sennit/detail/timer/clock.hpp"

struct sennit_worker;

namespace sennit::inline v0_1::detail {

struct continuation_code;
struct coroutine_frame;
struct fiber;
struct waiter;
struct wait_reason;
enum class fiber_status : std::uint8_t;

// ---- wait: parks of fibers with guards (src/wait/stop.cpp).

// As park(). Also throws sennit::cancelled.
[[gnu::cold]] std::uintptr_t park_stoppable(sennit_worker& w, fiber_status as, wait_reason why);

// ---- wait: scopes' fibers (src/wait/scope_member.cpp).

// A fiber with fiber-local values has left its function, or (again) all frames above it. From now on, what
// ended its waits must not end the waits of destructors.
[[gnu::cold]] void function_left(fiber& self) noexcept;
// A stack was attached to a fiber. Restores the faults and stops of its scope, if it has one.
[[gnu::cold]] void attach_scope(fiber& f) noexcept;
// The rest is for fibers with the flag is_of_scope.
// A fiber begins without a stack; its scope's data are among its values.
void scope_fiber_begins(fiber& f) noexcept;
// Returns the code to use instead of `real`, for a fiber that blocks without a stack.
continuation_code& scope_code(const fiber& f, continuation_code& real) noexcept;
// A fiber that waited without a stack has one again.
void scope_wait_ends(fiber& f) noexcept;
// A waker takes the fiber out of a list, under its lock. Returns false if a stop has ended the wait.
bool scope_fiber_taken(fiber& f) noexcept;
// A function of the fiber has ended by an exception.
void scope_fiber_fails(fiber& f, std::exception_ptr error) noexcept;

// ---- wait: joins (src/wait/wait.cpp).

// Ends the wait for a fiber's end, whose waiter was taken out of fiber::ended.
void end_join(waiter& w, std::uintptr_t word) noexcept;

// ---- wait: words in which one waiter at a time waits (src/wait/wait.cpp).

// Waits in a word that should be `expected`. If it has another value, the awaited event has happened. Fibers
// of parallel runtimes and threads may call it. Returns false if the deadline passed first: the word is
// `left`, unless it changed at the same time. Throws forced_unwind, too, with no waiter left in the word.
bool wait_in_slot(std::atomic<std::uintptr_t>& slot, std::uintptr_t expected, std::uintptr_t left,
                  const wait_reason& why, time_point deadline);

// ---- cont: yields with a continuation (src/cont/yield_continuation.cpp).

// forced_unwind has left a fiber's function. If a yield with a continuation caused it, this does not return.
[[gnu::cold]] void body_unwound(coroutine_frame& frame, fiber& self,
                                void (*destroy)(coroutine_frame& frame)) noexcept;
// Called before the frames are destroyed, because destructors may yield.
void forget_yield_continuation() noexcept;

// ---- observe.

// A thread that begins to be a worker waits while workers are held (src/observe/stop_the_world.cpp).
inline constinit std::atomic<int> world_is_stopped{0};
[[gnu::cold]] void wait_until_resumed() noexcept;

// Makes the linker include the functions that note pthread locks, where they exist: it takes only referenced
// objects from an archive (src/observe/held_locks.cpp).
void watch_locks() noexcept;

}  // namespace sennit::inline v0_1::detail
