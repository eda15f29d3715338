// C++20's stackless coroutine: a frame from the heap, entered once. The coroutine is made in a function of
// its own, so that no compiler keeps the frame in the caller.
#include <coroutine>
#include <exception>

#include "../support/compiler.hpp"
#include "create.hpp"

namespace {

struct task {
  struct promise_type {
    task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_value(std::uint64_t result) noexcept { value = result; }
    void unhandled_exception() { std::terminate(); }

    std::uint64_t value = 0;
  };

  std::coroutine_handle<promise_type> handle;
};

BENCH_NOINLINE task make_task(std::uint64_t value) {
  co_return bench::opaque(value);
}

}  // namespace

int main(int argc, char** argv) {
  bench::program program(argc, argv, BENCH_COMPILER_VERSION, "frame from operator new");
  program.require_one_worker("a coroutine has one thread");

  auto* const make = bench::opaque(&make_task);
  bench::measure_create(program, BENCH_COMPILER, [&](std::uint64_t value) {
    const task made = make(value);
    made.handle.resume();
    const std::uint64_t result = made.handle.promise().value;
    made.handle.destroy();
    return result;
  });
}
