// Misuse that every build detects, because the check is on a slow path.
#pragma once

namespace sennit::inline v0_1::detail {

// Prints "sennit: fiber 3 "parser" <text>" on standard error if the caller is a fiber, or "sennit: a thread
// <text>". `text`: what the caller did, why it is wrong, and the remedy.
[[gnu::cold]] void report_misuse(const char* text) noexcept;
// Prints the same, and aborts.
[[noreturn, gnu::cold]] void fatal_misuse(const char* text) noexcept;

inline constexpr const char* destroys_its_runtime =
    "destroys the runtime that runs it: destroy a runtime outside of its fibers. exit() in a fiber destroys "
    "runtimes with static storage duration: make the runtime in main(), or call exit() outside of fibers";
inline constexpr const char* locks_twice =
    "locks a mutex that it holds already, and would wait for itself: unlock it first, or use a "
    "recursive_mutex";

// For functions that may throw: throws std::system_error (EINVAL). For noexcept functions: fatal.
// `operation`: the called function, as in "join".
[[noreturn, gnu::cold]] void throw_empty_handle(const char* operation);
[[noreturn, gnu::cold]] void fatal_empty_handle(const char* operation) noexcept;

// Fatal: an exception that is not from C++ left the function of a fiber or coroutine, because of
// pthread_exit() or the cancellation of its thread.
[[noreturn, gnu::cold]] void fatal_foreign_unwind() noexcept;

}  // namespace sennit::inline v0_1::detail
