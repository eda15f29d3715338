// kv_server: an in-memory key-value server that speaks the Redis protocol. Its command line.
//
// Where to read on: fronts/fiber_server.cpp (fibers and I/O), session.hpp (bytes to replies), state.hpp
// (clients that wait for each other), commands.hpp, store.hpp. A new command is a row in command_table.cpp
// and a function in the file of its kind.
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "computing/computing.hpp"
#include "servers.hpp"

namespace {

// Descriptors for everything that is not a client; as many as Redis keeps.
constexpr std::size_t reserved_descriptors = 32;

// Others wait for so long at most, more or less. A yield costs some 2 us.
constexpr std::chrono::microseconds usual_time_slice{500};

struct options {
  kv::settings config;
  std::string front = "fiber";
  unsigned workers = 1;
  std::string time_slice;   // empty: the usual one, where there is any
  std::string per_request;  // empty: no coroutine
  kv::coroutine_settings coroutines;
};

void add_fronts(CLI::App& app, options& chosen) {
  app.add_option("--front", chosen.front, "What serves a connection")
      ->capture_default_str()
      ->check(CLI::IsMember({"fiber", "callback", "thread"}));
  app.add_option("--workers", chosen.workers, "Threads that run the fibers; 0: one for each CPU")
      ->capture_default_str()
      ->check(CLI::Range(0, 64));
  app.add_option("--time-slice", chosen.time_slice,
                 "After so many microseconds, 100 at least, a command that computes (SORT) gives way to "
                 "others, if it is compiled with Sennit's plugin; off: never (default: " +
                     (kv::gives_way ? std::to_string(usual_time_slice.count()) : "off, here it is not") + ")")
      ->option_text("MICROSECONDS|off")
      ->check(CLI::IsMember({"off"}) | CLI::Range(100, 1'000'000));
  app.add_flag(
         "--waker-reads", chosen.config.waker_reads,
         "With fibers: the thread that hears of a request reads its first 64 bytes in the fiber's place")
      ->group("For measuring what recognition costs");
  const std::string group = "For measuring what coroutines cost";
  auto* kind =
      app.add_option("--coroutine-per-request", chosen.per_request,
                     "Execute each request in a coroutine spawned for it")
          ->group(group)
          ->check(CLI::IsMember({"pooled-swap", "pooled-ucontext", "unpooled-swap", "unpooled-ucontext"}));
  app.add_option("--coroutine-stack", chosen.coroutines.stack_size, "Bytes of their stacks (default: 64kb)")
      ->group(group)
      ->needs(kind)
      ->transform(CLI::AsSizeValue(false) & CLI::Range(std::size_t{8} << 10, std::size_t{64} << 20))
      ->option_text("BYTES");
  app.add_flag("--coroutine-zeroed", chosen.coroutines.zeroed,
               "Their stacks come from calloc instead of malloc")
      ->group(group)
      ->needs(kind);
  app.add_flag("--coroutine-mapped", chosen.coroutines.mapped,
               "Their stacks come from mmap, which the kernel zeroes, instead of malloc")
      ->group(group)
      ->needs(kind);
  app.add_flag("--coroutine-zeroed-again", chosen.coroutines.zeroed_again,
               "Zero the stack of a pooled coroutine before each request")
      ->group(group)
      ->needs(kind);
}

std::chrono::microseconds time_slice_of(const options& chosen) {
  const bool possible = kv::gives_way && chosen.front == "fiber";
  if (chosen.time_slice == "off" || (chosen.time_slice.empty() && !possible)) {
    return std::chrono::microseconds(0);
  }
  if (!possible) {
    throw CLI::ValidationError("--time-slice",
                               "is for --front fiber, built with clang 19 and -DSENNIT_COMPILER=ON");
  }
  return chosen.time_slice.empty() ? usual_time_slice
                                   : std::chrono::microseconds(std::stol(chosen.time_slice));
}

void parse(int count, char** words, options& chosen) {
  kv::settings& config = chosen.config;
  CLI::App app("An in-memory key-value server that speaks the Redis protocol (RESP2).");
  app.set_version_flag("--version", std::string("kv_server of Sennit ") + kv::server_version);
  const auto size = CLI::AsSizeValue(false);
  app.add_option("--port", config.port, "TCP port")->capture_default_str()->check(CLI::Range(1, 65535));
  app.add_option("--bind", config.bind, "Address to listen on")->capture_default_str();
  app.add_option("--maxmemory", config.max_memory,
                 "Bytes of keys and values over which writes are refused, e.g. 100mb; 0: no limit "
                 "(default: half of this machine's memory)")
      ->transform(size)
      ->option_text("BYTES");
  app.add_option("--maxclients", config.max_clients, "Connections at a time")->capture_default_str();
  app.add_option("--maxmemory-clients", config.max_memory_clients,
                 "Bytes for unfinished requests, unsent replies and messages of all clients (default: 256mb)")
      ->transform(size)
      ->option_text("BYTES");
  app.add_option("--client-query-buffer-limit", config.protocol.max_request,
                 "Bytes of one request, and of what a command reads or writes (default: 16mb)")
      ->transform(size & CLI::Range(std::size_t{1024}, std::size_t{1} << 31))
      ->option_text("BYTES");
  app.add_option(
         "--most-elements", config.protocol.most_elements,
         "Arguments of one request, and elements that a command reads or writes; 64 times as many for SORT")
      ->capture_default_str()
      ->check(CLI::Range(16, 1 << 24));
  add_fronts(app, chosen);
  try {
    app.parse(count, words);
    if (chosen.workers != 1 && (chosen.front != "fiber" || !chosen.per_request.empty())) {
      throw CLI::ValidationError("--workers", "is for --front fiber, without --coroutine-per-request");
    }
    config.time_slice = time_slice_of(chosen);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error));
  }
  if (!chosen.per_request.empty()) {
    chosen.coroutines.pooled = chosen.per_request.starts_with("pooled");
    chosen.coroutines.swap = chosen.per_request.ends_with("swap");
  }
}

// As many descriptors as the clients need; no more clients than descriptors allow.
void fit_to_descriptors(std::size_t& max_clients) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = std::max(limit.rlim_cur, std::min(max_clients + reserved_descriptors, limit.rlim_max));
  setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur < max_clients + reserved_descriptors) {
    max_clients = std::max(limit.rlim_cur, reserved_descriptors + 1) - reserved_descriptors;
    std::fprintf(stderr, "kv_server: ulimit -n allows only %zu clients\n", max_clients);
  }
}

}  // namespace

int main(int count, char** words) {
  options chosen;
  // glibc keeps small freed chunks unmerged until a large one is wanted, and then merges all at once: 50 ms
  // after a million keys have gone.
  mallopt(M_MXFAST, 0);
  chosen.config.max_memory =
      static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) / 2 * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  parse(count, words, chosen);
  fit_to_descriptors(chosen.config.max_clients);
  try {
    const auto server = std::make_unique<kv::server_state>(chosen.config);
    if (!chosen.per_request.empty()) {
      server->run_request = kv::in_coroutines(chosen.coroutines);
    }
    if (chosen.front == "fiber") {
      kv::serve_with_fibers(*server, chosen.workers);
    } else {
      (chosen.front == "callback" ? kv::serve_with_callbacks : kv::serve_with_threads)(*server);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "kv_server: %s\n", error.what());
    return 1;
  }
  return 0;
}
