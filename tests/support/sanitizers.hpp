// SUPPORT_ASAN and SUPPORT_TSAN, and those sanitizers' interfaces, whichever compiler builds the tests.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define SUPPORT_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SUPPORT_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define SUPPORT_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SUPPORT_TSAN 1
#endif
#endif
#if defined(SUPPORT_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(SUPPORT_TSAN)
#include <sanitizer/tsan_interface.h>
#endif
