// The fibers of one local runtime share objects without locks, across yields, parks, channels and joins: they
// take turns, which orders what they do.
// sanitizer: address thread undefined memory valgrind
#include <cstdlib>
#include <thread>
#include <vector>

#include "sanitizer_detect.hpp"
#include "sennit/local/channel.hpp"
#include "sennit/local/mutex.hpp"
#include "sennit/local/runtime.hpp"

using namespace sennit::local;

static void share() {
  long total = 0;
  std::vector<int> log;
  std::vector<fiber> fibers;
  mutex lock;
  channel<int> numbers;
  for (int i = 0; i < 50; ++i)
    fibers.push_back(spawn([&, i] {
      for (int round = 0; round < 20; ++round) {
        total += i;
        log.push_back(i);
        this_fiber::yield();
        const std::lock_guard hold(lock);
        total -= i;
        this_fiber::yield();
      }
      numbers.send(i);
    }));
  for (int i = 0; i < 50; ++i)
    total += *numbers.receive();
  for (auto& f : fibers)
    f.join();
  for (int i = 0; i < 3; ++i) {  // these are not joined
    spawn([&] { ++total; }).detach();
    this_fiber::yield();
    --total;
  }
  if (total != 49 * 50 / 2 || log.size() != 1000)
    std::abort();
}

int main(int argc, char**) {
  return planted::run(argc, [] {
    for (auto policy : {sennit::run_policy::fifo, sennit::run_policy::lifo, sennit::run_policy::hybrid}) {
      runtime rt({.policy = policy});
      rt.run(share);
      std::thread([&rt] { rt.run(share); }).join();  // the runtime, too, may go from thread to thread
      rt.run(share);
    }
  });
}
