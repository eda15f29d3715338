// LWP: see queue.hpp.
#include "../peers/liblwp.hpp"
#include "queue.hpp"

int main(int argc, char** argv) {
  bench::program program(argc, argv, bench::lwp_idiom::version(),
                         "no mutex (its own idiom), and with its lock");
  program.require_one_worker("LWP has one kernel thread");

  bench::lwp_idiom::run([&] {
    bench::measure_queue<bench::lwp_idiom>(program, "no-mutex");
    bench::measure_queue<bench::lwp_locking>(program, "mutex");
  });
}
