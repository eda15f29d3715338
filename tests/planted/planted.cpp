// Bugs planted on the stacks of fibers and generators, each of which its sanitizer must report; and, as
// `clean`, the same code without them, about which none may say a word. CMakeLists.txt says who must find
// what.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "sennit/generator.hpp"
#include "sennit/local/channel.hpp"
#include "sennit/local/runtime.hpp"

namespace {

using sennit::generator;
using namespace sennit::local;

template <class T>
T opaque(T value) {
  __asm__ volatile("" : "+r"(value) : : "memory");
  return value;
}

bool planted = false;

// Writes past an array on a generator's stack.
void stack_buffer_overflow() {
  generator<int> g([](auto& yield) {
    char buffer[16] = {};
    yield(1);
    opaque(&buffer[0])[opaque<std::size_t>(planted ? 16 : 15)] = 1;
    yield(opaque(&buffer[0])[15]);
  });
  for (int item : g)
    static_cast<void>(item);
}

// Keeps the address of a variable of a scope that a yield leaves.
void use_after_scope() {
  generator<int> g([](auto& yield) {
    int* kept = nullptr;
    int outer = 0;
    {
      int inner = 1;
      kept = opaque(planted ? &inner : &outer);
      yield(1);
    }
    *kept = 2;
    yield(outer);
  });
  for (int item : g)
    static_cast<void>(item);
}

// One fiber frees what another still uses.
void heap_use_after_free() {
  runtime().run([] {
    auto shared = std::make_unique<int>(1);
    int* raw = shared.get();
    auto owner = spawn([&] {
      if (planted)
        shared.reset();
    });
    owner.join();
    *opaque(raw) = 2;
  });
}

// Loses memory, in a fiber.
void leak() {
  runtime().run([] {
    auto child = spawn([] {
      int* lost = opaque(new int[1000]);
      if (!planted)
        delete[] lost;
      lost = opaque<int*>(nullptr);
    });
    child.join();
  });
}

void signed_overflow() {
  runtime().run([] {
    auto child = spawn([] {
      int number = opaque(planted ? 2147483647 : 1);
      number += opaque(1);
      static_cast<void>(opaque(number));
    });
    child.join();
  });
}

// A fiber and another thread write one variable.
void race_with_a_thread() {
  static long shared = 0;
  runtime().run([] {
    auto child = spawn([] {
      std::thread other([] { shared += 1; });
      if (planted)
        shared += 1;
      other.join();
      shared += 1;
    });
    child.join();
  });
}

// Two fibers of two runtimes write one variable, on a thread each.
void race_of_two_runtimes() {
  static long shared[2] = {};
  static std::atomic<int> ready{0};
  const auto work = [](int which) {
    runtime().run([which] {
      auto child = spawn([which] {
        ready.fetch_add(1, std::memory_order_relaxed);  // orders nothing, but lets both run at once
        while (ready.load(std::memory_order_relaxed) < 2)
          std::this_thread::yield();
        for (int i = 0; i < 1000; ++i) {
          ++shared[planted ? 0 : which];
          this_fiber::yield();
        }
      });
      child.join();
    });
  };
  std::thread first(work, 0);
  std::thread second(work, 1);
  first.join();
  second.join();
}

// What is right, and might be mistaken: fibers of one runtime share data between their turns, a generator
// goes from thread to thread, exceptions pass deep frames, stacks are reused, there are more fibers than
// TSan's threads.
void nothing_wrong() {
  long shared = 0;
  runtime().run([&] {
    std::vector<fiber> fibers;
    for (int i = 0; i < 10'000; ++i) {
      fibers.push_back(spawn([&] {
        ++shared;
        this_fiber::yield();
        ++shared;
      }));
    }
    for (auto& f : fibers)
      f.join();
    for (int i = 0; i < 100; ++i) {
      auto child = spawn([] {
        const auto deep = [](const auto& self, int depth) -> void {
          const std::string local(100, 'x');
          if (depth == 0)
            throw std::runtime_error(local);
          self(self, depth - 1);
        };
        try {
          deep(deep, 50);
        } catch (const std::runtime_error&) {
          this_fiber::yield();
        }
      });
      child.join();
    }
  });
  generator<long> numbers([](auto& yield) {
    for (long i = 0; i < 100; ++i)
      yield(i);
  });
  auto it = numbers.begin();
  for (int i = 0; i < 9; ++i)
    std::thread([&] { shared += *++it; }).join();
}

struct bug {
  std::string_view name;
  void (*run)();
};
constexpr bug bugs[] = {{"stack-buffer-overflow", stack_buffer_overflow},
                        {"use-after-scope", use_after_scope},
                        {"heap-use-after-free", heap_use_after_free},
                        {"leak", leak},
                        {"signed-overflow", signed_overflow},
                        {"race-with-a-thread", race_with_a_thread},
                        {"race-of-two-runtimes", race_of_two_runtimes}};

}  // namespace

int main(int argc, char** argv) {
  const std::string_view wanted = argc > 1 ? argv[1] : "clean";
  for (const bug& each : bugs) {
    if (wanted != "clean" && wanted != each.name)
      continue;
    planted = wanted != "clean";
    each.run();
  }
  if (wanted == "clean") {
    nothing_wrong();
    std::puts("nothing wrong");
  }
}
