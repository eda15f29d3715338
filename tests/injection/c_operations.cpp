// Operations of the C API: each function that makes or starts something.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "injection.hpp"
#include "sennit/sennit.h"

namespace injection {

namespace {

// The library may be a debug build.
const sennit_runtime_options without_reports = [] {
  sennit_runtime_options options{};
  options.report_deadlock = -1;
  return options;
}();

void make_runtime() {
  sennit_runtime* made = nullptr;
  if (attempt_c([&] { return sennit_runtime_create(&made, &without_reports); }))
    must(sennit_runtime_destroy(made) == 0);
}

// Runs `function` as a fiber.
void in_c_fiber(sennit_function function) {
  sennit_runtime* runtime = nullptr;
  must(sennit_runtime_create(&runtime, &without_reports) == 0);
  must(sennit_runtime_run(runtime, function, nullptr) == 0);
  must(sennit_runtime_destroy(runtime) == 0);
}

void nothing(void*) {}

void run() {
  sennit_runtime* runtime = nullptr;
  must(sennit_runtime_create(&runtime, &without_reports) == 0);
  attempt_c([&] { return sennit_runtime_run(runtime, nothing, nullptr); });
  must(sennit_runtime_destroy(runtime) == 0);
}

void post() {
  sennit_runtime* runtime = nullptr;
  must(sennit_runtime_create(&runtime, &without_reports) == 0);
  attempt_c([&] { return sennit_runtime_post(runtime, nothing, nullptr); });
  must(sennit_runtime_destroy(runtime) == 0);
}

void spawn() {
  in_c_fiber([](void*) {
    sennit_fiber* made = nullptr;
    sennit_fiber_options options{};
    options.name = "made";
    options.stack_size = 128 * 1024;
    if (attempt_c([&] { return sennit_fiber_spawn(&made, nothing, nullptr, &options); }))
      must(sennit_fiber_join(made, SENNIT_NEVER) == 0);
  });
}

void become() {
  in_c_fiber([](void*) {
    sennit_fiber* made = nullptr;
    const auto becomes = [](void*) {
      static const char state[2000]{};
      const int failed = sennit_become(nothing, state, sizeof state, sennit_now() + 1'000'000);
      note(outcome::system_error, -failed);
    };
    must(sennit_fiber_spawn(&made, becomes, nullptr, nullptr) == 0);
    attempt_c([&] { return sennit_fiber_join(made, SENNIT_NEVER); });
  });
}

template <class Object>
struct maker {
  template <int (*Make)(Object**), auto Destroy>
  static void run() {
    in_c_fiber([](void*) {
      Object* made = nullptr;
      if (attempt_c([&] { return Make(&made); }))
        Destroy(made);
    });
  }
};

int make_channel(sennit_channel** made) {
  return sennit_channel_create(made, 300, 8);
}
void send() {
  in_c_fiber([](void*) {
    sennit_channel* channel = nullptr;
    char element[300]{};
    must(sennit_channel_create(&channel, sizeof element, 1) == 0);
    attempt_c([&] { return sennit_channel_send(channel, element); });
    must(sennit_channel_destroy(channel) == 0);
  });
}

int make_coroutine(sennit_coroutine** made) {
  return sennit_coroutine_create(
      made, [](sennit_coroutine*, void*, std::uintptr_t first) { return first; }, nullptr, 0);
}
int make_listener(sennit_tcp_listener** made) {
  return sennit_tcp_listener_listen(made, "127.0.0.1", 0, 0);
}
int make_signals(sennit_signal_set** made) {
  const int signals[] = {SIGUSR1};
  return sennit_signal_set_create(made, signals, 1);
}
int make_readiness(sennit_readiness** made) {
  return sennit_readiness_create(made, 0);
}
int open_file(sennit_file** made) {
  return sennit_file_open(made, "/dev/null", O_RDONLY, 0);
}

void connect() {
  in_c_fiber([](void*) {
    sennit_tcp_listener* listener = nullptr;
    must(make_listener(&listener) == 0);
    const auto port = static_cast<std::uint16_t>(sennit_tcp_listener_port(listener));
    sennit_tcp_stream* made = nullptr;
    if (attempt_c([&] { return sennit_tcp_stream_connect(&made, "127.0.0.1", port, SENNIT_NEVER); }))
      sennit_tcp_stream_close(made);
    sennit_tcp_listener_close(listener);
  });
}

// Waits for an operation that was begun, and returns its result.
template <class Operation, class Begin>
int ended(Begin begin) {
  struct mine {
    Operation operation;
    sennit_fiber* waits;
    int result;
  } one{{}, sennit_self(), 0};
  one.operation.done = [](Operation* operation, int result) {
    auto* const of = reinterpret_cast<mine*>(operation);
    of->result = result;
    if constexpr (requires { operation->stream; })
      sennit_tcp_stream_close(operation->stream);
    sennit_fiber_unpark(of->waits);
  };
  const int begun = begin(&one.operation);
  if (begun != 0)
    return begun;
  sennit_self_park();
  return one.result;
}

void connect_in_background() {
  in_c_fiber([](void*) {
    sennit_tcp_listener* listener = nullptr;
    must(make_listener(&listener) == 0);
    const auto port = static_cast<std::uint16_t>(sennit_tcp_listener_port(listener));
    attempt_c([&] {
      return ended<sennit_async_stream>([&](sennit_async_stream* one) {
        return sennit_tcp_stream_async_connect(nullptr, "127.0.0.1", port, SENNIT_NEVER, one);
      });
    });
    sennit_tcp_listener_close(listener);
  });
}

// A connection that was refused for want of a descriptor: the accept waits for another, until it is
// cancelled.
void accept_in_background() {
  in_c_fiber([](void*) {
    sennit_tcp_listener* listener = nullptr;
    sennit_tcp_stream* client = nullptr;
    must(make_listener(&listener) == 0);
    const auto port = static_cast<std::uint16_t>(sennit_tcp_listener_port(listener));
    must(sennit_tcp_stream_connect(&client, "127.0.0.1", port, SENNIT_NEVER) == 0);
    attempt_c([&] {
      const int result = ended<sennit_async_stream>([&](sennit_async_stream* one) {
        const int begun = sennit_tcp_listener_async_accept(listener, nullptr, one);
        sennit_self_yield();
        if (current->kind == static_cast<int>(call_kind::accept))
          sennit_tcp_listener_cancel(listener);
        return begun;
      });
      return result == -ECANCELED && current->injected > 0 ? 0 : result;
    });
    sennit_tcp_stream_close(client);
    sennit_tcp_listener_close(listener);
  });
}

void read_in_background() {
  in_c_fiber([](void*) {
    sennit_file* file = nullptr;
    static char bytes[8];
    must(open_file(&file) == 0);
    attempt_c([&] {
      return ended<sennit_async_transfer>([&](sennit_async_transfer* one) {
        return sennit_file_async_read_at(file, nullptr, 0, bytes, sizeof bytes, one);
      });
    });
    sennit_file_close(file);
  });
}

void offload() {
  in_c_fiber([](void*) { attempt_c([] { return sennit_offload(nothing, nullptr); }); });
}

void look_up() {
  in_c_fiber([](void*) {
    char** found = nullptr;
    if (attempt_c([&] { return sennit_host_look_up("127.0.0.1", &found, SENNIT_NEVER); }))
      std::free(found);
  });
}

}  // namespace

void add_c_operations(std::vector<operation>& all) {
  all.insert(
      all.end(),
      {{"C: sennit_runtime_create", make_runtime},
       {"C: sennit_runtime_run", run},
       {"C: sennit_runtime_post", post},
       {"C: sennit_fiber_spawn", spawn},
       {"C: sennit_become", become},
       {"C: sennit_mutex_create", maker<sennit_mutex>::run<sennit_mutex_create, sennit_mutex_destroy>},
       {"C: sennit_condition_create",
        maker<sennit_condition>::run<sennit_condition_create, sennit_condition_destroy>},
       {"C: sennit_channel_create", maker<sennit_channel>::run<make_channel, sennit_channel_destroy>},
       {"C: sennit_channel_send", send},
       {"C: sennit_coroutine_create", maker<sennit_coroutine>::run<make_coroutine, sennit_coroutine_destroy>},
       {"C: sennit_tcp_listener_listen",
        maker<sennit_tcp_listener>::run<make_listener, sennit_tcp_listener_close>},
       {"C: sennit_tcp_stream_connect", connect},
       {"C: sennit_signal_set_create",
        maker<sennit_signal_set>::run<make_signals, sennit_signal_set_destroy>},
       {"C: sennit_readiness_create", maker<sennit_readiness>::run<make_readiness, sennit_readiness_destroy>},
       {"C: sennit_file_open", maker<sennit_file>::run<open_file, sennit_file_close>},
       {"C: sennit_tcp_stream_async_connect", connect_in_background},
       {"C: sennit_tcp_listener_async_accept", accept_in_background},
       {"C: sennit_file_async_read_at", read_in_background},
       {"C: sennit_offload", offload},
       {"C: sennit_host_look_up", look_up}});
}

}  // namespace injection
