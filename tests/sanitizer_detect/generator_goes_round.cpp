// A generator and a coroutine are handed from thread to thread, properly, and each thread continues where the
// last one stopped; their idle coroutines are reused by all of them.
// sanitizer: address thread undefined valgrind
#include <condition_variable>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "sanitizer_detect.hpp"
#include "sennit/coroutine.hpp"
#include "sennit/generator.hpp"

using sennit::coroutine;
using sennit::generator;

static constexpr int threads = 4;
static constexpr int rounds = 50;

static generator<std::unique_ptr<int>> numbers(int depth) {
  return generator<std::unique_ptr<int>>([depth](auto& yield) {
    std::vector<int> own;
    for (int i = 0; i < threads * rounds; ++i) {
      own.push_back(i);
      if (depth > 0 && i % 10 == 0)
        for (auto&& inner : numbers(depth - 1))
          if (*inner == 3)
            break;
      yield(std::make_unique<int>(own.back()));
    }
  });
}

int main(int argc, char**) {
  return planted::run(argc, [] {
    std::mutex lock;
    std::condition_variable changed;
    int turn = 0;
    auto source = numbers(2);
    auto it = source.begin();
    coroutine<long(int)> sum([](auto& self, int first) {
      long total = first;
      for (;;)
        total += self.yield(total);
      return total;
    });
    long last = 0;
    const auto work = [&](int me) {
      for (int round = 0; round < rounds; ++round) {
        std::unique_lock hold(lock);
        changed.wait(hold, [&] { return turn % threads == me; });
        last = sum(**it);
        ++it;
        ++turn;
        changed.notify_all();
      }
    };
    std::vector<std::thread> all;
    for (int i = 0; i < threads; ++i)
      all.emplace_back(work, i);
    for (auto& t : all)
      t.join();
    const long count = threads * rounds;
    if (last != count * (count - 1) / 2 || it != source.end())
      std::abort();
  });
}
