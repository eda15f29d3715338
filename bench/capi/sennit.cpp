// Each operation by sennit.h, in the C part of the language, and by the C++ counterpart, which must do the
// same. `local` is a local runtime; `shared` is a parallel one, with shared objects, whose second worker
// sleeps.
#include <cstdint>
#include <cstdlib>

#include "../peers/sennit-parallel.hpp"
#include "../peers/sennit.hpp"
#include "../support/bench.hpp"
#include "../support/opaque.hpp"
#include "sennit/become.hpp"
#include "sennit/channel.hpp"
#include "sennit/counting_semaphore.hpp"
#include "sennit/local/channel.hpp"
#include "sennit/local/counting_semaphore.hpp"
#include "sennit/local/port.hpp"
#include "sennit/port.hpp"
#include "sennit/sennit.h"

namespace {

using bench::opaque;
using bench::program;
using bench::require;

// The counterparts of one kind.
struct local_kind {
  static constexpr bool shared = false;
  using fiber = sennit::local::fiber;
  using mutex = sennit::local::mutex;
  using semaphore = sennit::local::counting_semaphore;
  using channel = sennit::local::channel<std::uint64_t>;
  using port = sennit::local::port<std::uint64_t, std::uint64_t>;
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
  using semaphore = sennit::counting_semaphore;
  using channel = sennit::channel<std::uint64_t>;
  using port = sennit::port<std::uint64_t, std::uint64_t>;
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
sennit_fiber* started(sennit_function function, void* argument) {
  sennit_fiber* result = nullptr;
  require(sennit_fiber_spawn(&result, function, argument, nullptr) == 0, "a fiber was not started");
  return result;
}
void join(sennit_fiber* fiber) {
  require(sennit_fiber_join(fiber, SENNIT_NEVER) == 0, "a fiber was not joined");
}

template <class Kind>
class measurement {
public:
  explicit measurement(program& of) : program_(of) {}

  void all() {
    yields();
    spawns();
    mutexes();
    semaphores();
    buffered_channels();
    channels();
    stackless_channels();
    ports();
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
    static sennit::continuation take(flow* self, std::optional<std::uint64_t> value) {
      if (!value)
        return {};
      *self->sum += *value;
      return sennit::become(self->channel->receiving(), take, self);
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
          auto receiver = Kind::spawn([&] { return sennit::become(channel.receiving(), flow::take, &mine); });
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
          sennit_port* const port = made(Kind::shared ? sennit_port_create_shared : sennit_port_create,
                                         sizeof(std::uint64_t), sizeof(std::uint64_t));
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
