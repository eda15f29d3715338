// Each operation by sennit.h, in the C part of the language, and by the C++ counterpart, which must do the
// same. `local` is a local runtime; `shared` is a parallel one, with shared objects, whose second worker
// sleeps.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

#include "../peers/sennit-parallel.hpp"
#include "../peers/sennit.hpp"
#include "../support/bench.hpp"
#include "../support/opaque.hpp"
#include "sennit/async_io.hpp"
#include "sennit/become.hpp"
#include "sennit/channel.hpp"
#include "sennit/condition_variable.hpp"
#include "sennit/counting_semaphore.hpp"
#include "sennit/exception_server.hpp"
#include "sennit/file.hpp"
#include "sennit/local/channel.hpp"
#include "sennit/local/condition_variable.hpp"
#include "sennit/local/counting_semaphore.hpp"
#include "sennit/local/exception_server.hpp"
#include "sennit/local/port.hpp"
#include "sennit/local/upcall_pool.hpp"
#include "sennit/port.hpp"
#include "sennit/select.hpp"
#include "sennit/sennit.h"
#include "sennit/tcp_listener.hpp"
#include "sennit/tcp_stream.hpp"
#include "sennit/upcall_pool.hpp"

namespace {

using bench::opaque;
using bench::program;
using bench::require;

// The counterparts of one kind.
struct local_kind {
  static constexpr bool shared = false;
  using fiber = sennit::local::fiber;
  using mutex = sennit::local::mutex;
  using condition = sennit::local::condition_variable;
  using semaphore = sennit::local::counting_semaphore;
  using channel = sennit::local::channel<std::uint64_t>;
  using port = sennit::local::port<std::uint64_t, std::uint64_t>;
  using upcall_pool = sennit::local::upcall_pool;
  using exception_server = sennit::local::exception_server;
  using exception_guard = sennit::local::exception_guard;
  template <class Function>
  static fiber spawn(Function function) {
    return sennit::local::spawn(function);
  }
  static BENCH_INLINE void yield() { sennit::local::this_fiber::yield(); }
};
struct shared_kind {
  static constexpr bool shared = true;
  using fiber = sennit::fiber;
  using mutex = sennit::mutex;
  using condition = sennit::condition_variable;
  using semaphore = sennit::counting_semaphore;
  using channel = sennit::channel<std::uint64_t>;
  using port = sennit::port<std::uint64_t, std::uint64_t>;
  using upcall_pool = sennit::upcall_pool;
  using exception_server = sennit::exception_server;
  using exception_guard = sennit::exception_guard;
  template <class Function>
  static fiber spawn(Function function) {
    return sennit::spawn(function);
  }
  static BENCH_INLINE void yield() { sennit::this_fiber::yield(); }
};

template <class Object, class... Arguments>
Object* made(int (*create)(Object**, Arguments...), std::type_identity_t<Arguments>... arguments) {
  Object* result = nullptr;
  require(create(&result, arguments...) == 0, "an object was not made");
  return result;
}
BENCH_INLINE sennit_fiber* started(sennit_function function, void* argument) {
  sennit_fiber* result = nullptr;
  if (sennit_fiber_spawn(&result, function, argument, nullptr) != 0) [[unlikely]]
    require(false, "a fiber was not started");
  return result;
}
BENCH_INLINE void join(sennit_fiber* fiber) {
  if (sennit_fiber_join(fiber, SENNIT_NEVER) != 0) [[unlikely]]
    require(false, "a fiber was not joined");
}

struct socket_pair {
  socket_pair() { require(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "no sockets were made"); }
  int ends[2];
};
// A connection that is closed at once must not occupy its port for a minute.
void close_by_reset(int socket) {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  require(::setsockopt(socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once) == 0,
          "SO_LINGER was refused");
}
// A file with eight bytes, and without a name.
class small_file {
public:
  small_file() : name_("/tmp/sennit-bench-XXXXXX") {
    const int made = ::mkstemp(name_.data());
    require(made >= 0 && ::write(made, "abcdefgh", 8) == 8, "no file was made");
    ::close(made);
  }
  ~small_file() { ::unlink(name_.c_str()); }
  small_file(const small_file&) = delete;
  small_file& operator=(const small_file&) = delete;
  const char* name() const { return name_.c_str(); }

private:
  std::string name_;
};

template <class Kind>
class measurement {
public:
  explicit measurement(program& of) : program_(of) {}

  void all() {
    yields();
    spawns();
    mutexes();
    conditions();
    semaphores();
    buffered_channels();
    channels();
    stackless_channels();
    selects();
    ports();
    stackless_ports();
    upcalls();
    faults();
    transfers();
    connections();
    file_reads();
  }

private:
  template <class Cpp, class C>
  void both(const char* operation, Cpp cpp, C c) {
    program_.measure(Kind::shared ? "shared-cpp" : "local-cpp", {{"operation", operation}}, operation, 1,
                     cpp);
    program_.measure(Kind::shared ? "shared-c" : "local-c", {{"operation", operation}}, operation, 1, c);
  }

  void yields() {
    both(
        "yield",
        [](std::uint64_t count) {
          const auto half = [count] {
            for (std::uint64_t left = count / 2; left != 0; --left)
              Kind::yield();
          };
          auto other = Kind::spawn(half);
          half();
          other.join();
        },
        [](std::uint64_t count) {
          const sennit_function half = [](void* argument) {
            for (std::uint64_t left = *static_cast<std::uint64_t*>(argument) / 2; left != 0; --left)
              sennit_self_yield();
          };
          sennit_fiber* const other = started(half, &count);
          half(&count);
          join(other);
        });
  }

  void spawns() {
    both(
        "spawn and join",
        [](std::uint64_t count) {
          for (std::uint64_t sum = 0; count != 0; --count)
            Kind::spawn([&sum] { ++sum; }).join();
        },
        [](std::uint64_t count) {
          for (std::uint64_t sum = 0; count != 0; --count)
            join(started([](void* to) { ++*static_cast<std::uint64_t*>(to); }, &sum));
        });
  }

  void mutexes() {
    both(
        "lock and unlock",
        [](std::uint64_t count) {
          typename Kind::mutex mutex;
          for (; count != 0; --count) {
            auto* const locked = opaque(&mutex);
            locked->lock();
            bench::touch_memory();
            locked->unlock();
          }
        },
        [](std::uint64_t count) {
          sennit_mutex* const mutex = made(Kind::shared ? sennit_mutex_create_shared : sennit_mutex_create);
          for (; count != 0; --count) {
            auto* const locked = opaque(mutex);
            sennit_mutex_lock(locked);
            bench::touch_memory();
            sennit_mutex_unlock(locked);
          }
          sennit_mutex_destroy(mutex);
        });
  }

  // One hand-off between two fibers.
  void conditions() {
    both(
        "wait for a condition",
        [](std::uint64_t count) {
          typename Kind::mutex mutex;
          typename Kind::condition condition;
          std::uint64_t handed = 0;
          const auto play = [&](std::uint64_t mine) {
            for (std::unique_lock lock(mutex); handed != count;) {
              while (handed % 2 != mine && handed != count)
                condition.wait(lock);
              if (handed != count)
                ++handed;
              condition.notify_one();
            }
          };
          auto other = Kind::spawn([&] { play(1); });
          play(0);
          other.join();
          require(handed == count, "a hand-off was lost");
        },
        [](std::uint64_t count) {
          struct game {
            sennit_mutex* mutex;
            sennit_condition* condition;
            std::uint64_t count;
            std::uint64_t handed = 0;
            void play(std::uint64_t mine) {
              for (sennit_mutex_lock(mutex); handed != count;) {
                while (handed % 2 != mine && handed != count)
                  sennit_condition_wait(condition, mutex);
                if (handed != count)
                  ++handed;
                sennit_condition_notify_one(condition);
              }
              sennit_mutex_unlock(mutex);
            }
          } shared{made(Kind::shared ? sennit_mutex_create_shared : sennit_mutex_create),
                   made(Kind::shared ? sennit_condition_create_shared : sennit_condition_create), count};
          sennit_fiber* const other = started([](void* of) { static_cast<game*>(of)->play(1); }, &shared);
          shared.play(0);
          join(other);
          require(shared.handed == count, "a hand-off was lost");
          sennit_condition_destroy(shared.condition);
          sennit_mutex_destroy(shared.mutex);
        });
  }

  void semaphores() {
    both(
        "acquire and release",
        [](std::uint64_t count) {
          typename Kind::semaphore semaphore(1);
          for (; count != 0; --count) {
            auto* const of = opaque(&semaphore);
            of->acquire();
            bench::touch_memory();
            of->release();
          }
        },
        [](std::uint64_t count) {
          sennit_semaphore* const semaphore =
              made(Kind::shared ? sennit_semaphore_create_shared : sennit_semaphore_create, 1);
          for (; count != 0; --count) {
            auto* const of = opaque(semaphore);
            sennit_semaphore_acquire(of);
            bench::touch_memory();
            sennit_semaphore_release(of, 1);
          }
          sennit_semaphore_destroy(semaphore);
        });
  }

  static sennit_channel* made_channel(std::size_t capacity) {
    return made(Kind::shared ? sennit_channel_create_shared : sennit_channel_create, sizeof(std::uint64_t),
                capacity);
  }

  void buffered_channels() {
    both(
        "send and receive, buffered",
        [](std::uint64_t count) {
          typename Kind::channel channel(8);
          std::uint64_t sum = 0;
          for (std::uint64_t i = 0; i != count; ++i) {
            channel.send(i);
            sum += *channel.receive();
          }
          require(sum == count * (count - 1) / 2, "a channel lost a value");
        },
        [](std::uint64_t count) {
          sennit_channel* const channel = made_channel(8);
          std::uint64_t sum = 0;
          for (std::uint64_t i = 0; i != count; ++i) {
            std::uint64_t value = 0;
            sennit_channel_send(channel, &i);
            sennit_channel_receive(channel, &value);
            sum += value;
          }
          require(sum == count * (count - 1) / 2, "a channel lost a value");
          sennit_channel_destroy(channel);
        });
  }

  void channels() {
    both(
        "message, unbuffered",
        [](std::uint64_t count) {
          typename Kind::channel channel;
          std::uint64_t sum = 0;
          auto receiver = Kind::spawn([&] {
            while (const auto value = channel.receive())
              sum += *value;
          });
          for (std::uint64_t i = 0; i != count; ++i)
            channel.send(i);
          channel.close();
          receiver.join();
          require(sum == count * (count - 1) / 2, "a channel lost a value");
        },
        [](std::uint64_t count) {
          struct {
            sennit_channel* channel = made_channel(0);
            std::uint64_t sum = 0;
          } shared;
          sennit_fiber* const receiver = started(
              [](void* argument) {
                auto& of = *static_cast<decltype(shared)*>(argument);
                for (std::uint64_t value = 0; sennit_channel_receive(of.channel, &value) == 0;)
                  of.sum += value;
              },
              &shared);
          for (std::uint64_t i = 0; i != count; ++i)
            sennit_channel_send(shared.channel, &i);
          sennit_channel_close(shared.channel);
          join(receiver);
          require(shared.sum == count * (count - 1) / 2, "a channel lost a value");
          sennit_channel_destroy(shared.channel);
        });
  }

  struct flow {
    typename Kind::channel* channel;
    std::uint64_t* sum;
    static void take(flow* self, std::optional<std::uint64_t> value) {
      if (!value)
        return;
      *self->sum += *value;
      sennit::become_now(self->channel->receiving(), take, self);
    }
  };
  struct c_flow {
    sennit_channel* channel;
    std::uint64_t sum = 0;
    static void take(void* state, int result, void* value) {
      c_flow* const self = *static_cast<c_flow**>(state);
      if (result != 0)
        return;
      self->sum += *static_cast<std::uint64_t*>(value);
      sennit_channel_become_receiving(self->channel, take, &self, sizeof self, SENNIT_NEVER);
    }
  };
  void stackless_channels() {
    both(
        "message to a receiver without a stack",
        [](std::uint64_t count) {
          typename Kind::channel channel;
          std::uint64_t sum = 0;
          flow mine{&channel, &sum};
          auto receiver = Kind::spawn([&] { sennit::become_now(channel.receiving(), flow::take, &mine); });
          for (std::uint64_t i = 0; i != count; ++i)
            channel.send(i);
          channel.close();
          receiver.join();
          require(sum == count * (count - 1) / 2, "a channel lost a value");
        },
        [](std::uint64_t count) {
          c_flow mine{made_channel(0)};
          sennit_fiber* const receiver = started(
              [](void* argument) {
                auto* const self = static_cast<c_flow*>(argument);
                sennit_channel_become_receiving(self->channel, c_flow::take, &self, sizeof self,
                                                SENNIT_NEVER);
              },
              &mine);
          for (std::uint64_t i = 0; i != count; ++i)
            sennit_channel_send(mine.channel, &i);
          sennit_channel_close(mine.channel);
          join(receiver);
          require(mine.sum == count * (count - 1) / 2, "a channel lost a value");
          sennit_channel_destroy(mine.channel);
        });
  }

  // A fiber sends to two channels by turns, and another one selects among them.
  void selects() {
    both(
        "select among two channels",
        [](std::uint64_t count) {
          typename Kind::channel channels[2];
          auto sender = Kind::spawn([&] {
            for (std::uint64_t i = 0; i != count; ++i)
              channels[i % 2].send(i);
          });
          std::uint64_t sum = 0;
          const auto take = [&](std::optional<std::uint64_t> value) { sum += *value; };
          for (std::uint64_t i = 0; i != count; ++i)
            sennit::select(sennit::on_receive(channels[0], take), sennit::on_receive(channels[1], take));
          sender.join();
          require(sum == count * (count - 1) / 2, "a select lost a value");
        },
        [](std::uint64_t count) {
          struct sending {
            sennit_channel* channels[2];
            std::uint64_t count;
          } shared{{made_channel(0), made_channel(0)}, count};
          sennit_fiber* const sender = started(
              [](void* argument) {
                auto& to = *static_cast<sending*>(argument);
                for (std::uint64_t i = 0; i != to.count; ++i)
                  sennit_channel_send(to.channels[i % 2], &i);
              },
              &shared);
          std::uint64_t sum = 0;
          for (std::uint64_t i = 0; i != count; ++i) {
            std::uint64_t value = 0;
            sennit_case cases[] = {{shared.channels[0], &value, false, 0},
                                   {shared.channels[1], &value, false, 0}};
            sennit_select(cases, 2, SENNIT_NEVER);
            sum += value;
          }
          join(sender);
          require(sum == count * (count - 1) / 2, "a select lost a value");
          sennit_channel_destroy(shared.channels[0]);
          sennit_channel_destroy(shared.channels[1]);
        });
  }

  void ports() {
    both(
        "call",
        [](std::uint64_t count) {
          typename Kind::port port;
          auto server = Kind::spawn([&] { port.serve([](std::uint64_t x) { return x + 1; }); });
          for (std::uint64_t i = 0; i != count; ++i)
            require(port.call(i) == i + 1, "a wrong reply");
          port.close();
          server.join();
        },
        [](std::uint64_t count) {
          sennit_port* const port = made_port();
          sennit_fiber* const server = started(
              [](void* argument) {
                sennit_port_serve(
                    static_cast<sennit_port*>(argument),
                    [](void*, const void* request, void* reply) {
                      *static_cast<std::uint64_t*>(reply) = *static_cast<const std::uint64_t*>(request) + 1;
                      return 0;
                    },
                    nullptr);
              },
              port);
          for (std::uint64_t i = 0; i != count; ++i) {
            std::uint64_t reply = 0;
            sennit_port_call(port, &i, &reply, SENNIT_NEVER);
            require(reply == i + 1, "a wrong reply");
          }
          sennit_port_close(port);
          join(server);
          sennit_port_destroy(port);
        });
  }

  // In C++ the call lies in a frame, which its destructor must leave: no become_now().
  static sennit::continuation answer(typename Kind::port* port, typename Kind::port::incoming&& next) {
    if (!next)
      return {};
    next.reply(*next + 1);
    return sennit::become(port->receiving(), answer, port);
  }
  static void c_answer(void* state, int result, void* value) {
    if (result != 0)
      return;
    auto* const next = static_cast<sennit_call*>(value);
    const std::uint64_t reply = *static_cast<std::uint64_t*>(sennit_call_request(next)) + 1;
    sennit_call_reply(next, &reply);
    sennit_port_become_receiving(*static_cast<sennit_port**>(state), c_answer, state, sizeof(sennit_port*),
                                 SENNIT_NEVER);
  }
  static sennit_port* made_port() {
    return made(Kind::shared ? sennit_port_create_shared : sennit_port_create, sizeof(std::uint64_t),
                sizeof(std::uint64_t));
  }
  void stackless_ports() {
    both(
        "call to a server without a stack",
        [](std::uint64_t count) {
          typename Kind::port port;
          auto server = Kind::spawn([&] { return sennit::become(port.receiving(), answer, &port); });
          for (std::uint64_t i = 0; i != count; ++i)
            require(port.call(i) == i + 1, "a wrong reply");
          port.close();
          server.join();
        },
        [](std::uint64_t count) {
          sennit_port* port = made_port();
          sennit_fiber* const server = started(
              [](void* state) {
                sennit_port_become_receiving(*static_cast<sennit_port**>(state), c_answer, state,
                                             sizeof(sennit_port*), SENNIT_NEVER);
              },
              &port);
          for (std::uint64_t i = 0; i != count; ++i) {
            std::uint64_t reply = 0;
            sennit_port_call(port, &i, &reply, SENNIT_NEVER);
            require(reply == i + 1, "a wrong reply");
          }
          sennit_port_close(port);
          join(server);
          sennit_port_destroy(port);
        });
  }

  void upcalls() {
    both(
        "upcall",
        [](std::uint64_t count) {
          typename Kind::upcall_pool pool;
          std::uint64_t sum = 0;
          for (std::uint64_t i = 0; i != count; ++i) {
            require(pool.post([&sum] { ++sum; }), "a post was refused");
            while (sum != i + 1)
              Kind::yield();
          }
        },
        [](std::uint64_t count) {
          sennit_upcall_pool* const pool = made(sennit_upcall_pool_create, nullptr);
          std::uint64_t sum = 0;
          std::uint64_t* const state = &sum;
          for (std::uint64_t i = 0; i != count; ++i) {
            require(
                sennit_upcall_pool_post(
                    pool, [](void* at) { ++**static_cast<std::uint64_t**>(at); }, &state, sizeof state) == 0,
                "a post was refused");
            while (sum != i + 1)
              sennit_self_yield();
          }
          sennit_upcall_pool_destroy(pool);
        });
  }

  // An instruction faults, and the server's verdict is to skip it.
  void faults() {
#if defined(__x86_64__)
    constexpr std::uint64_t size = 2;  // of ud2
    if (!sennit_serves_faults())
      return;
    both(
        "served fault",
        [](std::uint64_t count) {
          typename Kind::exception_server server;
          std::uint64_t served = 0;
          auto serves = Kind::spawn([&] {
            while (auto fault = server.receive()) {
              skip(fault, size);
              ++served;
              fault.reply(sennit::verdict::resume);
            }
          });
          {
            const typename Kind::exception_guard guard(server);
            for (std::uint64_t i = 0; i != count; ++i)
              __asm__ volatile("ud2");
          }
          server.close();
          serves.join();
          require(served == count, "a fault was not served");
        },
        [](std::uint64_t count) {
          struct shared {
            sennit_exception_server* server;
            std::uint64_t count;
            std::uint64_t served = 0;
          } of{made(Kind::shared ? sennit_exception_server_create_shared : sennit_exception_server_create),
               count};
          sennit_fiber* const serves = started(
              [](void* argument) {
                sennit_exception_server_serve(
                    static_cast<shared*>(argument)->server,
                    [](void* to, sennit_fault* fault) {
                      fault->registers->rip += size;
                      ++static_cast<shared*>(to)->served;
                      return static_cast<int>(SENNIT_VERDICT_RESUME);
                    },
                    argument);
              },
              &of);
          sennit_exception_server_guard(
              of.server,
              [](void* argument) {
                for (std::uint64_t i = 0; i != static_cast<shared*>(argument)->count; ++i)
                  __asm__ volatile("ud2");
              },
              &of);
          sennit_exception_server_close(of.server);
          join(serves);
          require(of.served == count, "a fault was not served");
          sennit_exception_server_destroy(of.server);
        });
#endif
  }
  template <class Fault>
  static void skip([[maybe_unused]] Fault& fault, [[maybe_unused]] std::uint64_t size) {
#if SENNIT_REDIRECTS && defined(__x86_64__)
    fault.registers().rip += size;
#endif
  }

  // ---- Asynchronous operations. The calling fiber waits for their ends by a semaphore.

  struct c_transfer {
    sennit_async_transfer transfer{[](sennit_async_transfer* of, int ended) {
                                     auto& self = *reinterpret_cast<c_transfer*>(of);
                                     self.result = ended;
                                     sennit_semaphore_release(self.ends, 1);
                                   },
                                   0};
    sennit_semaphore* ends;
    int result = 1;
  };
  struct c_stream {
    sennit_async_stream operation{[](sennit_async_stream* of, int ended) {
                                    auto& self = *reinterpret_cast<c_stream*>(of);
                                    self.result = ended;
                                    sennit_semaphore_release(self.ends, 1);
                                  },
                                  nullptr};
    sennit_semaphore* ends;
    int result = 1;
  };
  static sennit_semaphore* made_semaphore() {
    return made(Kind::shared ? sennit_semaphore_create_shared : sennit_semaphore_create, 0);
  }
  struct transfer_end {
    typename Kind::semaphore* ends;
    std::size_t size = 0;
    auto handler() {
      return [this](sennit::io_result got) {
        size = got.error ? 0 : got.size;
        ends->release();
      };
    }
  };
  struct stream_end {
    typename Kind::semaphore* ends;
    sennit::tcp_stream stream{};
    auto handler() {
      return [this](sennit::tcp_stream got, std::error_code) {
        stream = std::move(got);
        ends->release();
      };
    }
  };

  void transfers() {
    both(
        "asynchronous write and read",
        [](std::uint64_t count) {
          const socket_pair pair;
          auto from = sennit::tcp_stream::adopt(pair.ends[0]);
          auto to = sennit::tcp_stream::adopt(pair.ends[1]);
          typename Kind::semaphore ends(0);
          typename Kind::upcall_pool pool;
          char bytes[8] = {};
          for (std::uint64_t i = 0; i != count; ++i) {
            transfer_end written{&ends}, read{&ends};
            require(sennit::async_write_all(pool, from, "abcdefgh", written.handler()) &&
                        sennit::async_read_some(pool, to, bytes, read.handler()),
                    "a transfer was refused");
            ends.acquire();
            ends.acquire();
            require(written.size == 8 && read.size == 8, "a transfer lost bytes");
          }
        },
        [](std::uint64_t count) {
          const socket_pair pair;
          sennit_tcp_stream* const from = made(sennit_tcp_stream_adopt, pair.ends[0]);
          sennit_tcp_stream* const to = made(sennit_tcp_stream_adopt, pair.ends[1]);
          sennit_upcall_pool* const pool = made(sennit_upcall_pool_create, nullptr);
          sennit_semaphore* const ends = made_semaphore();
          char bytes[8] = {};
          for (std::uint64_t i = 0; i != count; ++i) {
            c_transfer written{.ends = ends}, read{.ends = ends};
            require(sennit_tcp_stream_async_write_all(from, pool, "abcdefgh", 8, &written.transfer) == 0 &&
                        sennit_tcp_stream_async_read(to, pool, bytes, sizeof bytes, &read.transfer) == 0,
                    "a transfer was refused");
            sennit_semaphore_acquire(ends);
            sennit_semaphore_acquire(ends);
            require(written.result == 0 && written.transfer.size == 8 && read.result == 0 &&
                        read.transfer.size == 8,
                    "a transfer lost bytes");
          }
          sennit_upcall_pool_destroy(pool);
          sennit_semaphore_destroy(ends);
          sennit_tcp_stream_close(from);
          sennit_tcp_stream_close(to);
        });
  }

  void connections() {
    both(
        "asynchronous accept and connect",
        [](std::uint64_t count) {
          sennit::tcp_listener listener("127.0.0.1", 0);
          typename Kind::semaphore ends(0);
          typename Kind::upcall_pool pool;
          for (std::uint64_t i = 0; i != count; ++i) {
            stream_end accepted{&ends}, connected{&ends};
            require(sennit::async_accept(pool, listener, accepted.handler()) &&
                        sennit::async_connect(pool, "127.0.0.1", listener.port(), connected.handler()),
                    "an operation was refused");
            ends.acquire();
            ends.acquire();
            require(accepted.stream.is_open() && connected.stream.is_open(), "a connection failed");
            close_by_reset(accepted.stream.native_handle());
            accepted.stream.close();
          }
        },
        [](std::uint64_t count) {
          sennit_tcp_listener* const listener = made(sennit_tcp_listener_listen, "127.0.0.1", 0, 0);
          const auto port = static_cast<std::uint16_t>(sennit_tcp_listener_port(listener));
          sennit_upcall_pool* const pool = made(sennit_upcall_pool_create, nullptr);
          sennit_semaphore* const ends = made_semaphore();
          for (std::uint64_t i = 0; i != count; ++i) {
            c_stream accepted{.ends = ends}, connected{.ends = ends};
            require(sennit_tcp_listener_async_accept(listener, pool, &accepted.operation) == 0 &&
                        sennit_tcp_stream_async_connect(pool, "127.0.0.1", port, SENNIT_NEVER,
                                                        &connected.operation) == 0,
                    "an operation was refused");
            sennit_semaphore_acquire(ends);
            sennit_semaphore_acquire(ends);
            require(accepted.result == 0 && connected.result == 0, "a connection failed");
            close_by_reset(sennit_tcp_stream_descriptor(accepted.operation.stream));
            sennit_tcp_stream_close(accepted.operation.stream);
            sennit_tcp_stream_close(connected.operation.stream);
          }
          sennit_upcall_pool_destroy(pool);
          sennit_semaphore_destroy(ends);
          sennit_tcp_listener_close(listener);
        });
  }

  void file_reads() {
    both(
        "asynchronous read of a file",
        [](std::uint64_t count) {
          const small_file made_one;
          sennit::file file = sennit::file::open(made_one.name(), O_RDONLY);
          typename Kind::semaphore ends(0);
          typename Kind::upcall_pool pool;
          char bytes[8] = {};
          for (std::uint64_t i = 0; i != count; ++i) {
            transfer_end read{&ends};
            require(sennit::async_read_some_at(pool, file, 0, std::span<char>(bytes), read.handler()),
                    "a read was refused");
            ends.acquire();
            require(read.size == 8, "a read lost bytes");
          }
        },
        [](std::uint64_t count) {
          const small_file made_one;
          sennit_file* const file = made(sennit_file_open, made_one.name(), O_RDONLY, 0);
          sennit_upcall_pool* const pool = made(sennit_upcall_pool_create, nullptr);
          sennit_semaphore* const ends = made_semaphore();
          char bytes[8] = {};
          for (std::uint64_t i = 0; i != count; ++i) {
            c_transfer read{.ends = ends};
            require(sennit_file_async_read_at(file, pool, 0, bytes, sizeof bytes, &read.transfer) == 0,
                    "a read was refused");
            sennit_semaphore_acquire(ends);
            require(read.result == 0 && read.transfer.size == 8, "a read lost bytes");
          }
          sennit_upcall_pool_destroy(pool);
          sennit_semaphore_destroy(ends);
          sennit_file_close(file);
        });
  }

  program& program_;
};

}  // namespace

int main(int argc, char** argv) {
  program program(argc, argv, bench::sennit_version,
                  "cpp: the C++ headers; c: sennit.h; local: a local runtime; shared: a parallel one, whose "
                  "second worker sleeps");
  bench::sennit_local::run([&] { measurement<local_kind>(program).all(); });
  bench::sennit_parallel::run(1, bench::second_worker::sleeps,
                              [&] { measurement<shared_kind>(program).all(); });
}
