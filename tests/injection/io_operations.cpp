// Operations of I/O: sockets, readiness, signals, files, name look-ups, offloaded calls.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "kinds.hpp"
#include "sennit/async_io.hpp"
#include "sennit/file.hpp"
#include "sennit/look_up.hpp"
#include "sennit/offload.hpp"
#include "sennit/readiness.hpp"
#include "sennit/select_io.hpp"
#include "sennit/signal_set.hpp"
#include "sennit/tcp_listener.hpp"
#include "sennit/tcp_stream.hpp"

namespace injection {

namespace {

using namespace std::chrono_literals;

auto soon() {
  return std::chrono::steady_clock::now() + 20ms;
}

template <class Kind>
void listen() {
  in_fiber<Kind>([] {
    attempt([] {
      const sennit::tcp_listener listener("127.0.0.1", 0);
      must(listener.port() != 0);
    });
  });
}

template <class Kind>
void connect() {
  in_fiber<Kind>([] {
    const sennit::tcp_listener listener("127.0.0.1", 0);
    attempt([&] { sennit::tcp_stream::connect("127.0.0.1", listener.port()).write_all("hello"); });
  });
}

// A listener outlives a lack of descriptors: such a connection is refused, and accept waits on.
template <class Kind>
void accept() {
  in_fiber<Kind>([] {
    sennit::tcp_listener listener("127.0.0.1", 0);
    auto client = sennit::tcp_stream::connect("127.0.0.1", listener.port());
    client.write_all("x");
    attempt([&] {
      std::error_code error;
      auto server = listener.accept(error, soon());
      if (error == std::errc::timed_out && current->injected > 0)
        return;
      if (error)
        throw std::system_error(error);
      char byte = 0;
      must(server.read_some(std::span(&byte, 1)) == 1);
    });
  });
}

template <class Kind>
void transfer() {
  in_fiber<Kind>([] {
    sennit::tcp_listener listener("127.0.0.1", 0);
    auto client = sennit::tcp_stream::connect("127.0.0.1", listener.port());
    auto server = listener.accept();
    attempt([&] {
      char bytes[8];
      std::error_code error;
      must(server.read_some(bytes, error, std::chrono::steady_clock::now() + 1ms) == 0);
      if (error != std::errc::timed_out)
        throw std::system_error(error);
      client.write_all("hello");
      must(server.read_some(bytes) == 5);
    });
  });
}

template <class Kind>
void transfer_in_background() {
  in_fiber<Kind>([] {
    sennit::tcp_listener listener("127.0.0.1", 0);
    auto client = sennit::tcp_stream::connect("127.0.0.1", listener.port());
    auto server = listener.accept();
    static char bytes[8];
    attempt([&] {
      static typename Kind::event* done;
      typename Kind::event ended;
      static std::error_code error;
      done = &ended;
      must(sennit::async_read_some(server, bytes, [](sennit::io_result result) {
        error = result.error;
        done->set();
      }));
      client.write_all("hello");
      ended.wait();
      if (error)
        throw std::system_error(error);
    });
  });
}

template <class Kind>
void accept_and_connect_in_background() {
  in_fiber<Kind>([] {
    sennit::tcp_listener listener("127.0.0.1", 0);
    attempt([&] {
      struct opening {
        typename Kind::event ended;
        sennit::tcp_stream stream;
        std::error_code error;
        auto handler() {
          return [this](sennit::tcp_stream got, std::error_code failed) {
            stream = std::move(got);
            error = failed;
            ended.set();
          };
        }
      };
      opening accepted, connected;
      typename Kind::upcall_pool pool;
      must(sennit::async_connect(pool, "127.0.0.1", listener.port(), connected.handler(), soon()));
      connected.ended.wait();
      if (connected.error)
        throw std::system_error(connected.error);
      must(sennit::async_accept(pool, listener, accepted.handler()));
      if (current->kind == static_cast<int>(call_kind::accept)) {  // the connection may have been refused
        static_cast<void>(accepted.ended.wait_for(1ms));
        listener.close();
      }
      accepted.ended.wait();
      if (accepted.error == std::errc::operation_canceled && current->injected > 0)
        return;
      if (accepted.error)
        throw std::system_error(accepted.error);
    });
  });
}

template <class Kind>
void read_file_in_background() {
  in_fiber<Kind>([] {
    const auto file = sennit::file::open("/proc/self/stat");
    attempt([&] {
      static typename Kind::event* done;
      typename Kind::event ended;
      static std::error_code error;
      static char bytes[8];
      done = &ended;
      must(sennit::async_read_some_at(file, 0, bytes, [](sennit::io_result result) {
        error = result.error;
        done->set();
      }));
      ended.wait();
      if (error)
        throw std::system_error(error);
    });
  });
}

// Without memory the descriptor remains the caller's.
void adopt() {
  int ends[2];
  must(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  if (!attempt([&] { sennit::tcp_stream::adopt(ends[0]); }))
    must(::close(ends[0]) == 0);
  ::close(ends[1]);
}

template <class Kind>
void readiness() {
  in_fiber<Kind>([] {
    int ends[2];
    must(::pipe2(ends, O_NONBLOCK | O_CLOEXEC) == 0);
    attempt([&] {
      sennit::readiness from(ends[0]);
      std::error_code error;
      from.wait_readable(error, std::chrono::steady_clock::now() + 1ms);
      if (error != std::errc::timed_out)
        throw std::system_error(error);
      must(::write(ends[1], "x", 1) == 1);
      from.wait_readable();
    });
    ::close(ends[0]);
    ::close(ends[1]);
  });
}

template <class Kind>
void signals() {
  in_fiber<Kind>([] {
    attempt([] {
      sennit::signal_set signals{SIGUSR1, SIGUSR2};
      ::raise(SIGUSR2);
      must(signals.wait() == SIGUSR2);
    });
  });
}

template <class Kind>
void offload() {
  in_fiber<Kind>([] { attempt([] { must(sennit::offload([] { return 7; }) == 7); }); });
}

template <class Kind>
void read_file() {
  in_fiber<Kind>([] {
    attempt([] {
      auto file = sennit::file::open("/proc/self/stat");
      must(!file.read_all().empty());
    });
  });
}

template <class Kind>
void look_up() {
  in_fiber<Kind>([] { attempt([] { must(sennit::look_up("127.0.0.1").size() == 1); }); });
}

template <class Kind>
void add_kind(std::vector<operation>& all, const std::array<std::string_view, 12>& names) {
  void (*const runs[])() = {listen<Kind>,
                            connect<Kind>,
                            accept<Kind>,
                            transfer<Kind>,
                            transfer_in_background<Kind>,
                            readiness<Kind>,
                            signals<Kind>,
                            offload<Kind>,
                            read_file<Kind>,
                            look_up<Kind>,
                            accept_and_connect_in_background<Kind>,
                            read_file_in_background<Kind>};
  for (std::size_t i = 0; i < names.size(); ++i)
    all.push_back({names[i], runs[i]});
}

}  // namespace

void add_io_operations(std::vector<operation>& all) {
  add_kind<parallel>(all, {"parallel: listen", "parallel: connect", "parallel: accept", "parallel: transfer",
                           "parallel: async transfer", "parallel: readiness", "parallel: signal_set",
                           "parallel: offload", "parallel: file", "parallel: look_up",
                           "parallel: async accept and connect", "parallel: async file"});
  add_kind<local>(
      all, {"local: listen", "local: connect", "local: accept", "local: transfer", "local: async transfer",
            "local: readiness", "local: signal_set", "local: offload", "local: file", "local: look_up",
            "local: async accept and connect", "local: async file"});
  all.push_back({"adopt", adopt});
}

}  // namespace injection
