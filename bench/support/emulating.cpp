// Guests whose instructions are emulated, on one worker: bench_emulating [MESSAGES]. For ./run tables, which
// counts why they block.
//
// Draves et al. 1991 measured a DOS emulator, whose guest faults at each privileged instruction. A guest here
// waits for a message without a stack, and executes two illegal instructions for each. The emulator, another
// fiber, performs their work and skips them. It has a stack only while it does so.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <vector>

#include "sennit/become.hpp"
#include "sennit/channel.hpp"
#include "sennit/exception_server.hpp"
#include "sennit/fiber.hpp"
#include "sennit/runtime.hpp"

#if SENNIT_REDIRECTS && defined(__x86_64__)

namespace {

constexpr std::size_t guests = 3;
constexpr std::uint64_t instruction_size = 2;  // of ud2

constexpr std::uint64_t emulated(std::uint64_t value) {
  return 3 * value + 1;
}

// The instruction that no processor has: the emulator computes its result.
std::uint64_t call_emulator(std::uint64_t value) {
  __asm__ volatile("ud2" : "+a"(value));
  return value;
}

struct emulator {
  sennit::exception_server* faults;

  static sennit::continuation serve(emulator me, sennit::exception_server::fault&& fault) {
    if (!fault)
      return {};
    const bool known = fault.kind() == sennit::fault_kind::instruction;
    if (known) {
      fault.registers().rax = emulated(fault.registers().rax);
      fault.registers().rip += instruction_size;
    }
    fault.reply(known ? sennit::verdict::resume : sennit::verdict::pass);
    return me.wait();
  }
  sennit::continuation wait() const { return sennit::become(faults->receiving(), serve, *this); }
};

struct guest {
  sennit::channel<std::uint64_t>* messages;
  std::uint64_t* sum;

  static sennit::continuation step(guest me, std::optional<std::uint64_t> message) {
    if (!message)
      return {};
    *me.sum += call_emulator(call_emulator(*message));
    return me.wait();
  }
  sennit::continuation wait() const { return sennit::become(messages->receiving(), step, *this); }
};

}  // namespace

#endif

int main(int argc, char** argv) {
#if SENNIT_REDIRECTS && defined(__x86_64__)
  const std::uint64_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1000;
  std::uint64_t sum = 0, wanted = 0;
  sennit::runtime({.workers = 1}).run([&] {
    sennit::exception_server faults;
    const sennit::runtime_exception_guard guard(faults);
    sennit::channel<std::uint64_t> messages;
    sennit::fiber emulates = sennit::spawn(emulator{&faults}.wait());
    std::vector<sennit::fiber> all;
    for (std::size_t i = 0; i < guests; ++i)
      all.push_back(sennit::spawn(guest{&messages, &sum}.wait()));
    for (std::uint64_t i = 0; i < count; ++i) {
      messages.send(i);
      wanted += emulated(emulated(i));
    }
    messages.close();
    for (sennit::fiber& each : all)
      each.join();
    faults.close();
    emulates.join();
  });
  std::printf("%llu messages, %llu instructions emulated\n", static_cast<unsigned long long>(count),
              static_cast<unsigned long long>(2 * count));
  return sum == wanted ? 0 : 1;
#else
  (void)argc, (void)argv;
  std::puts("faults are not served on this CPU: see sennit/exception_server.hpp");
#endif
}
