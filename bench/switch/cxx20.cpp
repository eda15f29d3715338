// C++20's stackless coroutine, the least a compiler can make of one: a frame that is entered by an indirect
// call (the resume) and left by a return (the yield). Each counts as a switch.
#include <coroutine>
#include <exception>

#include "../support/compiler.hpp"
#include "switch.hpp"

namespace {

class coroutine {
public:
  struct promise_type {
    coroutine get_return_object() { return coroutine(handle::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() { std::terminate(); }

    bench::four_values values;
  };
  using handle = std::coroutine_handle<promise_type>;

  coroutine(coroutine&& other) = delete;
  ~coroutine() { handle_.destroy(); }

  /// The handle, about which the compiler knows nothing: the resume is an indirect call.
  handle opaque() const { return handle::from_address(bench::opaque(handle_.address())); }

private:
  explicit coroutine(handle self) : handle_(self) {}
  handle handle_;
};

/// `co_await own_promise{}` gives the running coroutine's promise.
struct own_promise {
  bool await_ready() const noexcept { return false; }
  bool await_suspend(coroutine::handle self) noexcept {
    promise = &self.promise();
    return false;
  }
  coroutine::promise_type& await_resume() const noexcept { return *promise; }
  coroutine::promise_type* promise = nullptr;
};

BENCH_NOINLINE coroutine plain() {
  for (;;)
    co_await std::suspend_always{};
}

BENCH_NOINLINE coroutine with_ten_values() {
  bench::ten_values values;
  while (bench::other_side_goes_on()) {
    co_await std::suspend_always{};
    values.add();
  }
  values.need();
}

BENCH_NOINLINE coroutine with_values() {
  auto& promise = co_await own_promise{};
  for (;;) {
    promise.values = bench::advance(promise.values);
    co_await std::suspend_always{};
  }
}

}  // namespace

int main(int argc, char** argv) {
  bench::program program(argc, argv, BENCH_COMPILER_VERSION,
                         "own minimal coroutine type, resumed through an unknown handle");
  program.require_one_worker("a coroutine has one thread");

  const coroutine plain_coroutine = plain();
  program.measure(BENCH_COMPILER, {}, "switch", 2, [target = plain_coroutine.opaque()](std::uint64_t count) {
    for (; count != 0; --count)
      target.resume();
  });
  const coroutine ten_values_coroutine = with_ten_values();
  program.measure("live10-" BENCH_COMPILER, {}, "switch", 2,
                  [target = ten_values_coroutine.opaque()](std::uint64_t count) {
                    bench::loop_with_ten_values(count, [&] { target.resume(); });
                  });
  const coroutine values_coroutine = with_values();
  program.measure("value4-" BENCH_COMPILER, {}, "switch", 2,
                  [target = values_coroutine.opaque()](std::uint64_t count) {
                    bench::exchange_four_values(count, [&](const bench::four_values& values) {
                      target.promise().values = values;
                      target.resume();
                      return target.promise().values;
                    });
                  });
}
