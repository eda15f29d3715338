// Commands for those who test the server: DEBUG.
#include "arguments.hpp"
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

}  // namespace

void debug(invocation& call) {
  if (!call.server.config.debug_command) {
    fail("ERR DEBUG command not allowed: start the server with --enable-debug-command yes");
  }
  if (call.arguments.size() != 2 || !equals_ignoring_case(call.arguments[1], "segfault")) {
    fail("ERR unknown subcommand or wrong number of arguments for '" +
         std::string(call.arguments[1].substr(0, 128)) + "'. DEBUG SEGFAULT is all there is.");
  }
  debug_segfault(call);
}

}  // namespace kv::handlers
