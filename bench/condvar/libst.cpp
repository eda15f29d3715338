// State Threads: see condvar.hpp.
#include "../peers/libst.hpp"
#include "condvar.hpp"

int main(int argc, char** argv) {
  bench::program program(argc, argv, bench::state_threads<bench::idiom>::version(),
                         "no mutex (its own idiom), and with its mutex");
  program.require_one_worker("State Threads has one kernel thread");

  bench::state_threads<bench::idiom>::run([&] {
    bench::measure_condvar<bench::state_threads<bench::idiom>>(program, "no-mutex");
    bench::measure_condvar<bench::state_threads<bench::locking>>(program, "mutex");
  });
}
