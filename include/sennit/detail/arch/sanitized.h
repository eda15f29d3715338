/* The sanitizer of this compilation. C and C++.
 *
 * A program with a sanitizer needs a library with the same one, so each of its objects refers to a symbol
 * that only such a library defines. The linker then names the sanitizer and the remedy; in ordinary builds
 * there is no reference.
 */
#ifndef SENNIT_DETAIL_ARCH_SANITIZED_H
#define SENNIT_DETAIL_ARCH_SANITIZED_H

#if defined(__SANITIZE_ADDRESS__)
#define SENNIT_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define SENNIT_TSAN 1
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SENNIT_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define SENNIT_TSAN 1
#endif
#if __has_feature(memory_sanitizer)
#define SENNIT_MSAN 1
#endif
#endif

#if defined(SENNIT_ASAN)
#define SENNIT_SANITIZED_LIBRARY sennit_lacks_fsanitize_address__configure_it_with_DSENNIT_SANITIZE_address
#elif defined(SENNIT_TSAN)
#define SENNIT_SANITIZED_LIBRARY sennit_lacks_fsanitize_thread__configure_it_with_DSENNIT_SANITIZE_thread
#elif defined(SENNIT_MSAN)
#define SENNIT_SANITIZED_LIBRARY sennit_lacks_fsanitize_memory__configure_it_with_DSENNIT_SANITIZE_memory
#endif

#if defined(SENNIT_SANITIZED_LIBRARY)
#if defined(__cplusplus)
extern "C" {
#endif
extern const char SENNIT_SANITIZED_LIBRARY;
#if defined(__cplusplus)
}
#endif
static const char* const sennit_sanitized_library __attribute__((used)) = &SENNIT_SANITIZED_LIBRARY;
#endif

#endif
