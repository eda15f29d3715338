// Sennit: one type is rendezvous and buffered channel.
#include "channel.hpp"

#include "../peers/sennit-parallel.hpp"
#include "../peers/sennit.hpp"
#include "sennit/channel.hpp"
#include "sennit/local/channel.hpp"

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

}  // namespace

int main(int argc, char** argv) {
  bench::program program(argc, argv, bench::sennit_version,
                         "local::channel; channel, where on 1 worker the second one is held",
                         bench::channel_parameters());
  if (program.workers() == 1)
    bench::sennit_local::run([&] {
      bench::measure_channels<bench::sennit_local, local_channel, local_channel>(program, "local");
    });
  bench::sennit_parallel::run(program.workers(), bench::second_worker::held, [&] {
    bench::measure_channels<bench::sennit_parallel, channel, channel>(program, "parallel");
  });
}
