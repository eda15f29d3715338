// TCP, signals, readiness, and calls on other threads.
#include <netinet/in.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "become.hpp"
#include "error.hpp"
#include "sennit/look_up.hpp"
#include "sennit/offload.hpp"
#include "sennit/readiness.hpp"
#include "sennit/select_io.hpp"
#include "sennit/signal_set.hpp"
#include "sennit/tcp_listener.hpp"
#include "sennit/tcp_stream.hpp"
#include "stream.hpp"

using namespace sennit;
using capi::count_of;
using capi::guarded;
using capi::in_fiber;
using capi::result_of;
using capi::time_of;

struct sennit_signal_set {
  explicit sennit_signal_set(std::span<const int> signals) : set(signals) {}
  signal_set set;
};

struct sennit_readiness {
  explicit sennit_readiness(int descriptor) : readiness(descriptor) {}
  sennit::readiness readiness;
};

namespace {

template <class Open>
int opened(sennit_tcp_stream** result, Open open) {
  return guarded([&] {
    std::error_code error;
    tcp_stream made = open(error);
    if (error)
      return capi::negated(error);
    *result = capi::handle_of(std::move(made));
    return 0;
  });
}

static_assert(sizeof(detail::blocked<detail::ready_wait<true>, capi::c_continuation, capi::c_state<16>>) <=
                  detail::continuation_room,
              "as sennit.h says");

}  // namespace

int sennit_tcp_stream_connect(sennit_tcp_stream** result, const char* host, uint16_t port, int64_t deadline) {
  if (result == nullptr || host == nullptr || !in_fiber())
    return -EINVAL;
  return opened(result, [&](std::error_code& error) {
    return tcp_stream::connect(host, port, error, time_of(deadline));
  });
}

int sennit_tcp_stream_adopt(sennit_tcp_stream** result, int descriptor) {
  if (result == nullptr)
    return -EINVAL;
  return opened(result, [&](std::error_code& error) { return tcp_stream::adopt(descriptor, error); });
}

ssize_t sennit_tcp_stream_read(sennit_tcp_stream* stream, void* to, size_t size, int64_t deadline) {
  if (stream == nullptr || (to == nullptr && size != 0) || !in_fiber())
    return -EINVAL;
  return guarded([&] {
    std::error_code error;
    const std::span place(static_cast<std::byte*>(to), size);
    const std::size_t count = capi::lent_stream(stream)->read_some(place, error, time_of(deadline));
    return count_of(count, error);
  });
}

ssize_t sennit_tcp_stream_write(sennit_tcp_stream* stream, const void* from, size_t size, int64_t deadline) {
  if (stream == nullptr || (from == nullptr && size != 0) || !in_fiber())
    return -EINVAL;
  return guarded([&] {
    std::error_code error;
    const std::span bytes(static_cast<const std::byte*>(from), size);
    const std::size_t count = capi::lent_stream(stream)->write_some(bytes, error, time_of(deadline));
    return count_of(count, error);
  });
}

int sennit_tcp_stream_write_all(sennit_tcp_stream* stream, const void* from, size_t size, size_t* written,
                                int64_t deadline) {
  if (stream == nullptr || (from == nullptr && size != 0) || !in_fiber())
    return -EINVAL;
  return guarded([&] {
    std::size_t ignored;  // the caller's variable counts the bytes even if the fiber is unwound
    return result_of(detail::socket_write_all_reported(detail::source_access::of(*capi::lent_stream(stream)),
                                                       from, size, time_of(deadline),
                                                       written != nullptr ? *written : ignored));
  });
}

int sennit_tcp_stream_become_reading(sennit_tcp_stream* stream, sennit_function function, const void* state,
                                     size_t size, int64_t deadline) {
  if (stream == nullptr)
    return -EINVAL;
  auto wait = capi::lent_stream(stream)->reading();
  return capi::become_until("sennit_tcp_stream_become_reading", __builtin_dwarf_cfa(), std::move(wait),
                            function, state, size, deadline);
}

int sennit_tcp_stream_become_writing(sennit_tcp_stream* stream, sennit_function function, const void* state,
                                     size_t size, int64_t deadline) {
  if (stream == nullptr)
    return -EINVAL;
  auto wait = capi::lent_stream(stream)->writing();
  return capi::become_until("sennit_tcp_stream_become_writing", __builtin_dwarf_cfa(), std::move(wait),
                            function, state, size, deadline);
}

int sennit_tcp_stream_shutdown(sennit_tcp_stream* stream) {
  if (stream == nullptr)
    return -EINVAL;
  std::error_code error;
  capi::lent_stream(stream)->shutdown_write(error);
  return result_of(error);
}

int sennit_tcp_stream_cancel(sennit_tcp_stream* stream) {
  if (stream == nullptr)
    return -EINVAL;
  capi::lent_stream(stream)->close();
  return 0;
}

void sennit_tcp_stream_close(sennit_tcp_stream* stream) {
  if (stream != nullptr)
    capi::stream_of(stream);  // and destroys it
}

int sennit_tcp_stream_release(sennit_tcp_stream* stream) {
  if (stream == nullptr)
    return -EINVAL;
  return capi::stream_of(stream).release();
}

int sennit_tcp_stream_descriptor(const sennit_tcp_stream* stream) {
  return stream != nullptr ? capi::lent_stream(stream)->native_handle() : -EINVAL;
}

int sennit_tcp_listener_listen(sennit_tcp_listener** result, const char* address, uint16_t port,
                               int backlog) {
  if (result == nullptr || address == nullptr || backlog < 0)
    return -EINVAL;
  return guarded([&] {
    auto made = std::make_unique<sennit_tcp_listener>();
    std::error_code error;
    made->listener = tcp_listener::listen(address, port, error, backlog != 0 ? backlog : SOMAXCONN);
    if (error)
      return capi::negated(error);
    *result = made.release();
    return 0;
  });
}

int sennit_tcp_listener_accept(sennit_tcp_listener* listener, sennit_tcp_stream** result, int64_t deadline) {
  if (listener == nullptr || result == nullptr || !in_fiber())
    return -EINVAL;
  return opened(result,
                [&](std::error_code& error) { return listener->listener.accept(error, time_of(deadline)); });
}

int sennit_tcp_listener_become_accepting(sennit_tcp_listener* listener, sennit_function function,
                                         const void* state, size_t size, int64_t deadline) {
  if (listener == nullptr)
    return -EINVAL;
  return capi::become_until("sennit_tcp_listener_become_accepting", __builtin_dwarf_cfa(),
                            listener->listener.accepting(), function, state, size, deadline);
}

uint64_t sennit_tcp_listener_refused(const sennit_tcp_listener* listener) {
  return listener != nullptr ? listener->listener.refused() : 0;
}

int sennit_tcp_listener_port(const sennit_tcp_listener* listener) {
  return listener != nullptr ? listener->listener.port() : -EINVAL;
}

int sennit_tcp_listener_descriptor(const sennit_tcp_listener* listener) {
  return listener != nullptr ? listener->listener.native_handle() : -EINVAL;
}

int sennit_tcp_listener_cancel(sennit_tcp_listener* listener) {
  if (listener == nullptr)
    return -EINVAL;
  listener->listener.close();
  return 0;
}

void sennit_tcp_listener_close(sennit_tcp_listener* listener) {
  delete listener;
}

int sennit_signal_set_create(sennit_signal_set** result, const int* signals, size_t count) {
  if (result == nullptr || (signals == nullptr && count != 0))
    return -EINVAL;
  return guarded([&] {
    *result = new sennit_signal_set(std::span(signals, count));
    return 0;
  });
}

void sennit_signal_set_destroy(sennit_signal_set* set) {
  delete set;
}

int sennit_signal_set_wait(sennit_signal_set* set, int64_t deadline) {
  if (set == nullptr || !in_fiber())
    return -EINVAL;
  return guarded([&] {
    std::error_code error;
    const int which = set->set.wait(error, time_of(deadline));
    return error ? capi::negated(error) : which;
  });
}

int sennit_readiness_create(sennit_readiness** result, int descriptor) {
  if (result == nullptr || descriptor < 0)
    return -EINVAL;
  // If there is no memory its constructor closes the file descriptor, which is not ours.
  return guarded([&] {
    *result = new sennit_readiness(descriptor);
    return 0;
  });
}

void sennit_readiness_destroy(sennit_readiness* readiness) {
  delete readiness;
}

int sennit_readiness_wait_readable(sennit_readiness* readiness, int64_t deadline) {
  if (readiness == nullptr || !in_fiber())
    return -EINVAL;
  return guarded([&] {
    std::error_code error;
    readiness->readiness.wait_readable(error, time_of(deadline));
    return result_of(error);
  });
}

int sennit_readiness_wait_writable(sennit_readiness* readiness, int64_t deadline) {
  if (readiness == nullptr || !in_fiber())
    return -EINVAL;
  return guarded([&] {
    std::error_code error;
    readiness->readiness.wait_writable(error, time_of(deadline));
    return result_of(error);
  });
}

int sennit_readiness_become_reading(sennit_readiness* readiness, sennit_function function, const void* state,
                                    size_t size, int64_t deadline) {
  if (readiness == nullptr)
    return -EINVAL;
  return capi::become_until("sennit_readiness_become_reading", __builtin_dwarf_cfa(),
                            readiness->readiness.reading(), function, state, size, deadline);
}

int sennit_readiness_become_writing(sennit_readiness* readiness, sennit_function function, const void* state,
                                    size_t size, int64_t deadline) {
  if (readiness == nullptr)
    return -EINVAL;
  return capi::become_until("sennit_readiness_become_writing", __builtin_dwarf_cfa(),
                            readiness->readiness.writing(), function, state, size, deadline);
}

int sennit_offload(sennit_function function, void* argument) {
  if (function == nullptr)
    return -EINVAL;
  return guarded([&] {
    offload([&] { function(argument); });
    return 0;
  });
}

int sennit_offload_set_limit(unsigned threads) {
  if (threads == 0)
    return -EINVAL;
  set_offload_threads(threads);
  return 0;
}

namespace {

// An array of pointers that ends in null, followed by the strings that they point to.
char** in_one_block(const std::vector<std::string>& strings) {
  std::size_t size = (strings.size() + 1) * sizeof(char*);
  for (const std::string& each : strings)
    size += each.size() + 1;
  auto** const block = static_cast<char**>(std::malloc(size));
  if (block == nullptr)
    throw std::bad_alloc();
  char* text = reinterpret_cast<char*>(block + strings.size() + 1);
  char** place = block;
  for (const std::string& each : strings) {
    *place++ = text;
    std::memcpy(text, each.c_str(), each.size() + 1);
    text += each.size() + 1;
  }
  *place = nullptr;
  return block;
}

}  // namespace

int sennit_host_look_up(const char* host, char*** result, int64_t deadline) {
  if (host == nullptr || result == nullptr)
    return -EINVAL;
  return guarded([&] {
    std::error_code error;
    const std::vector<std::string> addresses = look_up(host, error, time_of(deadline));
    if (error)
      return capi::negated(error);
    *result = in_one_block(addresses);
    return static_cast<int>(addresses.size());
  });
}
