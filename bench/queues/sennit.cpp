// Sennit's wait queue and its rivals, which its opening comment rejects: see queues.hpp.
// (include/sennit/detail/sync/low_lock_waiters.hpp)
#include "low_lock_queue.hpp"
#include "ms_lock_free_queue.hpp"
#include "ms_two_lock_queue.hpp"
#include "queues.hpp"
#include "recovering_read.hpp"
#include "spin_lock_queue.hpp"
#include "wait_queue.hpp"

#include "../peers/sennit.hpp"

int main(int argc, char** argv) {
  bench::program program(
      argc, argv, bench::sennit_version,
      "sennit: the wait queue; seed: the paper's queue; ms: Michael and Scott's; OS threads on as many "
      "CPUs as there are workers",
      bench::queues_parameters());
  bench::measure_queue<bench::wait_queue>(program, "sennit");
  bench::measure_queue<bench::low_lock_queue<bench::stable_read>>(program, "seed");
#if defined(BENCH_HAS_RECOVERING_READ)
  if (program.wants("seed-recovering")) {
    bench::recovering_read::install();
    bench::check_queue<bench::unmapping_queue>();
    bench::measure_queue<bench::low_lock_queue<bench::recovering_read>>(program, "seed-recovering");
  }
#else
  program.unsupported("seed-recovering", {}, "its handler knows only the registers of x86-64");
#endif
  bench::measure_queue<bench::ms_lock_free_queue>(program, "ms-lock-free");
  bench::measure_queue<bench::ms_two_lock_queue>(program, "ms-two-lock");
  bench::measure_queue<bench::spin_lock_queue>(program, "spinlock");
}
