// In debug builds, reports a fiber that gives its thread to other fibers while it holds a pthread lock.
//
// The fiber may resume on another thread, but only the thread that locked may unlock. A fiber may also stay
// on its thread: it is pinned, or in a local runtime. Then another fiber there that wants the lock blocks the
// thread forever, and the holder with it. So both cases are reported on standard error, once for each of the
// first places. The fiber then continues.
//
// A library that is built with assertions and without a sanitizer defines the pthread functions that lock and
// unlock mutexes, rwlocks and spin locks. Programs call these functions, and they call libc's. They note, for
// each thread, what its running fiber has locked. Locks of threads outside of fibers are not noted, nor are
// libc's internal ones: a pthread_cond_wait unlocks and locks within one call. The assertions that check are
// in inline code, in the user's build. Library and user may be built either way.
//
// Rejected: reading the owner from a pthread_mutex_t, because libc may change its layout, and the other locks
// store no owner. A record that moves with its fiber, because its locks are then unlocked on the wrong
// thread. For that reason a record is forgotten once reported. A park that calls a check, because users with
// assertions could not link a library without.
#pragma once

#include "sennit/detail/stack/sanitizer.hpp"

// With a static libc there are no further functions to call behind the replaced ones. For such programs,
// build the library with SENNIT_UNAWARE_OF_LOCKS.
#if !defined(NDEBUG) && !defined(SENNIT_SANITIZED) && !defined(SENNIT_UNAWARE_OF_LOCKS)
#define SENNIT_KNOWS_HELD_LOCKS 1
#endif
