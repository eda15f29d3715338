// An echo server on every core:
//   echo_on_every_core [--port PORT]     PORT 0, the default: the kernel chooses one
//
// Each connection has a fiber. The runtime has a worker for each CPU, and a worker without fibers takes some
// from another one. With a sennit::local::runtime and sennit::local::spawn, the same code runs on one thread.
//
// While a client is silent, its fiber has no stack: it waits by returning a continuation. When there is
// something to read, the fiber runs ordinary blocking code.
//
// It is minimal: it has no deadlines, no limit of connections, and no time for clients to finish. For these
// see docs/howto/slow_clients.md and docs/howto/graceful_shutdown.md.
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <system_error>
#include <utility>

#include "sennit/become.hpp"
#include "sennit/runtime.hpp"
#include "sennit/signal_set.hpp"
#include "sennit/tcp_listener.hpp"
#include "sennit/tcp_stream.hpp"

static sennit::continuation echo(sennit::tcp_stream client) {
  char block[4096];
  std::error_code error;
  const std::size_t size = client.read_some(block, error);  // 0: the client has closed, or an error
  client.write_all({block, size}, error);
  if (size == 0 || error)
    return {};
  return sennit::become(&sennit::tcp_stream::reading, echo, std::move(client));
}

static void accept_all(sennit::tcp_listener& listener) {
  std::error_code error;
  for (;;) {
    sennit::tcp_stream client = listener.accept(error);
    if (error)  // it was closed
      return;
    sennit::spawn(sennit::become(&sennit::tcp_stream::reading, echo, std::move(client))).detach();
  }
}

static void serve(std::uint16_t port) {
  sennit::signal_set stop{SIGINT, SIGTERM};
  sennit::tcp_listener listener("127.0.0.1", port);
  std::printf("Echoing on 127.0.0.1:%u; Ctrl-C ends it.\n", unsigned{listener.port()});
  std::fflush(stdout);
  auto acceptor = sennit::spawn([&] { accept_all(listener); }, {.name = "acceptor"});
  stop.wait();
  listener.close();
  acceptor.join();
}

static bool parse_port(int count, char** words, std::uint16_t& port) {
  if (count == 1)
    return true;
  if (count != 3 || std::string_view(words[1]) != "--port")
    return false;
  const std::string_view number = words[2];
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), port);
  return error == std::errc() && end == number.data() + number.size();
}

int main(int count, char** words) {
  std::uint16_t port = 0;
  if (!parse_port(count, words, port)) {
    std::fprintf(stderr, "usage: echo_on_every_core [--port PORT]\n");
    return 2;
  }
  try {
    {
      sennit::runtime runtime;
      runtime.run([&] { serve(port); });
    }  // clients that are still connected are let go
    std::puts("Ended.");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
