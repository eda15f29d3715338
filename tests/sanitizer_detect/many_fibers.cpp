// More fibers than some ThreadSanitizer runtimes can tell apart, at once and one after another.
// sanitizer: address thread undefined memory
// compiler: clang (the runtime of gcc 12 ends at 8,128 fibers)
#include <cstdlib>
#include <vector>

#include "sanitizer_detect.hpp"
#include "sennit/generator.hpp"
#include "sennit/local/runtime.hpp"

using namespace sennit::local;

int main(int argc, char**) {
  return planted::run(argc, [] {
    constexpr int count = 10'000;
    int ended = 0;
    runtime rt;
    for (int round = 0; round < 3; ++round)
      rt.run([&] {
        std::vector<fiber> fibers;
        for (int i = 0; i < count; ++i)
          fibers.push_back(spawn([&ended] {
            this_fiber::yield();
            ++ended;
          }));
        for (auto& f : fibers)
          f.join();
      });
    rt.run([&] {
      for (int i = 0; i < count; ++i)
        spawn([&ended] { ++ended; }).join();
    });
    for (int i = 0; i < count; ++i) {
      sennit::generator<int> one([](auto& yield) { yield(1); });
      for (int item : one)
        ended += item;
    }
    if (ended != 5 * count)
      std::abort();
  });
}
