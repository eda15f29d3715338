// Ports.
#include <cstddef>
#include <new>

#include "become.hpp"
#include "byte_port.hpp"
#include "kind.hpp"
#include "sennit/detail/sched/misuse.hpp"
#include "sennit/detail/sync/any_thread.hpp"
#include "sennit/detail/sync/one_thread.hpp"
#include "value_wait.hpp"

#pragma GCC diagnostic ignored "-Winvalid-offsetof"

using namespace sennit;
using capi::guarded;
using capi::time_of;
using capi::user;

namespace {
using local_one = capi::byte_port<detail::one_thread>;
using shared_one = capi::byte_port<detail::any_thread>;
}  // namespace

struct sennit_port {
  sennit_port(bool shared, std::size_t request_size, std::size_t reply_size)
      : port(shared, request_size, reply_size) {}
  capi::kinds<local_one, shared_one> port;
  std::size_t users = 0;  // of a local one
};
static_assert(offsetof(sennit_port, port) == 0 &&
              decltype(sennit_port::port)::shared_at == offsetof(sennit_port_front, shared));

static int create_port(sennit_port** result, bool shared, size_t request_size, size_t reply_size) {
  if (request_size > capi::most_state || reply_size > capi::most_state)
    return -EINVAL;
  return capi::create(result, shared, request_size, reply_size);
}

int sennit_port_create(sennit_port** result, size_t request_size, size_t reply_size) {
  return create_port(result, false, request_size, reply_size);
}

int sennit_port_create_shared(sennit_port** result, size_t request_size, size_t reply_size) {
  return create_port(result, true, request_size, reply_size);
}

int sennit_port_destroy(sennit_port* port) {
  if (port != nullptr && port->users != 0)
    return -EBUSY;
  delete port;
  return 0;
}

int sennit_port_close(sennit_port* port) {
  if (port == nullptr || !port->port.may_use())
    return -EINVAL;
  port->port.with([](auto& one) { one.close(); });
  return 0;
}

namespace {

// Calls use(port) for a caller that may wait, and that counts as a user of a local one.
template <class Use>
SENNIT_INLINE int with_waiting(sennit_port& port, Use use) {
  return guarded([&]() __attribute__((always_inline)) -> int {
    if (port.port.is_shared())
      return use(port.port.shared());
    const user here(port.users);
    return use(port.port.local());
  });
}

bool may_lack(const void* bytes, std::size_t size) noexcept {
  return bytes != nullptr || size == 0;
}

// Calls use(port, call) with the kinds of a received call.
template <class Use>
int with_call(sennit_call& received, Use use) {
  const auto with = [&]<class Port>(Port*) -> int {
    auto& call = static_cast<typename Port::call&>(received);
    return use(*call.port, call);
  };
  return received.shared ? with(static_cast<shared_one*>(nullptr)) : with(static_cast<local_one*>(nullptr));
}

// Its memory is the port's until the next request, so that a second answer is noticed until then.
template <class Call>
void must_be_unanswered(const Call& received) noexcept {
  if (!received) [[unlikely]]
    detail::fatal_misuse(
        "answers a call that was answered before: after sennit_call_reply, sennit_call_fail or "
        "sennit_call_reply_and_receive, the call no longer exists");
}

}  // namespace

// Its name is also a macro, for the inline switch.
int(sennit_port_call)(sennit_port* port, const void* request, void* reply, int64_t deadline) {
  if (port == nullptr || !port->port.may_wait())
    return -EINVAL;
  return with_waiting(*port, [&](auto& one) __attribute__((always_inline)) {
    if (!may_lack(request, one.request_size()) || !may_lack(reply, one.reply_size()))
      return -EINVAL;
    return one.ask(request, reply, time_of(deadline));
  });
}

sennit_decision sennit_port_begin_call(sennit_port* port, const void* request, void* reply,
                                       sennit_worker* worker, sennit_call_record* record) {
  static_assert(sizeof(local_one::record) <= sizeof record->room &&
                alignof(local_one::record) <= alignof(sennit_call_record));
  local_one& one = port->port.local();
  if (!may_lack(request, one.request_size()) || !may_lack(reply, one.reply_size())) [[unlikely]]
    return local_one::not_begun;
  const sennit_decision to = one.begin_ask(*worker, request, reply, record->room);
  if (to.target != nullptr || to.value != local_one::not_begun.value) [[likely]]
    ++port->users;
  return to;
}

int sennit_port_end_call(sennit_port* port, sennit_call_record* record, uintptr_t word) {
  struct ending {
    local_one::record& mine;
    sennit_port& port;
    ~ending() {
      mine.~record();
      --port.users;
    }
  } const ended{*std::launder(reinterpret_cast<local_one::record*>(record->room)), *port};
  if (const detail::worker& here = *detail::this_worker(); here.unwinding) [[unlikely]]
    detail::throw_if_shutting_down(here, word);
  return ended.mine.result();
}

int sennit_port_receive(sennit_port* port, sennit_call** result, int64_t deadline) {
  if (port == nullptr || result == nullptr || !port->port.may_wait())
    return -EINVAL;
  return with_waiting(*port, [&](auto& one) __attribute__((always_inline)) {
    auto* const received = one.receive(time_of(deadline));
    if (received == nullptr)
      return one.closed() ? -EPIPE : -ETIMEDOUT;
    *result = received;
    return 0;
  });
}

int sennit_port_serve(sennit_port* port, sennit_port_handler handler, void* argument) {
  if (port == nullptr || handler == nullptr || !port->port.may_wait())
    return -EINVAL;
  return with_waiting(*port, [&](auto& one) __attribute__((always_inline)) {
    one.serve([&](const void* request, void* reply) {
      const int code = guarded([&] { return handler(argument, request, reply); });
      return code <= 0 ? code : -code;
    });
    return 0;
  });
}

int sennit_port_become_calling(sennit_port* port, const void* request, sennit_value_function function,
                               const void* state, size_t size, int64_t deadline) {
  if (port == nullptr || !port->port.may_become())
    return -EINVAL;
  return port->port.with([&, frame = __builtin_dwarf_cfa()]<class One>(One& one) {
    if (!may_lack(request, one.request_size()))
      return -EINVAL;
    return capi::become_with_value(
        "sennit_port_become_calling", frame, [&] { return typename One::call_wait(one); }, request,
        one.request_size(), one.most_size(), function, state, size, deadline);
  });
}

int sennit_port_become_receiving(sennit_port* port, sennit_value_function function, const void* state,
                                 size_t size, int64_t deadline) {
  if (port == nullptr || !port->port.may_become())
    return -EINVAL;
  return port->port.with([&, frame = __builtin_dwarf_cfa()]<class One>(One& one) {
    return capi::become_with_value(
        "sennit_port_become_receiving", frame, [&] { return typename One::receive_wait(one); }, nullptr, 0, 0,
        function, state, size, deadline);
  });
}

void* sennit_call_request(sennit_call* call) {
  if (call == nullptr)
    return nullptr;
  if (call->shared)
    return static_cast<shared_one::call*>(call)->request();
  return static_cast<local_one::call*>(call)->request();
}

int sennit_call_reply(sennit_call* call, const void* reply) {
  if (call == nullptr)
    return -EINVAL;
  return with_call(*call, [&](auto& port, auto& received) {
    if (!may_lack(reply, port.reply_size()))
      return -EINVAL;
    must_be_unanswered(received);
    return port.answer(received, 0, reply) ? 0 : -ECANCELED;
  });
}

int sennit_call_fail(sennit_call* call, int error) {
  if (call == nullptr || error == 0)
    return -EINVAL;
  return with_call(*call, [&](auto& port, auto& received) {
    must_be_unanswered(received);
    return port.answer(received, error < 0 ? error : -error, nullptr) ? 0 : -ECANCELED;
  });
}

int sennit_call_reply_and_receive(sennit_call** call, const void* reply) {
  if (call == nullptr || *call == nullptr)
    return -EINVAL;
  return with_call(**call, [&]<class Port, class Call>(Port& port, Call& received) {
    if (!may_lack(reply, port.reply_size()) || !(Port::is_shared || capi::in_local_fiber()))
      return -EINVAL;
    must_be_unanswered(received);
    return guarded([&] {
      sennit_call* const served = std::exchange(*call, nullptr);
      if (!port.reply_and_receive(received, reply))
        return -EPIPE;
      *call = served;
      return 0;
    });
  });
}
