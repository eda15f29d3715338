// LWP: see condvar.hpp.
#include "../peers/liblwp.hpp"
#include "condvar.hpp"

int main(int argc, char** argv) {
  bench::program program(argc, argv, bench::lwp_idiom::version(),
                         "no mutex (its own idiom), and with its lock");
  program.require_one_worker("LWP has one kernel thread");

  bench::lwp_idiom::run([&] {
    bench::measure_condvar<bench::lwp_idiom>(program, "no-mutex");
    bench::measure_condvar<bench::lwp_locking>(program, "mutex");
  });
}
