// Boost.Fiber: fibers that wait for a condition variable; see parked.hpp.
#include "../peers/boost-fiber.hpp"

#include <mutex>

#include "parked.hpp"

namespace {

struct gate : bench::joined_fibers<boost::fibers::fiber> {
  using joined_fibers::joined_fibers;
  void wait() {
    std::unique_lock hold(mutex);
    opened.wait(hold, [this] { return is_open; });
  }
  void open() {
    const std::unique_lock hold(mutex);
    is_open = true;
    opened.notify_all();
  }
  boost::fibers::mutex mutex;
  boost::fibers::condition_variable opened;
  bool is_open = false;
};

}  // namespace

int main(int argc, char** argv) {
  bench::program program(argc, argv, bench::boost_fibers<>::version(), "pooled stacks of 8 KiB",
                         {bench::parked_fibers()});
  program.require_one_worker("its default scheduler runs on one kernel thread");
  boost::fibers::pooled_fixedsize_stack stacks(8 * 1024);
  bench::measure_parked<gate>(
      program, "",
      [&stacks](gate& its, auto function) {
        its.add(boost::fibers::fiber(std::allocator_arg, stacks, function));
      },
      [] { boost::this_fiber::yield(); });
}
