// State Threads: see yield.hpp. Its interface has no yield. st_usleep(0) is documented to yield, and goes by
// way of the clock and the event system. Faster is a ring: each thread has a condition variable; to yield,
// wake the next thread and wait for the one before.
#include <memory>

#include "../peers/libst.hpp"
#include "yield.hpp"

namespace {

using library = bench::state_threads<bench::idiom>;

class ring_of_threads : public library {
  /// A thread's place in the ring, between its creation and its end.
  struct member {
    member(bench::entry entry, void* entry_argument) : start(entry), argument(entry_argument) {
      if (last != nullptr) {
        next = last->next;
        last->next = this;
      }
      previous = last == nullptr ? this : last;
      next->previous = this;
      last = this;
    }
    ~member() { st_cond_destroy(turn); }

    bench::entry start;
    void* argument;
    st_cond_t turn = st_cond_new();
    member* next = this;
    member* previous;
  };

public:
  class fiber {
  public:
    fiber(bench::entry start, void* argument)
        : member_(new member{start, argument}), fiber_(&run, member_.get()) {}
    void join() { fiber_.join(); }

  private:
    std::unique_ptr<member> member_;
    library::fiber fiber_;
  };

  static void yield() {
    member* const self = running;
    st_cond_signal(self->next->turn);
    st_cond_wait(self->turn);
    running = self;
  }

private:
  static void* run(void* argument) {
    auto* const self = static_cast<member*>(argument);
    running = self;
    self->start(self->argument);
    self->previous->next = self->next;
    self->next->previous = self->previous;
    if (last == self)
      last = self->previous == self ? nullptr : self->previous;
    st_cond_signal(self->next->turn);
    return nullptr;
  }

  static inline member* running = nullptr;
  static inline member* last = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  bench::program program(argc, argv, library::version(),
                         "ring: a condition variable each, wake the next and wait; st_usleep(0)",
                         bench::yield_parameters());
  program.require_one_worker("State Threads has one kernel thread");

  library::run([&] {
    bench::measure_yield<ring_of_threads>(program, "ring");
    bench::measure_yield<library>(program, "st_usleep");
  });
}
