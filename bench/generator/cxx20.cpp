// C++20's stackless generator, as small as one can be written: `generator` for a flat walk,
// `recursive_generator` for a nested one, where each level transfers control to the next directly and an
// element goes to the consumer at no cost per level. Generators are made out of the consumer's sight, so
// their frames come from the heap.
#include <coroutine>
#include <exception>

#include "../support/compiler.hpp"
#include "generator.hpp"

namespace {

class generator {
public:
  struct promise_type {
    generator get_return_object() { return generator(handle::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(std::uint64_t element) noexcept {
      value = element;
      return {};
    }
    void return_void() noexcept {}
    void unhandled_exception() { std::terminate(); }

    std::uint64_t value;
  };
  using handle = std::coroutine_handle<promise_type>;

  generator(generator&& other) = delete;
  ~generator() { handle_.destroy(); }

  bool next() {
    handle_.resume();
    return !handle_.done();
  }
  std::uint64_t value() const { return handle_.promise().value; }

private:
  explicit generator(handle self) : handle_(self) {}
  handle handle_;
};

class recursive_generator {
public:
  struct promise_type;
  using handle = std::coroutine_handle<promise_type>;

  /// At the end of a generator its walker resumes; at the end of the outermost, the consumer.
  struct back_to_outer {
    bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(handle self) const noexcept {
      const promise_type& promise = self.promise();
      if (!promise.outer)
        return std::noop_coroutine();
      promise.outermost->innermost = promise.outer;
      return promise.outer;
    }
    void await_resume() const noexcept {}
  };

  struct into_inner {
    bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(handle self) const noexcept {
      promise_type& promise = inner.promise();
      promise.outer = self;
      promise.outermost = self.promise().outermost;
      promise.outermost->innermost = inner;
      return inner;
    }
    void await_resume() const noexcept { inner.destroy(); }
    handle inner;
  };

  struct promise_type {
    recursive_generator get_return_object() { return recursive_generator(handle::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    back_to_outer final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(std::uint64_t element) noexcept {
      outermost->value = element;
      return {};
    }
    into_inner yield_value(recursive_generator&& inner) noexcept { return {inner.release()}; }
    void return_void() noexcept {}
    void unhandled_exception() { std::terminate(); }

    promise_type* outermost = this;
    handle innermost = handle::from_promise(*this);  // of the outermost only
    handle outer = nullptr;
    std::uint64_t value;  // of the outermost only
  };

  recursive_generator(recursive_generator&& other) = delete;
  ~recursive_generator() {
    if (handle_)
      handle_.destroy();
  }

  bool next() {
    handle_.promise().innermost.resume();
    return !handle_.done();
  }
  std::uint64_t value() const { return handle_.promise().value; }

private:
  explicit recursive_generator(handle self) : handle_(self) {}
  handle release() {
    const handle self = handle_;
    handle_ = nullptr;
    return self;
  }

  handle handle_;
};

BENCH_NOINLINE generator count_to(std::uint64_t limit) {
  for (std::uint64_t value = 0; value < limit; ++value)
    co_yield value;
}

BENCH_NOINLINE recursive_generator walk(const bench::node* node) {
  if (node->left != nullptr)
    co_yield walk(node->left);
  co_yield node->value;
  if (node->right != nullptr)
    co_yield walk(node->right);
}

template <class Generator>
std::uint64_t sum_of(Generator&& generator) {
  std::uint64_t sum = 0;
  while (generator.next())
    sum += generator.value();
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  bench::program program(argc, argv, BENCH_COMPILER_VERSION,
                         "own minimal generators, frames from operator new", bench::generator_parameters());
  program.require_one_worker("a coroutine has one thread");

  auto* const make_count = bench::opaque(&count_to);
  auto* const make_walk = bench::opaque(&walk);
  bench::measure_generator(
      program, BENCH_COMPILER, [&](std::uint64_t limit) { return sum_of(make_count(limit)); },
      [&](const bench::node* root) { return sum_of(make_walk(root)); });
}
