// Sennit: one type is rendezvous and buffered channel.
#include "channel.hpp"

#include "../peers/sennit.hpp"
#include "sennit/local/channel.hpp"

namespace {

template <class T>
class channel {
public:
  using value_type = T;
  explicit channel(std::size_t capacity) : channel_(capacity) {}
  BENCH_INLINE void send(const T& message) { channel_.send(message); }
  BENCH_INLINE T receive() { return *channel_.receive(); }

private:
  sennit::local::channel<T> channel_;
};

}  // namespace

int main(int argc, char** argv) {
  using library = bench::sennit_local;
  bench::program program(argc, argv, bench::sennit_version, "local::channel", bench::channel_parameters());
  program.require_one_worker("the parallel runtime is not built yet");

  library::run([&] { bench::measure_channels<library, channel, channel>(program, "local"); });
}
