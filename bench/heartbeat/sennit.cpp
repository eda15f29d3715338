// Sennit: see heartbeat.hpp.
#include "heartbeat.hpp"

#include "../peers/sennit-parallel.hpp"
#include "../peers/sennit.hpp"

int main(int argc, char** argv) {
  bench::program program(argc, argv, bench::sennit_version, "fifo, 64 KiB pooled stacks");
  bench::sennit_parallel::run(program.workers(), bench::second_worker::sleeps, [&] {
    bench::measure_heartbeat(
        program, "parallel", [](auto function) { return sennit::spawn(function); },
        [] { sennit::this_fiber::yield(); }, [](auto time) { sennit::this_fiber::sleep_until(time); });
  });
}
