// kv_server: an in-memory key-value server that speaks the Redis protocol. Its command line.
//
// Where to read on: server.cpp and connection.hpp (fibers and I/O), session.hpp (bytes to replies),
// client.hpp (clients that wait for each other), protocol.hpp, commands.hpp, store.hpp, value.hpp. A new
// command is a row in command_table.cpp and a function in the file of its kind.
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <CLI/CLI.hpp>
#include <cstdio>

#include "server.hpp"

namespace {

// Descriptors for everything that is not a client; as many as Redis keeps.
constexpr std::size_t reserved_descriptors = 32;

std::size_t half_of_memory() {
  return static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) / 2 *
         static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

void parse(int count, char** words, kv::settings& config) {
  CLI::App app("An in-memory key-value server that speaks the Redis protocol (RESP2).");
  app.set_version_flag("--version",
                       std::string("kv_server of Sennit 0.1.0; behaves as Redis ") + kv::redis_version);
  const auto size = CLI::AsSizeValue(false);
  std::size_t seconds = 0;
  app.add_option("--port", config.port, "TCP port")->capture_default_str()->check(CLI::Range(1, 65535));
  app.add_option("--bind", config.bind, "Address to listen on")->capture_default_str();
  app.add_option("--maxmemory", config.max_memory,
                 "Bytes of keys and values over which writes are refused, e.g. 100mb; 0: no limit "
                 "(default: half of this machine's memory)")
      ->transform(size);
  app.add_option("--maxclients", config.max_clients, "Connections at a time")->capture_default_str();
  app.add_option("--timeout", seconds, "Seconds after which an idle client is closed; 0: never")
      ->capture_default_str();
  app.add_option("--maxmemory-clients", config.max_memory_clients,
                 "Bytes for unfinished requests, unsent replies and messages of all clients (default: 256mb)")
      ->transform(size);
  app.add_option("--client-query-buffer-limit", config.protocol.max_request,
                 "Bytes of one request (default: 64mb)")
      ->transform(size & CLI::Range(std::size_t{1024}, std::size_t{1} << 31));
  try {
    app.parse(count, words);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error));
  }
  config.timeout = std::chrono::seconds(seconds);
}

// As many descriptors as we may have; no more clients than they allow.
void fit_to_descriptors(kv::settings& config) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return;
  }
  const rlim_t wanted = config.max_clients + reserved_descriptors;
  if (limit.rlim_cur < wanted) {
    limit.rlim_cur = std::min(wanted, limit.rlim_max);
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  if (limit.rlim_cur < wanted) {
    const std::size_t possible =
        limit.rlim_cur > reserved_descriptors ? limit.rlim_cur - reserved_descriptors : 1;
    std::fprintf(stderr, "kv_server: ulimit -n allows %zu clients instead of %zu\n", possible,
                 config.max_clients);
    config.max_clients = possible;
  }
}

}  // namespace

int main(int count, char** words) {
  kv::settings config;
  // glibc keeps small freed chunks unmerged until a large one is wanted, and then merges all at once: 50 ms
  // after a million keys have gone.
  mallopt(M_MXFAST, 0);
  config.max_memory = half_of_memory();
  parse(count, words, config);
  fit_to_descriptors(config);
  try {
    kv::serve(config);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "kv_server: %s\n", error.what());
    return 1;
  }
  return 0;
}
