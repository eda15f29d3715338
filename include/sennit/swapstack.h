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
 * its own. On x86-64 and AArch64, up to eight words in all are passed in registers, and on other CPUs four,
 * so that a struct of four longs is passed as four longs are. A context that is passed fewer words than it
 * reads finds arbitrary data in the rest. More words stay in the frame of the context that leaves; the one
 * that is resumed copies them from there before anything else. Nothing is allocated.
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

/** Private: how many words are passed in registers. */
#if defined(SENNIT_HAS_SWAPSTACK8)
#define SENNIT_MOST_WORDS 8
#else
#define SENNIT_MOST_WORDS 4
#endif

/** Private: all forms are built on it. `sent` and `received` below are numbers of words. */
struct sennit_words {
  sennit_context from; /**< the context that resumed the caller */
  /** The words that were received; those beyond `received` are not set. */
  uintptr_t value[SENNIT_MOST_WORDS];
};

/** Private: copies `size` bytes, at most SENNIT_MOST_WORDS words. By gcc word by word: it would copy all at
 * once by vector instructions, whose loads wait for the stores of single words before them. (Not without
 * optimization, where it warns of words that are not copied; nor by clang, which makes a wrong long double of
 * two words.)
 */
SENNIT_ALWAYS_INLINE void sennit_copy_words(void* to, const void* from, size_t size) {
#if defined(__OPTIMIZE__) && !defined(__clang__)
#define SENNIT_COPY_WORD(i)                                                                \
  if (size > (i) * sizeof(uintptr_t))                                                      \
  memcpy((char*)to + (i) * sizeof(uintptr_t), (const char*)from + (i) * sizeof(uintptr_t), \
         size < ((i) + 1) * sizeof(uintptr_t) ? size - (i) * sizeof(uintptr_t) : sizeof(uintptr_t))
  SENNIT_COPY_WORD(0);
  SENNIT_COPY_WORD(1);
  SENNIT_COPY_WORD(2);
  SENNIT_COPY_WORD(3);
  SENNIT_COPY_WORD(4);
  SENNIT_COPY_WORD(5);
  SENNIT_COPY_WORD(6);
  SENNIT_COPY_WORD(7);
#undef SENNIT_COPY_WORD
#else
  memcpy(to, from, size <= 8 * sizeof(uintptr_t) ? size : 0);
#endif
}

#if defined(SENNIT_COMPILER_SWAPSTACK) && defined(__LP64__) &&                   \
    (defined(__x86_64__) || (defined(__aarch64__) && defined(__AARCH64EL__))) && \
    !defined(SENNIT_BACKEND_PORTABLE)
struct sennit_primitive_words4 {
  sennit_context from;
  uintptr_t value0, value1, value2, value3;
};
struct sennit_primitive_words8 {
  sennit_context from;
  uintptr_t value0, value1, value2, value3, value4, value5, value6, value7;
};
#define SENNIT_PRIMITIVE(received, sent, parameters)                                              \
  struct sennit_primitive_words##received sennit_primitive##received##_##sent parameters __asm__( \
      "sennit.swapstack." #received "_" #sent) __attribute__((nothrow))
SENNIT_PRIMITIVE(4, 0, (sennit_context));
SENNIT_PRIMITIVE(4, 1, (sennit_context, uintptr_t));
SENNIT_PRIMITIVE(4, 2, (sennit_context, uintptr_t, uintptr_t));
SENNIT_PRIMITIVE(4, 3, (sennit_context, uintptr_t, uintptr_t, uintptr_t));
SENNIT_PRIMITIVE(4, 4, (sennit_context, uintptr_t, uintptr_t, uintptr_t, uintptr_t));
SENNIT_PRIMITIVE(8, 0, (sennit_context));
SENNIT_PRIMITIVE(8, 4, (sennit_context, uintptr_t, uintptr_t, uintptr_t, uintptr_t));
SENNIT_PRIMITIVE(8, 8,
                 (sennit_context, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t,
                  uintptr_t));
#undef SENNIT_PRIMITIVE

SENNIT_ALWAYS_INLINE struct sennit_words sennit_swap_words(sennit_context target, const uintptr_t* words,
                                                           size_t sent, size_t received) {
  struct sennit_words got;
  if (sent <= 4 && received <= 4) {
    struct sennit_primitive_words4 four;
    switch (sent) {
      case 0:
        four = sennit_primitive4_0(target);
        break;
      case 1:
        four = sennit_primitive4_1(target, words[0]);
        break;
      case 2:
        four = sennit_primitive4_2(target, words[0], words[1]);
        break;
      case 3:
        four = sennit_primitive4_3(target, words[0], words[1], words[2]);
        break;
      default:
        four = sennit_primitive4_4(target, words[0], words[1], words[2], words[3]);
        break;
    }
    got.from = four.from;
    got.value[0] = four.value0;
    got.value[1] = four.value1;
    got.value[2] = four.value2;
    got.value[3] = four.value3;
  } else {
    struct sennit_primitive_words8 eight;
    if (sent == 0)
      eight = sennit_primitive8_0(target);
    else if (sent <= 4)
      eight = sennit_primitive8_4(target, words[0], words[1], words[2], words[3]);
    else
      eight = sennit_primitive8_8(target, words[0], words[1], words[2], words[3], words[4], words[5],
                                  words[6], words[7]);
    got.from = eight.from;
    got.value[0] = eight.value0;
    got.value[1] = eight.value1;
    got.value[2] = eight.value2;
    got.value[3] = eight.value3;
    got.value[4] = eight.value4;
    got.value[5] = eight.value5;
    got.value[6] = eight.value6;
    got.value[7] = eight.value7;
  }
  return got;
}
#else
/** Private: passes `sent` words, and receives `received`. */
SENNIT_ALWAYS_INLINE struct sennit_words sennit_swap_words(sennit_context target, const uintptr_t* words,
                                                           size_t sent, size_t received) {
  struct sennit_words got;
  if (sent <= 1 && received <= 1) {
    const sennit_transfer one = sennit_swapstack(target, words[0]);
    got.from = one.from;
    got.value[0] = one.value;
#if SENNIT_MOST_WORDS == 8
  } else if (sent > 4 || received > 4) {
    const sennit_transfer8 eight = sennit_swapstack8(target, words[0], words[1], words[2], words[3], words[4],
                                                     words[5], words[6], words[7]);
    got.from = eight.from;
    sennit_copy_words(got.value, eight.value, sizeof eight.value);
#endif
  } else {
    const sennit_transfer4 four = sennit_swapstack4(target, words[0], words[1], words[2], words[3]);
    got.from = four.from;
    sennit_copy_words(got.value, four.value, sizeof four.value);
  }
  return got;
}
#endif

/** Private: the number of words that a value of the type takes. */
#define SENNIT_WORDS_OF(type) ((sizeof(type) + sizeof(uintptr_t) - 1) / sizeof(uintptr_t))

/** Private: passes the `size` bytes at `value`. */
SENNIT_ALWAYS_INLINE struct sennit_words sennit_swap_value(sennit_context target, const void* value,
                                                           size_t size, size_t received) {
  uintptr_t words[SENNIT_MOST_WORDS] = {0};
  const int fits = size <= sizeof words;
  if (fits)
    sennit_copy_words(words, value, size);
  else
    words[0] = (uintptr_t)value;
  return sennit_swap_words(target, words, fits ? (size + sizeof(uintptr_t) - 1) / sizeof(uintptr_t) : 1,
                           received <= SENNIT_MOST_WORDS ? received : 1);
}

/** Private: copies a value of `size` bytes that was received as `words`. */
SENNIT_ALWAYS_INLINE void sennit_take_value(void* value, const uintptr_t words[SENNIT_MOST_WORDS],
                                            size_t size) {
  if (size <= SENNIT_MOST_WORDS * sizeof(uintptr_t))
    sennit_copy_words(value, words, size);
  else
    memcpy(value, (const void*)words[0], size);
}

/** Private: the place of `count` words that were received as `words`. */
SENNIT_ALWAYS_INLINE const uintptr_t* sennit_words_at(const uintptr_t words[SENNIT_MOST_WORDS],
                                                      size_t count) {
  return count <= SENNIT_MOST_WORDS ? words : (const uintptr_t*)words[0];
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
    name##_transfer result;                                                                              \
    result.from = got.from;                                                                              \
    sennit_take_value(&result.value, got.value, sizeof(out));                                            \
    return result;                                                                                       \
  }

/** Private: an entry function that calls `body` with the words that it receives. */
#define SENNIT_DEFINE_ENTRY(name, in, body, parameters, ...)                 \
  static __attribute__((unused)) void name parameters {                      \
    const uintptr_t words[SENNIT_MOST_WORDS] = {__VA_ARGS__};                \
    in value;                                                                \
    memcpy(&value, sennit_words_at(words, SENNIT_WORDS_OF(in)), sizeof(in)); \
    body(from, value);                                                       \
  }
#define SENNIT_FOUR_PARAMETERS \
  sennit_context from, uintptr_t value0, uintptr_t value1, uintptr_t value2, uintptr_t value3

/** Begins the definition of an entry, whose body has  sennit_context from  and  in value.  `name` is then a
 * constant pointer, for sennit_newstack only.
 */
#if defined(SENNIT_HAS_SWAPSTACK8)
#define SENNIT_TAKES_8(in) (SENNIT_WORDS_OF(in) > 4 && SENNIT_WORDS_OF(in) <= SENNIT_MOST_WORDS)
#define SENNIT_SWAPSTACK_ENTRY(name, in)                                                                     \
  SENNIT_ALWAYS_INLINE void name##_body(sennit_context from, in value);                                      \
  SENNIT_DEFINE_ENTRY(name##_of_4, in, name##_body, (SENNIT_FOUR_PARAMETERS), value0, value1, value2,        \
                      value3)                                                                                \
  SENNIT_DEFINE_ENTRY(                                                                                       \
      name##_of_8, in, name##_body,                                                                          \
      (SENNIT_FOUR_PARAMETERS, uintptr_t value4, uintptr_t value5, uintptr_t value6, uintptr_t value7),      \
      value0, value1, value2, value3, value4, value5, value6, value7)                                        \
  static __typeof__(__builtin_choose_expr(SENNIT_TAKES_8(in), (sennit_entry8)0, (sennit_entry)0)) const name \
      __attribute__((unused)) = __builtin_choose_expr(SENNIT_TAKES_8(in), name##_of_8, name##_of_4);         \
  SENNIT_ALWAYS_INLINE void name##_body(sennit_context from, in value)

#define sennit_newstack(top, entry) \
  _Generic((entry), sennit_entry8: sennit_newstack8, default: sennit_newstack)(top, entry)
#else
#define SENNIT_SWAPSTACK_ENTRY(name, in)                                                              \
  SENNIT_ALWAYS_INLINE void name##_body(sennit_context from, in value);                               \
  SENNIT_DEFINE_ENTRY(name##_of_4, in, name##_body, (SENNIT_FOUR_PARAMETERS), value0, value1, value2, \
                      value3)                                                                         \
  static const sennit_entry name __attribute__((unused)) = name##_of_4;                               \
  SENNIT_ALWAYS_INLINE void name##_body(sennit_context from, in value)
#endif

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
  static_assert(travels<Out> && (travels<In> && ...),
                "values are trivially copyable, and have a default constructor");

  [[gnu::always_inline]] static transfer<Out> swap(sennit_context target, const In&... values) noexcept {
    transfer<Out> result;
    const sennit_words got = pass(target, values...);
    result.from = got.from;
    if constexpr (!std::is_void_v<Out>)
      sennit_take_value(&result.value, got.value, sizeof result.value);
    return result;
  }

private:
  // A single value is passed where it lies, several are gathered.
  template <class T>
  [[gnu::always_inline]] static sennit_words pass(sennit_context target, const T& value) noexcept {
    return sennit_swap_value(target, &value, sizeof value, words_of<Out>);
  }
  template <class... T>
  [[gnu::always_inline]] static sennit_words pass(sennit_context target, const T&... values) noexcept {
    constexpr size_t sent = (words_of<T> + ... + 0);
    uintptr_t words[sent + 1] = {};
    [[maybe_unused]] size_t at = 0;
    ((gather(words + at, &values, sizeof values), at += words_of<T>), ...);
    return sennit_swap_value(target, words, sent * sizeof(uintptr_t), words_of<Out>);
  }
  [[gnu::always_inline]] static void gather(uintptr_t* words, const void* value, size_t size) noexcept {
    if (size <= sizeof(uintptr_t[SENNIT_MOST_WORDS]))
      sennit_copy_words(words, value, size);
    else
      memcpy(words, value, size);
  }
};

template <class T>
[[gnu::always_inline]] inline const T& not_volatile(const T& value) noexcept {
  return value;
}
template <class T>
[[gnu::always_inline]] inline T not_volatile(const volatile T& value) noexcept {
  return value;
}

template <class T>
[[gnu::always_inline]] inline T take(const uintptr_t* words, size_t& at) noexcept {
  static_assert(travels<T>, "values are trivially copyable");
  T value;
  if constexpr (words_of<T> <= SENNIT_MOST_WORDS)
    sennit_copy_words(&value, words + at, sizeof value);
  else
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
[[gnu::always_inline]] inline void enter_with(sennit_context from,
                                              [[maybe_unused]] const uintptr_t* received) {
  [[maybe_unused]] const uintptr_t* const words = sennit_words_at(received, (words_of<In> + ... + 0));
  [[maybe_unused]] size_t at = 0;
  [[maybe_unused]] const entered<Entry, In...> body{from, take<In>(words, at)...};
}

template <auto Entry, class... In>
void enter(sennit_context from, uintptr_t value0, uintptr_t value1, uintptr_t value2, uintptr_t value3) {
  const uintptr_t received[SENNIT_MOST_WORDS] = {value0, value1, value2, value3};
  enter_with<Entry, In...>(from, received);
}

#if defined(SENNIT_HAS_SWAPSTACK8)
template <auto Entry, class... In>
void enter8(sennit_context from, uintptr_t value0, uintptr_t value1, uintptr_t value2, uintptr_t value3,
            uintptr_t value4, uintptr_t value5, uintptr_t value6, uintptr_t value7) {
  const uintptr_t received[8] = {value0, value1, value2, value3, value4, value5, value6, value7};
  enter_with<Entry, In...>(from, received);
}
#endif

template <auto Entry, class... In>
[[gnu::always_inline]] inline sennit_context new_context(void* top,
                                                         void (*)(sennit_context, In...)) noexcept {
#if defined(SENNIT_HAS_SWAPSTACK8)
  constexpr size_t words = (words_of<In> + ... + 0);
  if constexpr (words > 4 && words <= 8)
    return sennit_newstack8(top, enter8<Entry, In...>);
#endif
  return sennit_newstack(top, enter<Entry, In...>);
}

}  // namespace detail

/** Resumes `target`, passes `values` to it, and returns what the caller receives: `swapstack<Out(In...)>`.
 * Out is void, or a type of any size.
 */
template <class Signature, class... Values>
[[gnu::always_inline]] inline auto swapstack(sennit_context target, const Values&... values) noexcept {
  return detail::typed_switch<Signature>::swap(target, detail::not_volatile(values)...);
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
