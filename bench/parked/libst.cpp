// State Threads: threads that wait for a condition variable; see parked.hpp. They share one kernel thread and
// are never preempted, so they need no mutex.
#include "../peers/libst.hpp"

#include <memory>

#include "parked.hpp"

namespace {

using threads = bench::state_threads<bench::idiom>;

struct gate : bench::joined_fibers<threads::fiber> {
  explicit gate(long n) : joined_fibers(n), opened(st_cond_new()) {}
  gate(const gate&) = delete;
  gate& operator=(const gate&) = delete;
  ~gate() { st_cond_destroy(opened); }
  void wait() {
    while (!is_open)
      st_cond_wait(opened);
  }
  void open() {
    is_open = true;
    st_cond_broadcast(opened);
  }
  st_cond_t opened;
  bool is_open = false;
};

// Its threads take one word.
template <class Function>
void* call(void* argument) {
  const std::unique_ptr<Function> function(static_cast<Function*>(argument));
  (*function)();
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  bench::program program(argc, argv, threads::version(),
                         "stacks of 8 KiB, which it rounds up to its own least", {bench::parked_fibers()});
  program.require_one_worker("all its threads share one kernel thread");
  threads::run([&] {
    bench::measure_parked<gate>(
        program, "",
        [](gate& its, auto function) {
          using type = decltype(function);
          its.add(threads::fiber([](void* argument) -> void* { return call<type>(argument); },
                                 new type(function), 8 * 1024));
        },
        [] { threads::yield(); });
  });
}
