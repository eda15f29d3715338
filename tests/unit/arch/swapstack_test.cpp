// sennit/swapstack.h: typed values, in registers and larger; and arguments that are no stack.
#include "sennit/swapstack.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <utility>

#include "support/numbers.hpp"
#include "support/stack.hpp"

namespace {

using support::are_from;
using support::numbers;
using support::numbers_from;
using support::stack;

constexpr int half_of_word = 4 * sizeof(uintptr_t);  // of a word's bits

struct three_words {
  uintptr_t a, b, c;
};

// Values of several types in one switch: each begins a word.
void add(sennit_context from, char small, three_words three) {
  for (;;) {
    const uintptr_t sum = three.a + three.b + three.c;
    const auto in = sennit::swapstack<three_words(three_words)>(
        from, three_words{sum, three.a << half_of_word, ~three.c + small});
    from = in.from;
    three = in.value;
  }
}

TEST(Swapstack, FourWordsGoInRegisters) {
  stack s;
  const sennit_context c = sennit::newstack<add>(s.top());
  auto [next, value] = sennit::swapstack<three_words(char, three_words)>(c, 'x', three_words{1, 2, 3});
  for (uintptr_t i = 10; i < 1000; ++i) {
    EXPECT_EQ(value.a, i == 10 ? 6 : 3 * i);
    const auto got = sennit::swapstack<three_words(three_words)>(next, three_words{i, i + 1, i + 2});
    next = got.from;
    value = got.value;
    EXPECT_EQ(value.b, i << half_of_word);
    EXPECT_EQ(value.c, ~(i + 2) + 'x');
  }
}

struct alignas(16) large {
  char text[200];
  uintptr_t number;
};
static_assert(sizeof(large) > 8 * sizeof(uintptr_t));

bool is_aligned(const large& at) {
  return reinterpret_cast<uintptr_t>(&at) % 16 == 0;
}

// Hands back what it was handed, doubled; its own frame's copy changes meanwhile.
void double_it(sennit_context from, large in, uintptr_t factor) {
  for (;;) {
    EXPECT_TRUE(is_aligned(in));
    large out = in;
    out.number *= factor;
    std::memset(in.text, '-', sizeof in.text);
    const auto next = sennit::swapstack<large(large)>(from, out);
    from = next.from;
    in = next.value;
  }
}

TEST(Swapstack, LargerValuesStayInTheLeaversFrame) {
  stack s;
  large sent = {"first", 21};
  auto got =
      sennit::swapstack<large(large, uintptr_t)>(sennit::newstack<double_it>(s.top()), sent, uintptr_t{2});
  for (uintptr_t i = 0; i < 100; ++i) {
    EXPECT_TRUE(is_aligned(got.value));
    EXPECT_EQ(got.value.number, 2 * sent.number);
    EXPECT_STREQ(got.value.text, sent.text);
    EXPECT_EQ(std::memcmp(got.value.text + 8, sent.text + 8, sizeof sent.text - 8), 0);
    sent.number = i << half_of_word;
    std::memset(sent.text, 'a' + static_cast<int>(i % 26), sizeof sent.text - 1);
    got = sennit::swapstack<large(large)>(got.from, sent);
  }
}

// Large one way, nothing the other.
void count_words(sennit_context from) {
  for (large out = {"", 1};; ++out.number)
    from = sennit::swapstack<void(large)>(from, out).from;
}

TEST(Swapstack, LargeOneWayAlone) {
  stack s;
  sennit_context c = sennit::newstack<count_words>(s.top());
  for (uintptr_t i = 1; i <= 100; ++i) {
    const auto got = sennit::swapstack<large()>(c);
    c = got.from;
    EXPECT_EQ(got.value.number, i);
  }
}

// Each number of words both ways, up to one that no longer goes in registers.
template <std::size_t In, std::size_t Out>
void answer_numbers(sennit_context from, numbers<In> in) {
  for (uintptr_t round = 0;; ++round) {
    EXPECT_TRUE(are_from(in, round)) << In << " words, round " << round;
    sennit::transfer<numbers<In>> got;
    if (round % 4 < 2) {
      got = sennit::swapstack<numbers<In>(numbers<Out>)>(from, numbers_from<Out>(round + 7));
    } else {
      try {
        throw round;
      } catch (uintptr_t caught) {
        got = sennit::swapstack<numbers<In>(numbers<Out>)>(from, numbers_from<Out>(round + 7));
        EXPECT_EQ(caught, round);
      }
    }
    from = got.from;
    in = got.value;
  }
}

template <std::size_t In, std::size_t Out>
void exchange_numbers() {
  stack s;
  sennit_context c = sennit::newstack<answer_numbers<In, Out>>(s.top());
  for (uintptr_t round = 0; round < 9; ++round) {
    sennit::transfer<numbers<Out>> got;
    if (round % 3 < 2) {
      got = sennit::swapstack<numbers<Out>(numbers<In>)>(c, numbers_from<In>(round));
    } else {
      try {
        throw round;
      } catch (uintptr_t) {
        got = sennit::swapstack<numbers<Out>(numbers<In>)>(c, numbers_from<In>(round));
      }
    }
    EXPECT_TRUE(are_from(got.value, round + 7)) << Out << " words, round " << round;
    c = got.from;
  }
}

template <std::size_t In, std::size_t... Out>
void exchange_each(std::index_sequence<Out...>) {
  (exchange_numbers<In, Out + 1>(), ...);
}

template <std::size_t... In>
void exchange_all(std::index_sequence<In...>) {
  (exchange_each<In + 1>(std::make_index_sequence<9>()), ...);
}

TEST(Swapstack, EachNumberOfWordsBothWaysAlsoWhileExceptionsAreHandled) {
  exchange_all(std::make_index_sequence<9>());
}

// A type with padding, which compilers keep in registers of their own.
[[gnu::noinline]] bool is(long double got, long double wanted) {
  return got == wanted;
}

// By itself, and beside others: in registers, and in the sender's frame.
template <std::size_t N>
void gives_back_long_double(sennit_context from, long double value, numbers<N> others) {
  for (;;) {
    EXPECT_TRUE(is(value, 1.5L));
    const auto got = sennit::swapstack<long double(long double, numbers<N>)>(from, value, others);
    from = got.from;
    value = got.value;
  }
}

template <std::size_t N>
void exchange_long_doubles(void* top) {
  const auto others = numbers_from<N>(3);
  const volatile long double sent = 1.5L;
  struct both {
    long double real;
    numbers<N> others;
  };
  auto got = sennit::swapstack<both(long double, numbers<N>)>(
      sennit::newstack<gives_back_long_double<N>>(top), sent, others);
  for (int i = 0; i < 9; ++i) {
    EXPECT_TRUE(is(got.value.real, 1.5L));
    EXPECT_TRUE(are_from(got.value.others, 3));
    got = sennit::swapstack<both(long double)>(got.from, got.value.real);
  }
}

TEST(Swapstack, LongDoubles) {
  stack s;
  exchange_long_doubles<1>(s.top());
  exchange_long_doubles<4>(s.top());
  exchange_long_doubles<12>(s.top());
}

// Eight words from C.
extern "C" int c11_eight_words(void* top);

TEST(Swapstack, EightWordsInC) {
  stack s;
  EXPECT_EQ(c11_eight_words(s.top()), 0);
}

#if !defined(NDEBUG)
void never(sennit_context, uintptr_t, uintptr_t, uintptr_t, uintptr_t) {}

TEST(SwapstackDeathTest, NoStack) {
  stack s;
  const auto top = static_cast<char*>(s.top());
  EXPECT_DEATH(sennit_newstack(nullptr, never), "a new stack's top is null");
  EXPECT_DEATH(sennit_newstack(top - 8, never), "a new stack's top is not 16-aligned");
  EXPECT_DEATH(sennit_newlinked(nullptr, never), "a new stack's top is null");
  EXPECT_DEATH(sennit_newlinked(reinterpret_cast<sennit_context*>(top - 4), never), "not 16-aligned");
  EXPECT_DEATH(sennit_newrounds(nullptr), "a new stack's top is null");
  EXPECT_DEATH(sennit_newrounds(top + 1), "not 16-aligned");
  EXPECT_DEATH(sennit::newstack<count_words>(top - 8), "not 16-aligned");
}

// The same from C.
extern "C" void c11_newstack_at(void* top);

TEST(SwapstackDeathTest, NoStackInC) {
  stack s;
  EXPECT_DEATH(c11_newstack_at(nullptr), "a new stack's top is null");
  EXPECT_DEATH(c11_newstack_at(static_cast<char*>(s.top()) - 8), "not 16-aligned");
}
#endif

}  // namespace
