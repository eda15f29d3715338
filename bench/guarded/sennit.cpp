// Sennit: see guarded.hpp. Stacks that were used before are used again.
#include "../peers/sennit.hpp"
#include "guarded.hpp"
#include "sennit/coroutine.hpp"

int main(int argc, char** argv) {
  bench::program program(argc, argv, bench::sennit_version, "coroutine on its default stack, used again",
                         {bench::guarded_stacks()});
  program.require_one_worker("a coroutine has one thread");

  using coroutine = sennit::coroutine<long(long)>;
  bench::measure_guarded(
      program, "coroutine",
      [](long index) {
        coroutine made([](auto& self, long given) {
          self.yield(0);
          return given;
        });
        made(index);
        return made;
      },
      [](coroutine& each) { return each(0); });
}
