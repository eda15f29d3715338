// Sennit: see mutex.hpp.
#include "mutex.hpp"

#include "../peers/sennit-parallel.hpp"
#include "../peers/sennit.hpp"
#include "sennit/biased.hpp"
#include "sennit/counting_semaphore.hpp"
#include "spin_mutex.hpp"

namespace {

struct parallel_spin : bench::sennit_parallel {
  using mutex = bench::spin_mutex;
};

struct parallel_biased : bench::sennit_parallel {
  class mutex {
  public:
    BENCH_INLINE void lock() { mutex_.lock(); }
    BENCH_INLINE void unlock() { mutex_.unlock(); }

  private:
    sennit::mutex mutex_{sennit::wait_options{.bias = true}};
  };
};

template <class Semaphore>
struct parallel_semaphore : bench::sennit_parallel {
  class mutex {
  public:
    BENCH_INLINE void lock() { permit_.acquire(); }
    BENCH_INLINE void unlock() { permit_.release(); }

  private:
    Semaphore permit_{1};
  };
};

}  // namespace

int main(int argc, char** argv) {
  bench::program program(argc, argv, bench::sennit_version,
                         "local::mutex; mutex (barging), where on 1 worker the second one sleeps; "
                         "parallel-biased: biased towards the worker; parallel-spin: a mutex with its "
                         "waiters under a spin lock; parallel-semaphore: a semaphore with one permit");
  if (program.workers() == 1) {
    bench::sennit_local::run([&] { bench::measure_uncontended<bench::sennit_local>(program, "local"); });
    bench::sennit_parallel::run(1, bench::second_worker::sleeps, [&] {
      bench::measure_uncontended<bench::sennit_parallel>(program, "parallel");
      bench::measure_uncontended<parallel_biased>(program, "parallel-biased");
      bench::measure_uncontended<parallel_spin>(program, "parallel-spin");
      bench::measure_uncontended<parallel_semaphore<sennit::counting_semaphore>>(program,
                                                                                 "parallel-semaphore");
      bench::measure_uncontended<parallel_semaphore<sennit::biased_semaphore>>(program,
                                                                               "parallel-semaphore-biased");
    });
  } else {
    bench::sennit_parallel::run(program.workers(), bench::second_worker::sleeps, [&] {
      bench::measure_contended<bench::sennit_parallel>(program, "parallel");
      bench::measure_contended<parallel_biased>(program, "parallel-biased");
      bench::measure_contended<parallel_spin>(program, "parallel-spin");
    });
  }
}
