// A fiber that gives its thread to others while it holds a pthread lock is reported, in debug builds.
//
// It may go on on another thread, and only the one that locked may unlock. Where it stays on its thread (it
// is pinned, or of a local runtime) another fiber there that wants the lock blocks the thread, and the holder
// with it, for good. So both are reported, on standard error, once for each of the first places; the fiber
// goes on.
//
// A library that is built with assertions, and without a sanitizer, defines the pthread functions that lock
// and unlock (mutexes, rwlocks, spin locks): a program calls these, and they call libc's. They note for each
// thread what the fiber that it runs has locked. What no fiber has locked is not noted, nor what libc locks
// by itself: a pthread_cond_wait unlocks and locks within one call. Assertions in whoever uses the library
// are what looks, in its inline code; library and user may be built either way.
//
// Rejected: to look who owns a lock, in a pthread_mutex_t; libc may change that, and the others do not say. A
// record for each fiber, that goes with it: its locks are unlocked where nobody should, which is why they are
// forgotten once reported. A park that checks by calling: users with assertions could not link a library
// without.
#pragma once

#include "sennit/detail/stack/sanitizer.hpp"

// For a program that is linked with a static libc, behind whose functions there are no others to find, the
// library is built with SENNIT_UNAWARE_OF_LOCKS.
#if !defined(NDEBUG) && !defined(SENNIT_SANITIZED) && !defined(SENNIT_UNAWARE_OF_LOCKS)
#define SENNIT_KNOWS_HELD_LOCKS 1
#endif

namespace sennit::detail {

// Has the functions linked, where there are any: what nobody refers to is not taken out of an archive.
#if defined(SENNIT_KNOWS_HELD_LOCKS)
void watch_locks() noexcept;
#else
inline void watch_locks() noexcept {}
#endif

}  // namespace sennit::detail
