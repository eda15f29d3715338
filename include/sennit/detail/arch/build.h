/* Objects that use Sennit and the library must be of the same version and configuration: inlined code agrees
 * with the library on layouts in memory.
 *
 * The linker checks it, without any instruction. Inlined code refers to the thread's block (thread.h), and
 * that symbol's name encodes how an object was compiled; a library defines only its own. An object of another
 * build gets, for instance,
 *
 *   undefined reference to `sennit_thread_of_0_1_0_with_counters'
 *
 * Remedy: compile it with the macros of the library, which its CMake target and its pkg-config file name; or
 * link the library that it was compiled for. Two libraries in one program both define `sennit_thread`, which
 * the linker refuses. (It sees neither if each is hidden in its own shared object.)
 *
 * SENNIT_ANY_BUILD: for objects that are right with any library. C and C++.
 */
#ifndef SENNIT_DETAIL_ARCH_BUILD_H
#define SENNIT_DETAIL_ARCH_BUILD_H

#include "sennit/version.h"

#define SENNIT_BUILD_TEXT(number) SENNIT_BUILD_TEXT_OF(number)
#define SENNIT_BUILD_TEXT_OF(number) #number

#if defined(SENNIT_BACKEND_UCONTEXT)
#define SENNIT_BUILD_BACKEND "_on_ucontext"
#elif defined(SENNIT_BACKEND_SIGNALSTACK)
#define SENNIT_BUILD_BACKEND "_on_signal_stack"
#else
#define SENNIT_BUILD_BACKEND ""
#endif

#if defined(SENNIT_COUNTERS)
#define SENNIT_BUILD_COUNTERS "_with_counters"
#else
#define SENNIT_BUILD_COUNTERS ""
#endif

#if defined(SENNIT_SHADOW_STACK)
#define SENNIT_BUILD_SHADOW_STACK "_with_shadow_stack"
#else
#define SENNIT_BUILD_SHADOW_STACK ""
#endif

/* Sanitizers: another entry of this list. */
#if defined(SENNIT_ANY_BUILD)
#define SENNIT_THREAD "sennit_thread"
#else
#define SENNIT_THREAD                                                                \
  "sennit_thread_of_" SENNIT_BUILD_TEXT(SENNIT_VERSION_MAJOR) "_" SENNIT_BUILD_TEXT( \
      SENNIT_VERSION_MINOR) "_" SENNIT_BUILD_TEXT(SENNIT_VERSION_PATCH)              \
      SENNIT_BUILD_BACKEND SENNIT_BUILD_COUNTERS SENNIT_BUILD_SHADOW_STACK
#endif

#endif
