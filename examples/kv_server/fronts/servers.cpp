// What the servers have in common: messages, background work and plain descriptors.
#include "servers.hpp"

#include <arpa/inet.h>
#include <malloc.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <system_error>

namespace kv {

void say_serving(const settings& config) {
  std::printf("Serving on %s:%u, up to %zu clients; Ctrl-C ends it.\n", config.bind.c_str(), config.port,
              config.max_clients);
  if (config.time_slice.count() != 0) {
    std::printf("Commands that compute give way to others after %lld us.\n",
                static_cast<long long>(config.time_slice.count()));
  }
  std::fflush(stdout);
}

// glibc keeps memory that was freed below a block in use. To give it back takes 5 ms for 64 MiB.
std::chrono::steady_clock::time_point destroy_garbage(server_state& server) {
  using std::chrono::milliseconds;
  constexpr std::size_t at_once = 2000;  // elements; some 200 us
  constexpr std::size_t most_kept = std::size_t{64} << 20, least_trimmed = std::size_t{1} << 20;
  static std::size_t most_used = 0;  // since memory was given back last
  const auto used = [&] { return memory_in_use + server.client_memory; };
  most_used = std::max(most_used, used());
  wake_some(server, most_woken);
  const bool more = server.blocked.destroy_ended(at_once) || server.keys.destroy_garbage(at_once);
  // malloc sorts chunks that were freed when it has none of the size wanted. It sorts these now, instead of
  // a million at once in a client's command.
  void* volatile chunk = std::malloc(5000);
  std::free(chunk);
  if (most_used - used() >= (more ? most_kept : least_trimmed)) {
    ::malloc_trim(0);
    most_used = used();
  }
  return std::chrono::steady_clock::now() +
         (more || !server.to_wake.empty() ? milliseconds(1) : milliseconds(100));
}

void descriptor::reset() noexcept {
  if (number_ >= 0) {
    ::close(std::exchange(number_, -1));
  }
}

descriptor listen_on(const std::string& address, std::uint16_t port) {
  addrinfo wanted{};
  wanted.ai_flags = AI_NUMERICHOST | AI_PASSIVE;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const auto fail = [&](int error) {
    throw std::system_error(error, std::generic_category(),
                            "listen on " + address + " port " + std::to_string(port));
  };
  if (getaddrinfo(address.c_str(), std::to_string(port).c_str(), &wanted, &list) != 0) {
    fail(EINVAL);
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> found(list, freeaddrinfo);
  descriptor made(::socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int on = 1;
  if (made.get() < 0 || ::setsockopt(made.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      ::setsockopt(made.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0 ||  // connections inherit it
      ::bind(made.get(), found->ai_addr, found->ai_addrlen) != 0 || ::listen(made.get(), SOMAXCONN) != 0) {
    fail(errno);
  }
  return made;
}

int milliseconds_until(std::chrono::steady_clock::time_point deadline) {
  using std::chrono::steady_clock;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - steady_clock::now()).count();
  return deadline == steady_clock::time_point::max()
             ? -1
             : static_cast<int>(std::clamp<decltype(left)>(left, 0, std::numeric_limits<int>::max()));
}

descriptor open_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  descriptor made(::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
  if (made.get() < 0) {
    throw std::system_error(errno, std::generic_category(), "open a signalfd");
  }
  return made;
}

descriptor accept_from(const descriptor& listener, bool blocking) {
  return descriptor(
      ::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | (blocking ? 0 : SOCK_NONBLOCK)));
}

bool refuse_if_full(const settings& config, std::size_t clients, int socket) {
  constexpr std::string_view refusal = "-ERR max number of clients reached\r\n";
  const bool full = clients >= config.max_clients;
  if (full) {
    ::send(socket, refusal.data(), refusal.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  return full;
}

bool peer_is_gone(int socket) {
  char byte = 0;
  const ssize_t count = ::recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return count == 0 || (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

}  // namespace kv
