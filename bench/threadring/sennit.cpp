// Sennit: the mailbox of mutex and condition variable, and its own idiom, a channel.
#include "threadring.hpp"

#include "../peers/sennit.hpp"
#include "sennit/local/channel.hpp"

namespace {

class channel_mailbox {
public:
  BENCH_INLINE void put(std::uint64_t token) { channel_.send(token); }
  BENCH_INLINE std::uint64_t take() { return *channel_.receive(); }

private:
  sennit::local::channel<std::uint64_t> channel_{1};
};

}  // namespace

int main(int argc, char** argv) {
  using library = bench::sennit_local;
  constexpr std::size_t stack_size = 8 * 1024;
  bench::program program(argc, argv, bench::sennit_version, "one worker, fifo, 8 KiB pooled stacks",
                         bench::threadring_parameters());
  program.require_one_worker("the parallel runtime is not built yet");

  const auto measure = [&] {
    bench::measure_threadring<library>(program, "local", stack_size);
    bench::measure_threadring<library, channel_mailbox>(program, "local-channel", stack_size);
  };
  library::run(measure, sennit::run_policy::fifo, stack_size);
}
