// Exception servers.
#include "sennit/exception_server.hpp"

#include <cstddef>
#include <cstring>
#include <string_view>

#include "become.hpp"
#include "kind.hpp"
#include "sennit/local/exception_server.hpp"

using namespace sennit;
using capi::guarded;
using capi::in_fiber;

struct sennit_exception_server {
  explicit sennit_exception_server(bool shared) : server(shared) {}
  capi::kinds<local::exception_server, exception_server> server;
};

static_assert(static_cast<int>(verdict::resume) == SENNIT_VERDICT_RESUME &&
              static_cast<int>(verdict::kill) == SENNIT_VERDICT_KILL &&
              static_cast<int>(verdict::unwind) == SENNIT_VERDICT_UNWIND &&
              static_cast<int>(verdict::pass) == SENNIT_VERDICT_PASS);
static_assert(static_cast<int>(fault_kind::memory) == SENNIT_FAULT_MEMORY &&
              static_cast<int>(fault_kind::bus) == SENNIT_FAULT_BUS &&
              static_cast<int>(fault_kind::overflow) == SENNIT_FAULT_OVERFLOW &&
              static_cast<int>(fault_kind::instruction) == SENNIT_FAULT_INSTRUCTION &&
              static_cast<int>(fault_kind::arithmetic) == SENNIT_FAULT_ARITHMETIC);
static_assert(!serves_faults || sizeof(machine_registers) == sizeof(sennit_registers));
#if defined(__x86_64__)
static_assert(offsetof(sennit_registers, rflags) == sizeof(sennit_registers) - sizeof(std::uint64_t));
#elif defined(__aarch64__)
static_assert(offsetof(sennit_registers, pstate) == sizeof(sennit_registers) - sizeof(std::uint64_t));
#endif

bool sennit_serves_faults(void) {
  return serves_faults;
}

int sennit_exception_server_create(sennit_exception_server** result) {
  return capi::create(result, false);
}

int sennit_exception_server_create_shared(sennit_exception_server** result) {
  return capi::create(result, true);
}

void sennit_exception_server_destroy(sennit_exception_server* server) {
  delete server;
}

int sennit_exception_server_close(sennit_exception_server* server) {
  if (server == nullptr || !server->server.may_use())
    return -EINVAL;
  server->server.with([](auto& one) { one.close(); });
  return 0;
}

namespace {

struct fault_handler {
  sennit_fault_handler decide;
  void* argument;

  // The handler must not throw: the fault is then passed on.
  template <class Fault>
  void answer(Fault& received) const {
    char name[32] = "";
    const std::string_view fiber = received.fiber();
    std::memcpy(name, fiber.data(), fiber.size() < sizeof name ? fiber.size() : sizeof name - 1);
    sennit_fault fault{};
    fault.kind = static_cast<int>(received.kind());
    fault.address = received.address();
    fault.fiber = name;
    fault.stackless = received.stackless();
    if constexpr (serves_faults)
      fault.registers = reinterpret_cast<sennit_registers*>(&received.registers());
    const int verdict_of = decide(argument, &fault);
    if (verdict_of >= SENNIT_VERDICT_RESUME && verdict_of < SENNIT_VERDICT_PASS)
      received.reply(static_cast<verdict>(verdict_of));
  }
};

// Answers faults until the server is closed. It has no stack in between.
template <class Server>
struct fault_loop {
  Server* server;
  fault_handler handler;
  continuation operator()(typename Server::fault&& fault) const {
    if (!fault)
      return {};
    handler.answer(fault);
    return detail::block(server->receiving(), fault_loop(*this), detail::no_state{});
  }
};

}  // namespace

int sennit_exception_server_serve(sennit_exception_server* server, sennit_fault_handler handler,
                                  void* argument) {
  if (server == nullptr || handler == nullptr || !server->server.may_become())
    return -EINVAL;
  const fault_handler answers{handler, argument};
  return guarded([&] {
    return server->server.with([&](auto& one) {
      while (auto fault = one.receive())
        answers.answer(fault);
      return 0;
    });
  });
}

int sennit_exception_server_become_serving(sennit_exception_server* server, sennit_fault_handler handler,
                                           void* argument) {
  if (server == nullptr || handler == nullptr || !server->server.may_become())
    return -EINVAL;
  const void* const frame = __builtin_dwarf_cfa();
  return guarded([&] {
    return server->server.with([&]<class Server>(Server& one) {
      detail::may_leave_frames("sennit_exception_server_become_serving", frame);
      detail::leave_frames(
          detail::block(one.receiving(), fault_loop<Server>{&one, {handler, argument}}, detail::no_state{}));
      return 0;
    });
  });
}

int sennit_exception_server_guard(sennit_exception_server* server, sennit_function function, void* argument) {
  if (server == nullptr || function == nullptr || !server->server.may_become())
    return -EINVAL;
  return guarded([&] {
    try {
      server->server.with([&](auto& one) { detail::guarded(one, [&] { function(argument); }); });
      return 0;
    } catch (const killed&) {
      return -ECANCELED;
    }
  });
}

int sennit_exception_server_guard_runtime(sennit_exception_server* server) {
  if (!in_fiber() || (server != nullptr && !server->server.may_become()))
    return -EINVAL;
  return guarded([&] {
    if (server == nullptr)
      detail::hook_of_runtime::clear();
    else
      server->server.with([](auto& one) { detail::exception_server_access::guard_runtime(one); });
    return 0;
  });
}

int sennit_become_restartable(sennit_function function, const void* state, size_t size) {
  if (function == nullptr || !capi::is_state(state, size) || !in_fiber())
    return -EINVAL;
  return capi::with_state(state, size, [frame = __builtin_dwarf_cfa(), function](auto kept) {
    detail::may_leave_frames("sennit_become_restartable", frame);
    detail::leave_frames(restartable(capi::c_continuation{function}, kept));
  });
}
