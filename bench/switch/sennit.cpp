// Sennit's switch: `raw` blind to the exception globals, `inline` as shipped, `outofline`, the `ucontext` and
// `signalstack` backends. `floor` is no switch: the two indirect jumps and the two loops' branches of one,
// and nothing else.
#include "switch.hpp"

#include <cstddef>
#include <cstring>
#include <memory>

#include "../peers/sennit.hpp"
#include "sennit/detail/arch/context.h"
#include "sennit/detail/arch/signalstack_backend.h"
#include "sennit/detail/arch/ucontext_backend.h"
#include "sennit/swapstack.h"

namespace {

constexpr std::size_t stack_size = 64 * 1024;

// How each form makes a context and switches.
struct raw {
  static sennit_context make(void* top, sennit_entry entry) { return sennit_newstack(top, entry); }
  static BENCH_INLINE sennit_transfer go(sennit_context to, std::uint64_t word) {
    return sennit_swapstack_raw(to, word);
  }
};
struct shipped : raw {
  static BENCH_INLINE sennit_transfer go(sennit_context to, std::uint64_t word) {
    return sennit_swapstack(to, word);
  }
};
struct out_of_line : raw {
  static BENCH_INLINE sennit_transfer go(sennit_context to, std::uint64_t word) {
    return sennit_swapstack_call(to, word);
  }
};
struct ucontext {
  static sennit_context make(void* top, sennit_entry entry) { return sennit_ucontext_newstack(top, entry); }
  static BENCH_INLINE sennit_transfer go(sennit_context to, std::uint64_t word) {
    return sennit_ucontext_swapstack(to, word);
  }
};
struct signalstack {
  static sennit_context make(void* top, sennit_entry entry) {
    return sennit_signalstack_newstack(top, entry);
  }
  static BENCH_INLINE sennit_transfer go(sennit_context to, std::uint64_t word) {
    return sennit_signalstack_swapstack(to, word);
  }
};

template <class Form>
void plain(sennit_context from, std::uintptr_t, std::uintptr_t, std::uintptr_t, std::uintptr_t) noexcept {
  for (;;)
    from = Form::go(from, 0).from;
}

template <class Form>
void with_ten_values(sennit_context from, std::uintptr_t, std::uintptr_t, std::uintptr_t,
                     std::uintptr_t) noexcept {
  bench::loop_with_ten_values(bench::other_side_goes_on, [&] { from = Form::go(from, 0).from; });
}

void with_values(sennit_context from, std::uintptr_t a, std::uintptr_t b, std::uintptr_t c,
                 std::uintptr_t d) noexcept {
  for (;;) {
    const bench::four_values values = bench::advance({a, b, c, d});
    const sennit_transfer4 got = sennit_swapstack4(from, values.a, values.b, values.c, values.d);
    from = got.from;
    a = got.value[0], b = got.value[1], c = got.value[2], d = got.value[3];
  }
}

class stack {
public:
  void* top() {
    const auto high = reinterpret_cast<std::uintptr_t>(memory_.get()) + stack_size - 64;
    return reinterpret_cast<void*>(high & ~std::uintptr_t{63});
  }

private:
  std::unique_ptr<char[]> memory_{new char[stack_size]};
};

template <class Form>
void measure_plain(bench::program& program, const char* variant) {
  auto* const own = new stack;  // its context never ends
  sennit_context other = Form::make(own->top(), plain<Form>);
  program.measure(variant, {}, "switch", 2, [&](std::uint64_t count) {
    for (; count != 0; --count)
      other = Form::go(other, 0).from;
  });
}

template <class Form>
void measure_ten_values(bench::program& program, const char* variant) {
  auto* const own = new stack;
  sennit_context other = Form::make(own->top(), with_ten_values<Form>);
  program.measure(variant, {}, "switch", 2, [&](std::uint64_t count) {
    bench::loop_with_ten_values(count, [&] { other = Form::go(other, 0).from; });
  });
}

void measure_values(bench::program& program) {
  auto* const own = new stack;
  sennit_context other = sennit_newstack(own->top(), with_values);
  program.measure("value4", {}, "switch", 2, [&](std::uint64_t count) {
    bench::exchange_four_values(count, [&](bench::four_values values) -> bench::four_values {
      const sennit_transfer4 got = sennit_swapstack4(other, values.a, values.b, values.c, values.d);
      other = got.from;
      return {got.value[0], got.value[1], got.value[2], got.value[3]};
    });
  });
}

// Eight words each way, as `value4`.
struct eight_values {
  std::uint64_t a, b, c, d, e, f, g, h;
};

BENCH_INLINE eight_values advance(const eight_values& got) {
  return {got.a + 1, got.b + 1, got.c + 1, got.d + 1, got.e, got.f, got.g, got.h};
}

void with_eight_values(sennit_context from, eight_values values) noexcept {
  for (;;) {
    const auto got = sennit::swapstack<eight_values(eight_values)>(from, advance(values));
    from = got.from;
    values = got.value;
  }
}

void measure_eight_values(bench::program& program) {
  auto* const own = new stack;
  sennit_context other = sennit::newstack<with_eight_values>(own->top());
  program.measure("value8", {}, "switch", 2, [&](std::uint64_t count) {
    eight_values values = {0, bench::opaque(std::uint64_t{1}), 2, 3, 4, 5,
                           6, bench::opaque(std::uint64_t{7})};
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto got = sennit::swapstack<eight_values(eight_values)>(other, values);
      other = got.from;
      values = advance(got.value);
    }
    bench::require(values.a == 2 * count && values.d == 2 * count + 3 && values.h == 7,
                   "values were lost in a switch");
  });
}

// `N` words each way, more than go in registers: each side sends one object, and reads what it receives.
template <std::size_t N>
struct words {
  std::uint64_t each[N];
};

template <std::size_t N>
void sends_words(sennit_context from, words<N> received) noexcept {
  words<N> sent = received;
  for (std::uint64_t first = received.each[0];;) {
    sent.each[0] = first + 1;
    const auto got = sennit::swapstack<words<N>(words<N>)>(from, sent);
    from = got.from;
    first = got.value.each[0];
    bench::consume(got.value.each[N - 1]);
  }
}

template <std::size_t N>
void measure_words(bench::program& program, const char* variant) {
  auto* const own = new stack;
  sennit_context other = sennit::newstack<sends_words<N>>(own->top());
  program.measure(variant, {}, "switch", 2, [&](std::uint64_t count) {
    words<N> sent = {};
    sent.each[N - 1] = bench::opaque(std::uint64_t{1});
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto got = sennit::swapstack<words<N>(words<N>)>(other, sent);
      other = got.from;
      sent.each[0] = got.value.each[0];
      bench::consume(got.value.each[N - 1]);
    }
    bench::require(sent.each[0] == count, "values were lost in a switch");
  });
}

// The same by the return area of the paper's section 3.2: a side that suspends itself has room for the
// values that it will receive, and passes its address. The other side writes the values there.
template <std::size_t N>
void sends_words_to_area(sennit_context from, std::uintptr_t area, std::uintptr_t first_area, std::uintptr_t,
                         std::uintptr_t) noexcept {
  words<N> received;
  std::memcpy(&received, reinterpret_cast<const words<N>*>(first_area), sizeof received);
  words<N> sent = received;
  for (std::uint64_t first = received.each[0];;) {
    sent.each[0] = first + 1;
    std::memcpy(reinterpret_cast<words<N>*>(area), &sent, sizeof sent);
    const sennit_transfer4 got =
        sennit_swapstack4(from, reinterpret_cast<std::uintptr_t>(&received), 0, 0, 0);
    from = got.from;
    area = got.value[0];
    first = received.each[0];
    bench::consume(received.each[N - 1]);
  }
}

template <std::size_t N>
void measure_words_by_area(bench::program& program, const char* variant) {
  auto* const own = new stack;
  words<N> received = {};
  const auto area = reinterpret_cast<std::uintptr_t>(&received);
  sennit_transfer4 got =
      sennit_swapstack4(sennit_newstack(own->top(), sends_words_to_area<N>), area, area, 0, 0);
  program.measure(variant, {}, "switch", 2, [&](std::uint64_t count) {
    words<N> sent = {};
    sent.each[N - 1] = bench::opaque(std::uint64_t{1});
    for (std::uint64_t i = 0; i < count; ++i) {
      std::memcpy(reinterpret_cast<words<N>*>(got.value[0]), &sent, sizeof sent);
      got = sennit_swapstack4(got.from, area, 0, 0, 0);
      sent.each[0] = received.each[0];
      bench::consume(received.each[N - 1]);
    }
    bench::require(sent.each[0] == count, "values were lost in a switch");
  });
}

void measure_floor([[maybe_unused]] bench::program& program) {
#if defined(__x86_64__)
  program.measure("floor", {}, "switch", 2, [](std::uint64_t count) {
    __asm__ volatile(
        "leaq 3f(%%rip), %%rax\n\t"
        ".p2align 4\n"
        "1:\tleaq 2f(%%rip), %%rdx\n\t"
        "jmpq *%%rax\n\t"
        ".p2align 4\n"
        "2:\tdecq %0\n\t"
        "jnz 1b\n\t"
        "jmp 5f\n\t"
        ".p2align 4\n"
        "3:\tleaq 4f(%%rip), %%rax\n\t"
        "jmpq *%%rdx\n\t"
        ".p2align 4\n"
        "4:\tjmp 3b\n"
        "5:"
        : "+r"(count)
        :
        : "rax", "rdx", "cc");
  });
#endif
}

}  // namespace

int main(int argc, char** argv) {
  bench::program program(argc, argv, bench::sennit_version,
                         "x86-64 or AArch64 switch; the ucontext and signal stack backends beside it");
  program.require_one_worker("a context has one thread");

  measure_plain<raw>(program, "raw");
  measure_plain<shipped>(program, "inline");
  measure_plain<out_of_line>(program, "outofline");
  measure_plain<ucontext>(program, "ucontext");
  measure_plain<signalstack>(program, "signalstack");
  measure_ten_values<shipped>(program, "live10");
  measure_ten_values<out_of_line>(program, "live10-outofline");
  measure_values(program);
  measure_eight_values(program);
  measure_words<16>(program, "words16");
  measure_words_by_area<16>(program, "words16-area");
  measure_words<64>(program, "words64");
  measure_words_by_area<64>(program, "words64-area");
  measure_words<512>(program, "words512");
  measure_words_by_area<512>(program, "words512-area");
  measure_floor(program);
}
