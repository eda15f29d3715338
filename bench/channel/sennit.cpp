// Sennit: one type is rendezvous and buffered channel. `actor`: the receiver is an actor with a stack, or
// (`actor-stackless`) without one, whose mailbox has 64 places.
#include "channel.hpp"

#include <algorithm>

#include "../peers/sennit-kinds.hpp"
#include "sennit/biased.hpp"

namespace {

template <class Channel>
class adapter {
public:
  using value_type = typename Channel::value_type;
  using T = value_type;
  explicit adapter(std::size_t capacity) : channel_(capacity) {}
  BENCH_INLINE void send(const T& message) { channel_.send(message); }
  BENCH_INLINE T receive() { return *channel_.receive(); }

private:
  Channel channel_;
};

template <class T>
using local_channel = adapter<sennit::local::channel<T>>;
template <class T>
using channel = adapter<sennit::channel<T>>;

template <class T>
using biased_channel = adapter<sennit::biased_channel<T>>;

// Sends as to a channel.
template <class Reference>
struct address {
  using value_type = typename Reference::message_type;
  Reference to;
  BENCH_INLINE void send(const value_type& message) { to.send(message); }
};

template <class Kind, class M, bool has_stack>
void measure_actor(bench::program& program, const char* variant) {
  using reference = typename Kind::template actor_ref<M>;
  program.measure(variant, {{"capacity", 64}, {"bytes", sizeof(M)}}, "message", 1, [](std::uint64_t count) {
    std::uint64_t received = 0;
    const auto begin = [&received] {
      if constexpr (has_stack)
        return [&received](typename Kind::template inbox<M>& in) {
          std::uint64_t sum = 0;
          while (const auto message = in.receive())
            sum += message->front();
          received = sum;
        };
      else
        return [&received](M message) { received += message.front(); };
    };
    address<reference> receiver{Kind::template spawn_actor<M>(begin())};
    bench::channel_user<address<reference>> from{&receiver, count};
    typename Kind::library::fiber sending(bench::distinct_entry<bench::sender<address<reference>>>(0), &from);
    sending.join();
    receiver.to.stop();
    receiver.to.wait();
    bench::require(from.sum == received, "the actor lost a message");
  });
}

// What an actor is compared with: the receiver of a channel that receives until the channel is closed.
template <class Kind, class M>
void measure_until_closed(bench::program& program, const char* variant) {
  using channel = typename Kind::template channel<M>;
  program.measure(variant, {{"capacity", 64}, {"bytes", sizeof(M)}}, "message", 1, [](std::uint64_t count) {
    channel messages(64);
    std::uint64_t received = 0;
    auto receiving = Kind::spawn([&] {
      std::uint64_t sum = 0;
      while (const auto message = messages.receive())
        sum += message->front();
      received = sum;
    });
    bench::channel_user<channel> from{&messages, count};
    typename Kind::library::fiber sending(bench::distinct_entry<bench::sender<channel>>(0), &from);
    sending.join();
    messages.close();
    receiving.join();
    bench::require(from.sum == received, "the channel lost a message");
  });
}

template <class Kind>
void measure_actors(bench::program& program, const char* closed, const char* with, const char* without) {
  const auto wanted = [&](const char* parameter, long value) {
    const auto values = program.values(parameter);
    return std::find(values.begin(), values.end(), value) != values.end();
  };
  if (!wanted("capacity", 64))
    return;
  if (wanted("bytes", 8)) {
    measure_until_closed<Kind, bench::message<8>>(program, closed);
    measure_actor<Kind, bench::message<8>, true>(program, with);
    measure_actor<Kind, bench::message<8>, false>(program, without);
  }
  if (wanted("bytes", 64)) {
    measure_until_closed<Kind, bench::message<64>>(program, closed);
    measure_actor<Kind, bench::message<64>, true>(program, with);
    measure_actor<Kind, bench::message<64>, false>(program, without);
  }
}

}  // namespace

int main(int argc, char** argv) {
  bench::program program(argc, argv, bench::sennit_version,
                         "local::channel; channel, where on 1 worker the second one is held",
                         bench::channel_parameters());
  if (program.workers() == 1)
    bench::sennit_local::run([&] {
      bench::measure_channels<bench::sennit_local, local_channel, local_channel>(program, "local");
      measure_actors<bench::local_kind>(program, "local-until-closed", "local-actor",
                                        "local-actor-stackless");
    });
  bench::sennit_parallel::run(program.workers(), bench::second_worker::held, [&] {
    bench::measure_channels<bench::sennit_parallel, channel, channel>(program, "parallel");
    bench::measure_channels<bench::sennit_parallel, biased_channel, biased_channel>(program,
                                                                                    "parallel-biased");
    measure_actors<bench::parallel_kind>(program, "parallel-until-closed", "parallel-actor",
                                         "parallel-actor-stackless");
  });
}
