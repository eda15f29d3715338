// Fibers in the event loop of libuv. The loop runs the program, and drives a local runtime.
//
// A runtime has a descriptor that polls readable when run_once() has something to do: a ready fiber, a
// deadline or an event. The loop watches the descriptor like any other. run_once() runs each ready fiber
// about once. In between, the loop serves its own timers and sockets.
#include <uv.h>

#include <chrono>
#include <cstdio>

#include "sennit/local/channel.hpp"
#include "sennit/local/runtime.hpp"

using namespace std::chrono_literals;

struct program {
  sennit::local::runtime runtime;
  sennit::local::channel<int> ticks{8};
  uv_poll_t fibers;
  uv_timer_t timer;
  int fired = 0;
};

// Runs the fibers. If fibers are still ready afterwards, the descriptor stays readable.
static void on_readable(uv_poll_t* handle, int, int) {
  static_cast<program*>(handle->data)->runtime.run_once();
}

// A callback of the loop sends a value to a fiber.
static void on_timer(uv_timer_t* handle) {
  auto& self = *static_cast<program*>(handle->data);
  self.runtime.post([&self, number = ++self.fired] { self.ticks.send(number); });
}

int main() {
  program self;
  uv_loop_t* loop = uv_default_loop();
  uv_poll_init(loop, &self.fibers, self.runtime.descriptor());
  self.fibers.data = &self;
  uv_poll_start(&self.fibers, UV_READABLE, on_readable);
  uv_timer_init(loop, &self.timer);
  self.timer.data = &self;
  uv_timer_start(&self.timer, on_timer, 5, 5);

  self.runtime
      .spawn([&] {
        for (int i = 0; i < 3; ++i) {
          const int tick = *self.ticks.receive();
          std::printf("a fiber got tick %d of the loop's timer\n", tick);
        }
        sennit::local::this_fiber::sleep_for(5ms);
        std::printf("it slept, while the loop went on\n");
        uv_timer_stop(&self.timer);
        uv_poll_stop(&self.fibers);  // the loop has nothing left to wait for, and ends
      })
      .detach();
  self.runtime.run_once();  // the first time: from now on the descriptor polls for the fibers

  uv_run(loop, UV_RUN_DEFAULT);
  self.ticks.close();
  std::printf("the loop has ended\n");
}
