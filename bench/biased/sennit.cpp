// Sennit: a bounded queue of a mutex and two condition variables (queue/queue.hpp) for each worker, biased or
// not, and with or without hints that keep a queue's fibers on one worker. One item is one operation. The
// first seed's section 6.3 measures its condvar benchmark so.
#include <memory>
#include <mutex>
#include <vector>

#include "../peers/sennit-parallel.hpp"
#include "../peers/sennit.hpp"
#include "../queue/queue.hpp"

namespace {

constexpr sennit::wait_options biased{.bias = true};

struct with_bias : bench::sennit_parallel {
  class mutex {
  public:
    BENCH_INLINE void lock() { mutex_.lock(); }
    BENCH_INLINE void unlock() { mutex_.unlock(); }

  private:
    friend struct with_bias;
    sennit::mutex mutex_{biased};
  };
  class condition_variable {
  public:
    BENCH_INLINE void wait(mutex& held) {
      std::unique_lock lock(held.mutex_, std::adopt_lock);
      condition_.wait(lock);
      lock.release();
    }
    BENCH_INLINE void notify_one() { condition_.notify_one(); }

  private:
    sennit::condition_variable condition_{biased};
  };
};

template <class Library>
void measure(bench::program& program, const char* variant, bool hints) {
  const unsigned queues = program.workers();
  program.measure(variant, {}, "item", 2 * queues, [=](std::uint64_t count) {
    struct users {
      bench::bounded_queue<Library> queue;
      bench::queue_user<Library> all[4];
    };
    std::vector<std::unique_ptr<users>> each_queue;
    std::vector<sennit::fiber> running;
    const auto start = [&](unsigned queue, bench::entry run, void* user) {
      sennit::spawn_options where;
      if (hints)
        where.near = queue;
      running.push_back(sennit::spawn([run, user] { run(user); }, where));
    };
    for (unsigned i = 0; i < queues; ++i) {
      users& of = *each_queue.emplace_back(std::make_unique<users>());
      for (auto& user : of.all)
        user = {&of.queue, count};
      start(i, bench::distinct_entry<bench::producer<Library>>(0), &of.all[0]);
      start(i, bench::distinct_entry<bench::consumer<Library>>(1), &of.all[1]);
      start(i, bench::distinct_entry<bench::producer<Library>>(2), &of.all[2]);
      start(i, bench::distinct_entry<bench::consumer<Library>>(3), &of.all[3]);
    }
    for (sennit::fiber& each : running)
      each.join();
    for (const auto& of : each_queue)
      bench::require(of->all[0].sum + of->all[2].sum == of->all[1].sum + of->all[3].sum,
                     "a queue lost an item");
  });
}

}  // namespace

int main(int argc, char** argv) {
  bench::program program(
      argc, argv, bench::sennit_version,
      "fifo, 64 KiB pooled stacks; a queue for each worker; on 1 worker the second one is held");
  bench::sennit_parallel::run(program.workers(), bench::second_worker::held, [&] {
    measure<with_bias>(program, "near-biased", true);
    measure<bench::sennit_parallel>(program, "near", true);
    measure<with_bias>(program, "biased", false);
    measure<bench::sennit_parallel>(program, "unbiased", false);
  });
}
