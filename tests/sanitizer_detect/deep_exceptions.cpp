// Exceptions go through many frames of fibers and generators, some of which switch while it happens.
// sanitizer: address thread undefined valgrind
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "sanitizer_detect.hpp"
#include "sennit/coroutine.hpp"
#include "sennit/generator.hpp"
#include "sennit/local/runtime.hpp"

using namespace sennit::local;

struct yields_when_destroyed {
  char pad[64] = {};
  ~yields_when_destroyed() { this_fiber::yield(); }
};

[[gnu::noinline]] static int dive(int depth, bool yields) {
  std::string text(40, 'a');
  char pad[100] = {};
  planted::opaque(&pad[0])[depth % 100] = 1;
  if (depth == 0)
    throw std::runtime_error(text);
  if (yields && depth % 10 == 0) {
    const yields_when_destroyed here;
    return dive(depth - 1, yields) + here.pad[0];
  }
  return dive(depth - 1, yields) + pad[99];
}

static void in_fibers() {
  std::vector<fiber> fibers;
  for (int i = 0; i < 8; ++i)
    fibers.push_back(spawn([i] {
      for (int round = 0; round < 20; ++round) {
        try {
          dive(10 + i, true);
          std::abort();
        } catch (const std::runtime_error&) {
          this_fiber::yield();
          try {
            throw;
          } catch (const std::runtime_error& error) {
            if (std::string(error.what()).size() != 40)
              std::abort();
          }
        }
      }
      dive(30, false);
    }));
  for (auto& f : fibers) {
    try {
      f.join();
      std::abort();
    } catch (const std::runtime_error&) {
    }
  }
}

static void in_generators() {
  for (int round = 0; round < 50; ++round) {
    sennit::generator<int> outer([round](auto& yield) {
      yield(1);
      yield.yield_all(sennit::generator<int>([round](auto& inner) {
        inner(2);
        if (round % 2 == 0)
          dive(30, false);
        inner(3);
      }));
    });
    try {
      for (int item : outer)
        if (item == 3)
          break;  // unwinds both
    } catch (const std::runtime_error&) {
    }
  }
}

int main(int argc, char**) {
  return planted::run(argc, [] {
    runtime().run(in_fibers);
    in_generators();
    runtime().run([] {
      for (int i = 0; i < 4; ++i)
        spawn(in_generators).join();
    });
  });
}
