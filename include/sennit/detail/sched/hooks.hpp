// What the core and the workers of parallel runtimes call of later rooms. The functions are declared here,
// and defined there: so no room includes a later one.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>

namespace sennit::detail {

struct continuation_code;
struct fiber;
struct waiter;

// ---- wait: scopes' fibers (src/wait/scope_member.cpp). The fiber has the flag is_of_scope.

// A fiber begins without a stack; its scope's data are among its values.
void scope_fiber_begins(fiber& f) noexcept;
// Returns the code to use instead of `real`, for a fiber that blocks without a stack.
continuation_code& scope_code(const fiber& f, continuation_code& real) noexcept;
// A fiber that waited without a stack has one again.
void scope_wait_ends(fiber& f) noexcept;
// A function of the fiber has ended by an exception.
void scope_fiber_fails(fiber& f, std::exception_ptr error) noexcept;

// ---- wait: joins (src/wait/wait.cpp).

// Ends the wait for a fiber's end, whose waiter was taken out of fiber::ended.
void end_join(waiter& w, std::uintptr_t word) noexcept;

// ---- observe.

// A thread that begins to be a worker waits while workers are held (src/observe/stopped_workers.cpp).
inline constinit std::atomic<int> workers_are_held{0};
[[gnu::cold]] void wait_until_let_go() noexcept;

// Makes the linker include the functions that note pthread locks, where they exist: it takes only referenced
// objects from an archive (src/observe/held_locks.cpp).
void watch_locks() noexcept;

}  // namespace sennit::detail
