// The primitive at run time: values bit by bit in both directions, whatever the frame of the function that
// switches is like; with the library's own switches on the other side; with exceptions being handled.
// RUN: %sennit_clangxx %verify -O0 %s -o %t %library && timeout 60 %t
// RUN: %sennit_clangxx %verify -O1 %s -o %t %library && timeout 60 %t
// RUN: %sennit_clangxx %verify -O2 %s -o %t %library && timeout 60 %t
// RUN: %sennit_clangxx %verify -O3 -march=native %s -o %t %library && timeout 60 %t
// RUN: %sennit_clangxx %verify -O0 -fno-omit-frame-pointer -fPIC %s -o %t %library && timeout 60 %t
// RUN: %sennit_clangxx %verify -O2 -fno-omit-frame-pointer -fstack-protector-all %s -o %t %library && timeout 60 %t
// RUN: %sennit_clangxx %verify -Os -fPIC -fstack-clash-protection %s -o %t %library && timeout 60 %t
// RUN: %sennit_clangxx %verify -O2 -fcf-protection=branch -mno-red-zone %s -o %t %library && timeout 60 %t
// RUN: %sennit_clangxx %verify -O2 -mllvm -sennit-no-callee-save -mllvm -sennit-polls -mllvm -sennit-fiber-tls %s -o %t %library && timeout 60 %t
// RUN: %sennit_clangxx -O2 -flto -fuse-ld=lld %s -o %t %library && timeout 60 %t
// RUN: %sennit_clangxx -O2 -flto -fuse-ld=lld -Wl,--load-pass-plugin=%plugin %s -o %t %library && timeout 60 %t
// RUN: %sennit_clangxx -O2 -flto=thin -fuse-ld=lld %s -o %t %library && timeout 60 %t
// On AArch64.
// RUN: %make_aarch64_switch %t.switch.o
// RUN: %sennit_clangxx %aarch64 %verify -static -O0 %s %t.switch.o -o %t && timeout 60 qemu-aarch64 %t
// RUN: %sennit_clangxx %aarch64 %verify -static -O2 %s %t.switch.o -o %t && timeout 60 qemu-aarch64 %t
// RUN: %sennit_clangxx %aarch64 %verify -static -O3 -fomit-frame-pointer -fPIC %s %t.switch.o -o %t && timeout 60 qemu-aarch64 %t
// RUN: %sennit_clangxx %aarch64 %verify -static -Os -mbranch-protection=standard -fno-asynchronous-unwind-tables %s %t.switch.o -o %t && timeout 60 qemu-aarch64 %t
// Without the plugin the same program is the library's switch.
// RUN: %stock_clangxx -O2 %s -o %t %library && timeout 60 %t
// RUN: g++-12 -std=c++20 -O2 -I%include %s -o %t %library && timeout 60 %t
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "../support/numbers.hpp"
#include "sennit/swapstack.h"

namespace {

using support::are_from;
using support::numbers;
using support::numbers_from;

#define NOINLINE __attribute__((noinline))
#define EXPECT(condition) \
  ((condition) ? (void)0 : (std::printf("%s:%d: %s\n", __FILE__, __LINE__, #condition), std::exit(1)))

// Also what a switch is supposed to change.
NOINLINE void trash() {
#if defined(__aarch64__)
  __asm__ volatile(
      "mov x20, #-1; mov x21, #-2; mov x25, #-3; mov x26, #-4; mov x27, #-5; mov x28, #-6;"
      "movi v0.16b, #255; movi v8.16b, #255; movi v15.16b, #255; movi v31.16b, #255" ::
          : "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14",
            "x15", "x16", "x17", "x20", "x21", "x25", "x26", "x27", "x28", "v0", "v8", "v15", "v31",
            "memory");
#else
  __asm__ volatile(
      "movq $-1, %%rbx; movq $-2, %%r12; movq $-3, %%r13; movq $-4, %%r14; movq $-5, %%r15;"
      "pcmpeqd %%xmm0, %%xmm0; pcmpeqd %%xmm1, %%xmm1; pcmpeqd %%xmm7, %%xmm7; pcmpeqd %%xmm15, %%xmm15" ::
          : "rbx", "r12", "r13", "r14", "r15", "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11",
            "xmm0", "xmm1", "xmm7", "xmm15", "memory");
#endif
}

// Bits that no arithmetic of ours would leave alone by accident: NaNs, negative zeros, all of them.
std::uint64_t random_bits() {
  static std::uint64_t state = 0x9e3779b97f4a7c15;
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

template <class T>
T from_bits(std::uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

template <class T>
bool same(const T& one, const T& other) {
  return std::memcmp(&one, &other, sizeof one) == 0;
}

template <std::size_t Size>
struct alignas(64) stack {
  char room[Size];
  void* top() { return room + Size; }
};

stack<65536> first, second;

struct all {
  std::uint64_t word;
  double real;
  void* place;
  std::uint64_t last;
};

void hands_back(sennit_context from, std::uint64_t word, double real, void* place, std::uint64_t last) {
  for (;;) {
    trash();
    const all sent{word + 1, real, place, last + 2};  // each in its own place
    const auto got = sennit::swapstack<all(all)>(from, sent);
    from = got.from;
    word = got.value.word;
    real = got.value.real;
    place = got.value.place;
    last = got.value.last;
  }
}

NOINLINE void four_values() {
  sennit_context other = sennit::newstack<hands_back>(first.top());
  for (int i = 0; i < 1000; ++i) {
    const all sent{random_bits(), from_bits<double>(random_bits()), from_bits<void*>(random_bits()),
                   random_bits()};
    const auto [from, got] = sennit::swapstack<all(std::uint64_t, double, void*, std::uint64_t)>(
        other, sent.word, sent.real, sent.place, sent.last);
    other = from;
    EXPECT(same(got, all{sent.word + 1, sent.real, sent.place, sent.last + 2}));
  }
}

// Each number of values, and types that do not fill a word. What is received is what was sent before.
void by_turns(sennit_context from) {
  for (;;) {
    trash();
    auto one = sennit::swapstack<float(std::uint8_t)>(from, 200);
    auto two = sennit::swapstack<void(float, bool)>(one.from, one.value, true);
    from = two.from;
  }
}

struct pair {
  alignas(8) float real;
  alignas(8) bool yes;
};

NOINLINE void few_values() {
  sennit_context other = sennit::newstack<by_turns>(first.top());
  for (int i = 0; i < 1000; ++i) {
    const float real = from_bits<float>(random_bits());
    auto one = sennit::swapstack<std::uint8_t()>(other);
    EXPECT(one.value == 200);
    auto two = sennit::swapstack<pair(float)>(one.from, real);
    EXPECT(same(two.value.real, real) && two.value.yes);
    other = two.from;
  }
}

// Each number of words both ways, up to one that no longer goes in registers.
template <std::size_t In, std::size_t Out>
void answer_numbers(sennit_context from, numbers<In> in) {
  for (std::uint64_t round = 0;; ++round) {
    EXPECT(are_from(in, round));
    trash();
    const auto got = sennit::swapstack<numbers<In>(numbers<Out>)>(from, numbers_from<Out>(round + 7));
    from = got.from;
    in = got.value;
  }
}

template <std::size_t In, std::size_t Out>
NOINLINE void exchange_numbers() {
  sennit_context other = sennit::newstack<answer_numbers<In, Out>>(first.top());
  for (std::uint64_t round = 0; round < 20; ++round) {
    const std::uint64_t alive = random_bits();
    sennit::transfer<numbers<Out>> got;
    if (round % 2 == 0) {
      got = sennit::swapstack<numbers<Out>(numbers<In>)>(other, numbers_from<In>(round));
    } else {
      try {
        throw alive;
      } catch (std::uint64_t caught) {
        got = sennit::swapstack<numbers<Out>(numbers<In>)>(other, numbers_from<In>(round));
        EXPECT(caught == alive);
      }
    }
    EXPECT(are_from(got.value, round + 7));
    other = got.from;
  }
}

NOINLINE bool is(long double got, long double wanted) {
  return got == wanted;
}

// By itself, and beside others: in registers, and in the sender's frame.
template <std::size_t N>
void gives_back_long_double(sennit_context from, long double value, numbers<N> others) {
  for (;;) {
    EXPECT(is(value, 1.5L));
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
    EXPECT(is(got.value.real, 1.5L));
    EXPECT(are_from(got.value.others, 3));
    got = sennit::swapstack<both(long double)>(got.from, got.value.real);
  }
}

NOINLINE void long_doubles() {
  exchange_long_doubles<1>(first.top());
  exchange_long_doubles<4>(first.top());
  exchange_long_doubles<12>(first.top());
}

NOINLINE void each_number_of_values() {
  exchange_numbers<1, 8>();
  exchange_numbers<8, 1>();
  exchange_numbers<5, 4>();
  exchange_numbers<3, 6>();
  exchange_numbers<7, 7>();
  exchange_numbers<8, 8>();
  exchange_numbers<9, 8>();
  exchange_numbers<8, 9>();
}

void echo(sennit_context from, std::uint64_t value) {
  for (;;) {
    trash();
    auto got = sennit::swapstack<std::uint64_t(std::uint64_t)>(from, value);
    from = got.from;
    value = got.value;
  }
}

sennit_context partner;

[[gnu::always_inline]] inline std::uint64_t ask(std::uint64_t value) {
  const auto got = sennit::swapstack<std::uint64_t(std::uint64_t)>(partner, value);
  partner = got.from;
  return got.value;
}

// The frame by a base pointer, if by anything but rbp: dynamic and over-aligned objects.
NOINLINE std::uint64_t base_pointer(std::uint64_t n, std::uint64_t on_stack1, std::uint64_t b,
                                    std::uint64_t c, std::uint64_t d, std::uint64_t e, std::uint64_t f,
                                    std::uint64_t g) {
  alignas(128) volatile std::uint64_t aligned[16];
  auto* dynamic = static_cast<volatile std::uint64_t*>(__builtin_alloca((n % 7 + 1) * 8));
  for (int i = 0; i < 16; ++i)
    aligned[i] = n + i;
  dynamic[n % 7] = n * 3;
  std::uint64_t sum = ask(n);
  EXPECT(reinterpret_cast<std::uintptr_t>(aligned) % 128 == 0);
  for (int i = 0; i < 16; ++i)
    sum += aligned[i];
  return sum + dynamic[n % 7] + on_stack1 + b + c + d + e + f + g;
}

// A leaf but for the switch: its locals may be in the red zone.
NOINLINE std::uint64_t leaf(std::uint64_t n) {
  volatile std::uint64_t local[8];
  for (int i = 0; i < 8; ++i)
    local[i] = n + i;
  std::uint64_t sum = ask(n);
  for (int i = 0; i < 8; ++i)
    sum += local[i];
  return sum;
}

inline void opaque(std::uint64_t& word, double& real) {
#if defined(__aarch64__)
  __asm__ volatile("" : "+r"(word), "+w"(real));
#else
  __asm__ volatile("" : "+r"(word), "+x"(real));
#endif
}

// More alive than there are registers, of each kind.
NOINLINE std::uint64_t many_alive(std::uint64_t n) {
  std::uint64_t words[20];
  double reals[20];
  for (int i = 0; i < 20; ++i) {
    words[i] = n * (2 * i + 1);
    reals[i] = static_cast<double>(n) + 0.5 * i;
    opaque(words[i], reals[i]);
  }
  std::uint64_t sum = ask(n);
  for (int i = 0; i < 20; ++i)
    sum += words[i] ^ static_cast<std::uint64_t>(2 * reals[i]);
  return sum;
}

std::uint64_t many_alive_wanted(std::uint64_t n) {
  std::uint64_t sum = n;
  for (int i = 0; i < 20; ++i)
    sum += (n * (2 * i + 1)) ^ (2 * n + i);
  return sum;
}

// Two branches that go on at one place, with and without something between.
NOINLINE std::uint64_t branches(std::uint64_t n) {
  std::uint64_t sum = 1;
  for (std::uint64_t i = 0; i < n; ++i) {
    if ((i * 5) % 3 == 0) {
      trash();
      sum += ask(i);
    } else if (i % 2 == 0) {
      sum += ask(i + 1) * 2;
    } else {
      sum += ask(i * 2);
    }
    sum ^= i;
  }
  return sum;
}

std::uint64_t branches_wanted(std::uint64_t n) {
  std::uint64_t sum = 1;
  for (std::uint64_t i = 0; i < n; ++i) {
    sum += (i * 5) % 3 == 0 ? i : i % 2 == 0 ? (i + 1) * 2 : i * 2;
    sum ^= i;
  }
  return sum;
}

// A caller that has its values in registers which its callee must give back.
NOINLINE void frames() {
  partner = sennit::newstack<echo>(second.top());
  for (std::uint64_t n = 1; n < 200; ++n) {
    const std::uint64_t a = n * 3, b = n ^ 0x55, c = n * 7, d = n * 11, e = n * 13;
    EXPECT(base_pointer(n, 1, 2, 3, 4, 5, 6, 7) == n + 16 * n + 120 + 3 * n + 28);
    EXPECT(leaf(n) == n + 8 * n + 28);
    EXPECT(many_alive(n) == many_alive_wanted(n));
    EXPECT(branches(n) == branches_wanted(n));
    EXPECT(a + b + c + d + e == n * 34 + (n ^ 0x55));
  }
}

// The library's switches on the other side: inline, out of line, of four words.
extern "C" void library_side(sennit_context from, std::uintptr_t value, std::uintptr_t, std::uintptr_t,
                             std::uintptr_t) {
  for (;;) {
    sennit_transfer got = sennit_swapstack(from, value + 1);
    got = sennit_swapstack_call(got.from, got.value + 2);
    const sennit_transfer4 all = sennit_swapstack4(got.from, got.value + 3, 7, 8, 9);
    from = all.from;
    value = all.value[0];
  }
}

NOINLINE void with_the_library() {
  partner = sennit_newstack(first.top(), library_side);
  for (std::uint64_t n = 0; n < 100; ++n) {
    EXPECT(ask(n) == n + 1);
    EXPECT(ask(n) == n + 2);
    struct four {
      std::uint64_t words[4];
    };
    const auto got = sennit::swapstack<four(std::uint64_t)>(partner, n);
    partner = got.from;
    EXPECT(same(got.value, four{{n + 3, 7, 8, 9}}));
  }
  // Entered first by the library, resumed by it.
  sennit_transfer got = sennit_swapstack(sennit::newstack<echo>(first.top()), 41);
  for (std::uint64_t n = 0; n < 100; ++n) {
    EXPECT(got.value == (n == 0 ? 41 : n - 1));
    got = sennit_swapstack_call(got.from, n);
  }
}

// Each side handles an exception of its own when it leaves.
void catches(sennit_context from, std::uint64_t value) {
  for (;;) {
    try {
      throw value;
    } catch (std::uint64_t& caught) {
      auto got = sennit::swapstack<std::uint64_t(std::uint64_t)>(from, caught);
      from = got.from;
      value = got.value;
      try {
        throw;
      } catch (std::uint64_t& again) {
        EXPECT(&again == &caught);
      }
    }
  }
}

NOINLINE void exceptions() {
  partner = sennit::newstack<catches>(first.top());
  for (std::uint64_t n = 0; n < 100; ++n) {
    try {
      throw static_cast<int>(n);
    } catch (int caught) {
      EXPECT(ask(n) == n && caught == static_cast<int>(n));
      try {
        throw;
      } catch (int again) {
        EXPECT(again == caught);
      }
    }
  }
}

// A ring of 10,000 contexts, each made and entered with one known function, and the value through all of
// them.
constexpr int count = 10000;
sennit_context ring[count];
int at = 0;

void member(sennit_context from, std::uint64_t value) {
  const int mine = at;
  ring[mine] = from;
  volatile std::uint64_t local = value ^ static_cast<std::uint64_t>(mine);
  for (;;) {
    const std::uint64_t before = local;
    const auto got = sennit::swapstack<std::uint64_t(std::uint64_t)>(ring[mine], value + 1);
    ring[at] = got.from;
    EXPECT(at == mine && local == before);
    value = got.value;
  }
}

NOINLINE void many_contexts() {
  const auto stacks = std::make_unique<stack<4096>[]>(count);
  std::vector<sennit_context> suspended(count);
  for (at = 0; at < count; ++at) {
    auto got =
        sennit::swapstack<std::uint64_t(std::uint64_t)>(sennit::newstack<member>(stacks[at].top()), at);
    EXPECT(got.value == static_cast<std::uint64_t>(at) + 1);
    suspended[at] = got.from;
  }
  for (int round = 0; round < 3; ++round)
    for (at = 0; at < count; ++at) {
      auto got = sennit::swapstack<std::uint64_t(std::uint64_t)>(suspended[at], round * at);
      EXPECT(got.value == static_cast<std::uint64_t>(round) * at + 1);
      suspended[at] = got.from;
    }
}

}  // namespace

int main() {
  four_values();
  few_values();
  each_number_of_values();
  long_doubles();
  frames();
  with_the_library();
  exceptions();
  many_contexts();
}
