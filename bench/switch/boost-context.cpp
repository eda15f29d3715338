// Boost.Context: its documented interface (`fiber`), and the assembly below it (`fcontext`), which is the
// fastest it has. Values travel as the pointer the switch carries.
#include <boost/context/detail/fcontext.hpp>
#include <boost/context/fiber.hpp>

#include <cstddef>
#include <memory>

#include "../peers/boost.hpp"
#include "switch.hpp"

namespace {

using bench::four_values;
using boost::context::fiber;
using boost::context::detail::fcontext_t;
using boost::context::detail::jump_fcontext;
using boost::context::detail::make_fcontext;
using boost::context::detail::transfer_t;

constexpr std::size_t stack_size = 64 * 1024;

/// A context of `entry` on a stack of its own. The stack is not unwound: `entry` never returns.
class raw_context {
public:
  explicit raw_context(void (*entry)(transfer_t))
      : stack_(new char[stack_size]), context_(make_fcontext(stack_.get() + stack_size, stack_size, entry)) {}

  /// Leaves for the context, with `data`, and returns the data it came back with.
  BENCH_INLINE void* jump(void* data) {
    const transfer_t back = jump_fcontext(context_, data);
    context_ = back.fctx;
    return back.data;
  }

private:
  std::unique_ptr<char[]> stack_;
  fcontext_t context_;
};

void plain(transfer_t from) {
  for (;;)
    from = jump_fcontext(from.fctx, nullptr);
}

void with_ten_values(transfer_t from) {
  bench::loop_with_ten_values(bench::other_side_goes_on, [&] { from = jump_fcontext(from.fctx, nullptr); });
}

void with_values(transfer_t from) {
  for (;;) {
    four_values values = bench::advance(*static_cast<four_values*>(from.data));
    from = jump_fcontext(from.fctx, &values);
  }
}

}  // namespace

int main(int argc, char** argv) {
  bench::program program(argc, argv, bench::boost_version(),
                         "fcontext assembly; fiber is the documented class over it");
  program.require_one_worker("a context has one thread");

  raw_context plain_context(&plain);
  program.measure("fcontext", {}, "switch", 2, [&](std::uint64_t count) {
    for (; count != 0; --count)
      plain_context.jump(nullptr);
  });
  fiber other([](fiber&& main) {
    for (;;)
      main = std::move(main).resume();
    return std::move(main);
  });
  program.measure("fiber", {}, "switch", 2, [&](std::uint64_t count) {
    for (; count != 0; --count)
      other = std::move(other).resume();
  });
  raw_context ten_values_context(&with_ten_values);
  program.measure("live10", {}, "switch", 2, [&](std::uint64_t count) {
    bench::loop_with_ten_values(count, [&] { ten_values_context.jump(nullptr); });
  });
  raw_context values_context(&with_values);
  program.measure("value4", {}, "switch", 2, [&](std::uint64_t count) {
    bench::exchange_four_values(
        count, [&](four_values values) { return *static_cast<four_values*>(values_context.jump(&values)); });
  });
}
