/* The types of the verbs of every backend: handles, words of a switch, entry functions, scheduler steps. */
#ifndef SENNIT_DETAIL_ARCH_CONTEXT_TYPES_H
#define SENNIT_DETAIL_ARCH_CONTEXT_TYPES_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SENNIT_ALWAYS_INLINE static inline __attribute__((always_inline, unused))

/* For functions that are entered in one context and left in another, or never. AddressSanitizer would move
 * their locals off the stack, ThreadSanitizer would count their calls and returns, both in the wrong context.
 * MemorySanitizer must treat their arguments and results as initialised, which an uninstrumented function
 * does not.
 */
#if defined(__clang__)
#if __has_feature(memory_sanitizer)
#define SENNIT_UNSANITIZED __attribute__((no_sanitize("memory")))
#else
#define SENNIT_UNSANITIZED __attribute__((disable_sanitizer_instrumentation))
#endif
#else
#define SENNIT_UNSANITIZED __attribute__((no_sanitize_address, no_sanitize_thread))
#endif

/* What every new stack begins with, in debug builds. */
SENNIT_ALWAYS_INLINE void sennit_should_be_top(const void* top) {
  assert(top != NULL && "sennit: a new stack's top is null");
  assert((uintptr_t)top % 16 == 0 && "sennit: a new stack's top is not 16-aligned");
  (void)top;
}

/* A suspended context. One word: it points to the record on top of the context's own stack. */
typedef struct sennit_context_record* sennit_context;

/* What a switch hands over: the context that left, and its word. */
typedef struct {
  sennit_context from;
  uintptr_t value;
} sennit_transfer;

typedef struct {
  sennit_context from;
  uintptr_t value[4];
} sennit_transfer4;

typedef struct {
  sennit_context from;
  uintptr_t value[8];
} sennit_transfer8;

/* Where a new context begins. `from` and the values are those of the switch that entered it.
 * Must not return and must not let an exception out. */
typedef void (*sennit_entry)(sennit_context from, uintptr_t value0, uintptr_t value1, uintptr_t value2,
                             uintptr_t value3);

/* The same, for eight words. */
typedef void (*sennit_entry8)(sennit_context from, uintptr_t value0, uintptr_t value1, uintptr_t value2,
                              uintptr_t value3, uintptr_t value4, uintptr_t value5, uintptr_t value6,
                              uintptr_t value7);

/* A scheduler step's answer: the context to enter, and the word for it. */
typedef struct {
  sennit_context target;
  uintptr_t value;
} sennit_decision;

/* Decides, on the stack given to sennit_suspend, which context runs next. `self` is the context that just
 * left; from here on it may be published. Must not throw. */
typedef sennit_decision (*sennit_scheduler_step)(sennit_context self, void* argument);

/* The function that a context of rounds runs each time it is entered. Returns the context to enter. Must not
 * throw.
 */
typedef sennit_decision (*sennit_round)(void* top);

#ifdef __cplusplus
}
#endif
#endif
