/* Switches between contexts that pass typed values, in registers, for C and C++.
 * room: arch
 *
 *   // C: `next` resumes a context, passes nothing, and receives a long.
 *   SENNIT_SWAPSTACK(next, long, sennit_nothing)
 *   SENNIT_SWAPSTACK(give, sennit_nothing, long)       // of the other side
 *
 *   SENNIT_SWAPSTACK_ENTRY(evens, sennit_nothing) {    // begins when `from` first resumes it
 *     for (long i = 0;; ++i)
 *       from = give(from, 42 + 2 * i).from;
 *   }
 *
 *   sennit_context generator = sennit_newstack(top, evens);
 *   next_transfer got = next(generator, SENNIT_NOTHING);   // got.value is 42
 *   got = next(got.from, SENNIT_NOTHING);                  // 44
 *
 *   // C++
 *   void evens(sennit_context from) {
 *     for (long i = 0;; ++i)
 *       from = sennit::swapstack<void(long)>(from, 42 + 2 * i).from;
 *   }
 *   sennit_context generator = sennit::newstack<evens>(top);
 *   auto [next, value] = sennit::swapstack<long()>(generator);
 *
 * A switch suspends the caller and resumes `target`, which must be suspended. `target` is no longer a
 * handle then. The switch returns when another context resumes the caller: `from` is that context, which
 * may be resumed once.
 *
 * The values that one side passes are those that the other side's switch, or entry function, receives.
 * Nothing checks that both sides name the same types. Values are trivially copyable. Each begins a word of
 * its own; up to four words in all are passed in registers, so that a struct of four longs is passed as four
 * longs are. A context that is passed fewer words than it reads finds arbitrary data in the rest. More than
 * four words stay in the frame of the context that leaves; the one that is resumed copies them from there
 * before anything else. Nothing is allocated.
 *
 * Misuse is not detected here: a handle is an address. To resume one twice, or a context that is running,
 * is undefined. sennit::coroutine and sennit::generator assert it in debug builds, and sennit/mctx.h always
 * reports it. A null or misaligned top of a new stack is asserted in debug builds.
 *
 * An entry function must not return nor let an exception out. `top`: see sennit_newstack, in
 * sennit/detail/arch/native.h; the contexts are the same.
 *
 * If they are compiled with the plugin for clang (docs/papers/swapstack_primitive.md), which defines
 * SENNIT_COMPILER_SWAPSTACK, these are the primitive sennit.swapstack: a frame pointer or a base pointer is
 * saved only where there is one, and a new context whose function is known is entered by a direct jump.
 * Otherwise they are the library's inline switch, with the same meaning. Thus they work for other targets
 * and backends.
 *
 * Source: Dolan 2013, sections 3.1 to 3.3 and 4.
 */
#ifndef SENNIT_SWAPSTACK_H
#define SENNIT_SWAPSTACK_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "sennit/detail/arch/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Private: all forms are built on it. `sent` and `received` below are numbers of words. */
struct sennit_words {
  sennit_context from; /**< the context that resumed the caller */
  /** The words that were received. */
  uintptr_t value0, value1, value2, value3;
};

#if defined(SENNIT_COMPILER_SWAPSTACK) && defined(__x86_64__) && defined(__LP64__) && \
    !defined(SENNIT_BACKEND_PORTABLE)
#define SENNIT_PRIMITIVE(words) __asm__("sennit.swapstack." #words) __attribute__((nothrow))
struct sennit_words sennit_primitive0(sennit_context) SENNIT_PRIMITIVE(0);
struct sennit_words sennit_primitive1(sennit_context, uintptr_t) SENNIT_PRIMITIVE(1);
struct sennit_words sennit_primitive2(sennit_context, uintptr_t, uintptr_t) SENNIT_PRIMITIVE(2);
struct sennit_words sennit_primitive3(sennit_context, uintptr_t, uintptr_t, uintptr_t) SENNIT_PRIMITIVE(3);
struct sennit_words sennit_primitive4(sennit_context, uintptr_t, uintptr_t, uintptr_t, uintptr_t)
    SENNIT_PRIMITIVE(4);
#undef SENNIT_PRIMITIVE

SENNIT_ALWAYS_INLINE struct sennit_words sennit_swap_words(sennit_context target, const uintptr_t* words,
                                                           size_t sent, size_t received) {
  (void)received;
  switch (sent) {
    case 0:
      return sennit_primitive0(target);
    case 1:
      return sennit_primitive1(target, words[0]);
    case 2:
      return sennit_primitive2(target, words[0], words[1]);
    case 3:
      return sennit_primitive3(target, words[0], words[1], words[2]);
    default:
      return sennit_primitive4(target, words[0], words[1], words[2], words[3]);
  }
}
#else
/** Private: passes `sent` words, and receives `received`. */
SENNIT_ALWAYS_INLINE struct sennit_words sennit_swap_words(sennit_context target, const uintptr_t* words,
                                                           size_t sent, size_t received) {
  struct sennit_words got;
  if (sent <= 1 && received <= 1) {
    const sennit_transfer one = sennit_swapstack(target, words[0]);
    got.from = one.from;
    got.value0 = one.value;
    got.value1 = got.value2 = got.value3 = 0;
  } else {
    const sennit_transfer4 all = sennit_swapstack4(target, words[0], words[1], words[2], words[3]);
    got.from = all.from;
    got.value0 = all.value[0];
    got.value1 = all.value[1];
    got.value2 = all.value[2];
    got.value3 = all.value[3];
  }
  return got;
}
#endif

/** Private: the number of words that a value of the type takes. */
#define SENNIT_WORDS_OF(type) ((sizeof(type) + sizeof(uintptr_t) - 1) / sizeof(uintptr_t))

/** Private: passes the `size` bytes at `value`. */
SENNIT_ALWAYS_INLINE struct sennit_words sennit_swap_value(sennit_context target, const void* value,
                                                           size_t size, size_t received) {
  uintptr_t words[4] = {0, 0, 0, 0};
  const int fits = size <= sizeof words;
  memcpy(words, value, fits ? size : 0);
  if (!fits)
    words[0] = (uintptr_t)value;
  return sennit_swap_words(target, words, fits ? (size + sizeof(uintptr_t) - 1) / sizeof(uintptr_t) : 1,
                           received <= 4 ? received : 1);
}

/** Private: the place of `count` words that were received as `words`. */
SENNIT_ALWAYS_INLINE const uintptr_t* sennit_words_at(const uintptr_t words[4], size_t count) {
  return count <= 4 ? words : (const uintptr_t*)words[0];
}

#ifdef __cplusplus
}
#endif

#ifndef __cplusplus

/** The type for a side that passes nothing, and its only value. */
__extension__ typedef struct {
} sennit_nothing;
#define SENNIT_NOTHING (__extension__(sennit_nothing){})

/** Defines the function  name_transfer name(sennit_context target, in value),  and the type of its result, a
 * struct of sennit_context from and  out value.
 */
#define SENNIT_SWAPSTACK(name, out, in)                                                                  \
  typedef struct {                                                                                       \
    sennit_context from;                                                                                 \
    out value;                                                                                           \
  } name##_transfer;                                                                                     \
  SENNIT_ALWAYS_INLINE name##_transfer name(sennit_context target, in value) {                           \
    const struct sennit_words got = sennit_swap_value(target, &value, sizeof(in), SENNIT_WORDS_OF(out)); \
    const uintptr_t received[4] = {got.value0, got.value1, got.value2, got.value3};                      \
    name##_transfer result;                                                                              \
    result.from = got.from;                                                                              \
    memcpy(&result.value, sennit_words_at(received, SENNIT_WORDS_OF(out)), sizeof(out));                 \
    return result;                                                                                       \
  }

/** Begins the definition of an entry function for sennit_newstack, whose body has  sennit_context from  and
 * in value.
 */
#define SENNIT_SWAPSTACK_ENTRY(name, in)                                                      \
  SENNIT_ALWAYS_INLINE void name##_body(sennit_context from, in value);                       \
  static void name(sennit_context from, uintptr_t value0, uintptr_t value1, uintptr_t value2, \
                   uintptr_t value3) {                                                        \
    const uintptr_t words[4] = {value0, value1, value2, value3};                              \
    in value;                                                                                 \
    memcpy(&value, sennit_words_at(words, SENNIT_WORDS_OF(in)), sizeof(in));                  \
    name##_body(from, value);                                                                 \
  }                                                                                           \
  SENNIT_ALWAYS_INLINE void name##_body(sennit_context from, in value)

#else

#include <type_traits>

#include "sennit/detail/arch/cplusplus.hpp"

namespace sennit::inline v0_1 {

/** The result of a switch: the context that has resumed the caller, and the value that it passed. */
template <class T>
struct transfer {
  /** The context that has resumed the caller. It may be resumed once. */
  sennit_context from;
  /** The value that it passed. */
  T value;
};
/** The result of a switch that receives no value. */
template <>
struct transfer<void> {
  /** The context that has resumed the caller. It may be resumed once. */
  sennit_context from;
};

namespace detail {

template <class T>
inline constexpr size_t words_of = SENNIT_WORDS_OF(T);
template <>
inline constexpr size_t words_of<void> = 0;

template <class T>
inline constexpr bool travels =
    std::is_void_v<T> || (std::is_trivially_copyable_v<T> && std::is_default_constructible_v<T>);

template <class Signature>
struct typed_switch;

template <class Out, class... In>
struct typed_switch<Out(In...)> {
  static_assert(travels<Out> && (travels<In> && ...), "values are trivially copyable");

  [[gnu::always_inline]] static transfer<Out> swap(sennit_context target, In... values) noexcept {
    constexpr size_t sent = (words_of<In> + ... + 0);
    uintptr_t words[sent + 1] = {};
    [[maybe_unused]] size_t at = 0;
    ((memcpy(words + at, &values, sizeof values), at += words_of<In>), ...);
    const sennit_words got = sennit_swap_value(target, words, sent * sizeof(uintptr_t), words_of<Out>);
    transfer<Out> result;
    result.from = got.from;
    if constexpr (!std::is_void_v<Out>) {
      const uintptr_t received[4] = {got.value0, got.value1, got.value2, got.value3};
      memcpy(&result.value, sennit_words_at(received, words_of<Out>), sizeof result.value);
    }
    return result;
  }
};

template <class T>
[[gnu::always_inline]] inline T take(const uintptr_t* words, size_t& at) noexcept {
  static_assert(travels<T>, "values are trivially copyable");
  T value;
  memcpy(&value, words + at, sizeof value);
  at += words_of<T>;
  return value;
}

// Calls it: within braces, what is taken is taken in order.
template <auto Entry, class... In>
struct entered {
  [[gnu::always_inline]] entered(sennit_context from, In... values) { Entry(from, values...); }
};

template <auto Entry, class... In>
void enter(sennit_context from, uintptr_t value0, uintptr_t value1, uintptr_t value2, uintptr_t value3) {
  [[maybe_unused]] const uintptr_t received[4] = {value0, value1, value2, value3};
  [[maybe_unused]] const uintptr_t* const words = sennit_words_at(received, (words_of<In> + ... + 0));
  [[maybe_unused]] size_t at = 0;
  [[maybe_unused]] const entered<Entry, In...> body{from, take<In>(words, at)...};
}

template <auto Entry, class... In>
[[gnu::always_inline]] inline sennit_context new_context(void* top,
                                                         void (*)(sennit_context, In...)) noexcept {
  return sennit_newstack(top, enter<Entry, In...>);
}

}  // namespace detail

/** Resumes `target`, passes `values` to it, and returns what the caller receives: `swapstack<Out(In...)>`.
 * Out is void, or a type of any size.
 */
template <class Signature, class... Values>
[[gnu::always_inline]] inline auto swapstack(sennit_context target, Values... values) noexcept {
  return detail::typed_switch<Signature>::swap(target, values...);
}

/** Makes a context on the stack below `top`. When it is first resumed, it calls Entry, a function
 * `void(sennit_context, In...)`, with the context that resumed it and the values that were passed.
 */
template <auto Entry>
[[gnu::always_inline]] inline sennit_context newstack(void* top) noexcept {
  return detail::new_context<Entry>(top, Entry);
}

}  // namespace sennit::inline v0_1

#endif
#endif
