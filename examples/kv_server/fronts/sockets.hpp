// Plain descriptors: for the fronts that have no library to open them, and what all fronts ask of a socket.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace kv {

class descriptor {
public:
  descriptor() = default;
  explicit descriptor(int number) : number_(number) {}
  descriptor(descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  descriptor& operator=(descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~descriptor() { reset(); }

  void reset() noexcept;
  int get() const { return number_; }

private:
  int number_ = -1;
};

// A non-blocking socket that listens. Throws std::system_error.
descriptor listen_on(const std::string& address, std::uint16_t port);

// A signalfd for these signals, which are blocked from now on, in threads begun later too. Throws
// std::system_error.
descriptor open_signals(std::span<const int> signals);

// The next connection, blocking or not, with TCP_NODELAY; empty, with errno: there is none now.
descriptor accept_from(const descriptor& listener, bool blocking);

// Whether the peer has ended its stream, with nothing left to read, or broken it off.
bool peer_is_gone(int socket);

// What has come can still be read; then comes the end of the stream, whatever the peer does.
void end_of_input(int socket);

}  // namespace kv
