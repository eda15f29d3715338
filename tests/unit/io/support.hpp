// Common parts of the tests of io: loopback connections, children, and counts.
#pragma once

#include <dirent.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "sennit/tcp_listener.hpp"
#include "sennit/tcp_stream.hpp"
#include "support/child.hpp"
#include "support/deadlines.hpp"
#include "support/kinds.hpp"
#include "support/process.hpp"

namespace io_test {

using namespace std::chrono_literals;
using sennit::kind_test;
using sennit::start;
using sennit::tcp_listener;
using sennit::tcp_stream;
using support::generous;
using support::open_descriptors;
using steady = std::chrono::steady_clock;

struct connection {
  tcp_stream client;
  tcp_stream server;
};

inline connection connect_to(tcp_listener& listener) {
  connection both;
  both.client = tcp_stream::connect("127.0.0.1", listener.port(), generous());
  both.server = listener.accept(generous());
  return both;
}

inline connection make_connection() {
  tcp_listener listener("127.0.0.1", 0);
  return connect_to(listener);
}

// So that a transfer soon fills them. (A receive buffer below loopback's segments of 64 KB would have TCP
// wait 200 ms for each.)
inline void shrink_buffers(const tcp_stream& stream) {
  const int sending = 8 * 1024;
  const int receiving = 128 * 1024;
  setsockopt(stream.native_handle(), SOL_SOCKET, SO_SNDBUF, &sending, sizeof sending);
  setsockopt(stream.native_handle(), SOL_SOCKET, SO_RCVBUF, &receiving, sizeof receiving);
}

inline std::string pattern(std::size_t size) {
  std::string data(size, 0);
  unsigned state = 1;
  for (char& c : data)
    c = static_cast<char>((state = state * 1664525u + 1013904223u) >> 24);
  return data;
}

// Closes so that the peer sees a reset.
inline void reset(tcp_stream& stream) {
  const linger at_once{1, 0};
  setsockopt(stream.native_handle(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  stream.close();
}

inline std::string read_to_end(tcp_stream& stream) {
  std::string all;
  char buffer[16384];
  while (const std::size_t size = stream.read_some(buffer, generous()))
    all.append(buffer, size);
  return all;
}

// A listener whose queue of connections is full, so that it does not answer further requests.
struct silent_listener {
  tcp_listener listener{"127.0.0.1", 0, 0};
  std::vector<tcp_stream> waiting;

  silent_listener() {
    std::error_code error;
    while (!error && !is_full())
      waiting.push_back(tcp_stream::connect("127.0.0.1", listener.port(), error, steady::now() + 1s));
    EXPECT_TRUE(!error || error == std::errc::timed_out) << error.message();  // qemu-user gives no lengths
  }

private:
  // Of a socket that listens, Linux gives the length of its queue as tcpi_unacked, and the limit as
  // tcpi_sacked.
  bool is_full() const {
    tcp_info info{};
    socklen_t size = sizeof info;
    EXPECT_EQ(::getsockopt(listener.native_handle(), IPPROTO_TCP, TCP_INFO, &info, &size), 0);
    return info.tcpi_unacked > info.tcpi_sacked;
  }
};

inline void echo(tcp_stream& stream) {
  char buffer[4096];
  while (const std::size_t size = stream.read_some(buffer, generous()))
    stream.write_all(std::string_view(buffer, size), generous());
}

// Which epoll instances of this process watch a file descriptor.
inline std::vector<std::string> who_watch(int descriptor) {
  std::vector<std::string> found;
  DIR* all = ::opendir("/proc/self/fdinfo");
  while (const dirent* entry = ::readdir(all)) {
    std::ifstream info(std::string("/proc/self/fdinfo/") + entry->d_name);
    for (std::string word; info >> word;)
      if (int watched = 0; word == "tfd:" && info >> watched && watched == descriptor)
        found.emplace_back(entry->d_name);
  }
  ::closedir(all);
  return found;
}

template <class Function>
std::error_code error_of(Function&& function) {
  try {
    function();
  } catch (const std::system_error& error) {
    return error.code();
  }
  return {};
}

// Runs a function in a child process. Returns what it returned, or false if it threw or crashed.
template <class Function>
bool in_child(Function&& function) {
  const support::outcome result = support::in_child([&] { EXPECT_TRUE(function()); });
  if (!result.exited(0))
    std::cerr << "child: " << result << '\n';
  return result.exited(0);
}

}  // namespace io_test
