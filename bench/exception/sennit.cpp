// Sennit: see exception.hpp. An exception server, a fiber of the same worker, is asked.
#include "exception.hpp"

#include <stop_token>

#include "../peers/sennit-parallel.hpp"
#include "../peers/sennit.hpp"
#include "sennit/local/exception_server.hpp"
#include "sennit/stop_guard.hpp"

namespace {

template <class Server, class Guard, class Spawn>
void measure(bench::program& program, const char* variant, Spawn spawn) {
  Server server;
  std::stop_source end;
  auto mends = spawn([&] {
    const sennit::stop_guard ends(end.get_token());
    for (;;) {
      auto fault = server.receive();
#if SENNIT_REDIRECTS
      if (fault.kind() == sennit::fault_kind::instruction)
        fault.registers().rip += bench::illegal_instruction_size;
      else
#endif
        bench::closed_pages::open(fault.address());
      fault.reply(sennit::verdict::resume);
    }
  });
  {
    const Guard guard(server);
    bench::measure_exception(program, variant);
  }
  end.request_stop();
  mends.join();
}

}  // namespace

int main(int argc, char** argv) {
  bench::program program(
      argc, argv, bench::sennit_version,
      "an exception server on the same worker; parallel on 1 worker: the second one is held");
  program.require_one_worker("the server is on the same worker");
  if (!sennit::serves_faults) {
    program.unsupported("local", {}, "faults are not served on this instruction set");
    return 0;
  }
  bench::sennit_local::run([&] {
    measure<sennit::local::exception_server, sennit::local::exception_guard>(
        program, "local-", [](auto function) { return sennit::local::spawn(function); });
  });
  bench::sennit_parallel::run(1, bench::second_worker::held, [&] {
    measure<sennit::exception_server, sennit::exception_guard>(
        program, "parallel-", [](auto function) { return sennit::spawn(function, {.near = 0}); });
  });
}
