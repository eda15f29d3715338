// Commands for those who test the server: DEBUG.
#include <memory>
#include <utility>

#include "arguments.hpp"
#include "computation.hpp"
#include "computing/computing.hpp"
#include "handlers.hpp"

namespace kv {

void run_at_risk() {
  static int* volatile nowhere = nullptr;
  *nowhere = 1;
}

}  // namespace kv

namespace kv::handlers {

namespace {

// Faults, and takes down this connection alone: what the server does about clients' faults can be tried.
void debug_segfault(invocation& call) {
  if (!call.server.survives_faults) {
    fail(
        "ERR DEBUG SEGFAULT would end the server here: only --front fiber survives it, on x86-64, without "
        "sanitizers");
  }
  if (call.from.in_exec) {
    fail("ERR DEBUG SEGFAULT is not allowed in a transaction");
  }
  call.from.at_risk = true;
  call.from.quit = true;
}

class endless final : public computation {
public:
  step go_on(server_state&, reply_writer& reply) override {
    if (!std::exchange(begun_, true)) {
      return step::compute;
    }
    reply.ok();
    return step::done;
  }
  void compute() override { spin(stop_word()); }
  std::size_t memory() const override { return sizeof *this; }
  bool ends_with_client() const override { return true; }

private:
  bool begun_ = false;
};

// Computes until the client sends no more: that this stops nobody can be tried.
void debug_loop(invocation& call) {
  if (call.server.config.time_slice.count() == 0) {
    fail("ERR DEBUG LOOP would stop everybody here: this server is not preemptible (INFO server)");
  }
  if (call.from.in_exec) {
    fail("ERR DEBUG LOOP is not allowed in a transaction");
  }
  leave(call, std::make_unique<endless>());
}

}  // namespace

void debug(invocation& call) {
  if (!call.server.config.debug_command) {
    fail("ERR DEBUG command not allowed: start the server with --enable-debug-command yes");
  }
  run_subcommand(call);
}

constexpr subcommand debug_table[] = {
    {"loop", 2, debug_loop, "LOOP", "Compute until the client sends no more."},
    {"segfault", 2, debug_segfault, "SEGFAULT", "Dereference null. The server closes this connection only."},
};
const std::span<const subcommand> debug_choices = debug_table;

}  // namespace kv::handlers
