// What backtraces from signal handlers can show.
#pragma once

// Whether the unwinder gets from a signal handler to the interrupted function and its callers. It does not
// recognize the signal frames of qemu-user on PowerPC 64: docs/platforms.md.
#if defined(SUPPORT_EMULATED) && defined(__powerpc64__)
inline constexpr bool unwinds_signal_frames = false;
#else
inline constexpr bool unwinds_signal_frames = true;
#endif
