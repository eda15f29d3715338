// Operations: runtimes, coroutines, and what threads do. The smoke test, and operations with planted bugs.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <stop_token>
#include <string>
#include <thread>

#include "kinds.hpp"
#include "sennit/coroutine.hpp"
#include "sennit/dump.hpp"
#include "sennit/fiber_local.hpp"
#include "sennit/generator.hpp"
#include "sennit/stop_guard.hpp"
#include "sennit/tcp_listener.hpp"
#include "sennit/tcp_stream.hpp"

namespace injection {

namespace {

template <class Kind>
void talk() {
  typename Kind::template channel<int> numbers(1);
  auto sender = Kind::spawn([&] {
    for (int i = 0; i < 3; ++i)
      numbers.send(i);
    numbers.close();
  });
  int sum = 0;
  while (auto number = numbers.receive())
    sum += *number;
  sender.join();
  must(sum == 3);
  sennit::tcp_listener listener("127.0.0.1", 0);
  auto client =
      Kind::spawn([&] { sennit::tcp_stream::connect("127.0.0.1", listener.port()).write_all("hello"); });
  char bytes[8];
  must(listener.accept().read_some(bytes) == 5);
  client.join();
}

template <class Kind>
void make_runtime() {
  attempt([] { typename Kind::runtime runtime(Kind::usual()); });
}

template <class Kind>
void make_watched_runtime() {
  auto options = Kind::usual();
  options.report_deadlock = true;
  options.time_slice = std::chrono::milliseconds(1);
  attempt([&] {
    typename Kind::runtime runtime(options);
    runtime.run([] {});
  });
}

template <class Kind>
void run_runtime() {
  typename Kind::runtime runtime(Kind::usual());
  attempt([&] { must(runtime.run([] { return 7; }) == 7); });
  must(runtime.run([] { return 8; }) == 8);
}

template <class Kind>
void spawn_outside() {
  typename Kind::runtime runtime(Kind::usual());
  bool ran = false;
  typename Kind::fiber made;
  if (attempt(
          [&] { made = runtime.spawn([&ran] { ran = true; }, {.name = "one", .stack_size = 16 * 1024}); })) {
    runtime.run([&] { made.join(); });
    must(ran);
  }
}

template <class Kind>
void post() {
  typename Kind::runtime runtime(Kind::usual());
  typename Kind::event came;
  const std::string text(100, 'x');
  const bool posted = attempt([&] { runtime.post([&came, text] { came.set(); }); });
  runtime.run([&] {
    if (posted)
      came.wait();
  });
}

// A local post allocates when it is posted; its fiber is made later, where no caller can get an error.
void post_local_without_memory() {
  sennit::local::runtime runtime;
  int ran = 0;
  attempt([&] {
    runtime.post([&ran] { ++ran; });
    runtime.post([&ran] { ++ran; });
    runtime.run([] { sennit::local::this_fiber::yield(); });
  });
  runtime.run([&] {
    for (int i = 0; i < 1000 && ran == 0; ++i)
      sennit::local::this_fiber::sleep_for(std::chrono::milliseconds(1));
  });
}

void run_once() {
  sennit::local::runtime runtime;
  bool ran = false;
  auto made = runtime.spawn([&] { ran = true; });
  attempt([&] {
    while (runtime.run_once()) {
    }
  });
  while (!ran)
    runtime.run_once();
}

void make_generator() {
  attempt([] {
    sennit::generator<int> numbers([](auto& yield) {
      for (int i = 0; i < 3; ++i)
        yield(i);
    });
    int sum = 0;
    for (const int number : numbers)
      sum += number;
    must(sum == 3);
  });
}

void make_large_generator() {
  std::array<char, 4000> large{};
  attempt([&] {
    sennit::generator<char> bytes([large](auto& yield) { yield(large[7]); }, 256 * 1024);
    for (const char byte : bytes)
      must(byte == 0);
  });
}

void generator_throws() {
  sennit::generator<int> numbers([](auto& yield) {
    yield(1);
    throw std::system_error(ENOMEM, std::generic_category());
  });
  const auto take_all = [&] {
    for ([[maybe_unused]] const int number : numbers) {
    }
  };
  try {
    if (attempt(take_all))
      std::abort();
  } catch (...) {
  }
  if (current->kind < 0)
    note(outcome::succeeded);
}

void make_coroutine() {
  attempt([] {
    sennit::coroutine<int(int)> twice([](auto& self, int first) -> int {
      for (;;)
        first = self.yield(2 * first);
    });
    must(twice(4) == 8);
  });
}

void generators_of_a_thread() {
  std::thread([] { make_generator(); }).join();
}

// First switch of another thread than the one that made it.
void generator_moves() {
  sennit::generator<int> numbers([](auto& yield) { yield(1); });
  std::thread([&] {
    attempt([&] {
      for (const int number : numbers)
        must(number == 1);
    });
  }).join();
}

void thread_values() {
  static sennit::fiber_local<std::string> text;
  std::thread([] { attempt([] { *text = std::string(100, 'x'); }); }).join();
}

void thread_waits() {
  sennit::runtime runtime({.workers = 1});
  attempt([&] {
    sennit::event event;
    sennit::channel<std::string> texts(1);
    runtime.post([&] { event.set(); });
    event.wait();
    texts.send(std::string(100, 'x'));
    must(texts.receive()->size() == 100);
    const sennit::stop_guard guard{std::stop_token()};
    std::this_thread::yield();
    must(!event.wait_for(std::chrono::milliseconds(1)) || event.is_set());
  });
}

void dump() {
  sennit::runtime runtime({.workers = 1});
  const int to = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  runtime.run([&] { attempt([&] { sennit::dump(to); }); });
  ::close(to);
}

// ---- Planted bugs.

// clang leaves allocations out whose addresses nothing uses.
void use(const void* address) {
  __asm__ volatile("" : : "r"(address) : "memory");
}

void planted_leak() {
  attempt([] {
    const char* const first = new char[64];
    use(first);
    const std::string second(100, 'x');
    use(second.data());
    delete[] first;
  });
}

void planted_terminate() {
  attempt([]() noexcept {
    const std::string text(100, 'x');
    use(text.data());
  });
}

void planted_wrong_error() {
  attempt([] {
    if (::open("/dev/null", O_RDONLY | O_CLOEXEC) < 0)
      throw std::system_error(EPERM, std::generic_category());
    else
      ::close(::open("/dev/null", O_RDONLY) - 1), ::close(::open("/dev/null", O_RDONLY) - 1);
  });
}

void planted_hang() {
  attempt([] {
    void* page = MAP_FAILED;
    while (page == MAP_FAILED)
      page = ::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ::munmap(page, 4096);
  });
}

}  // namespace

const std::array<operation, 4> planted = {{{"planted leak", planted_leak},
                                           {"planted std::terminate", planted_terminate},
                                           {"planted wrong error", planted_wrong_error},
                                           {"planted hang", planted_hang}}};

void smoke() {
  in_fiber<local>([] { talk<local>(); });
  in_fiber<parallel>([] { talk<parallel>(); });
}

void add_operations(std::vector<operation>& all) {
  all.insert(all.end(), {
                            {"parallel: construct a runtime", make_runtime<parallel>},
                            {"local: construct a runtime", make_runtime<local>},
                            {"parallel: construct a watched runtime", make_watched_runtime<parallel>},
                            {"local: construct a watched runtime", make_watched_runtime<local>},
                            {"parallel: run", run_runtime<parallel>},
                            {"local: run", run_runtime<local>},
                            {"parallel: spawn from outside", spawn_outside<parallel>},
                            {"local: spawn from outside", spawn_outside<local>},
                            {"parallel: post", post<parallel>},
                            {"local: post", post<local>},
                            {"local: run posted functions", post_local_without_memory},
                            {"local: run_once", run_once},
                            {"generator", make_generator},
                            {"generator with a large body and stack", make_large_generator},
                            {"generator that throws", generator_throws},
                            {"coroutine", make_coroutine},
                            {"generator on another thread", generators_of_a_thread},
                            {"generator that moves to another thread", generator_moves},
                            {"fiber_local of a thread", thread_values},
                            {"waits of a thread", thread_waits},
                            {"dump", dump},
                        });
}

}  // namespace injection
