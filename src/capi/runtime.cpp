// Runtimes, fibers, and what a fiber does to itself.
#include <cstring>
#include <new>
#include <optional>
#include <span>
#include <utility>

#include "become.hpp"
#include "error.hpp"
#include "sennit/become.hpp"
#include "sennit/local/runtime.hpp"

using namespace sennit;
using capi::guarded;
using capi::in_fiber;

struct sennit_runtime {
  explicit sennit_runtime(const local::runtime_options& options) : runtime(options) {}
  local::runtime runtime;
};

namespace sennit::inline v0_1::detail {

// C's handle of a fiber is its descriptor.
struct handle_access {
  static sennit_fiber* release(local::fiber&& handle) noexcept {
    return reinterpret_cast<sennit_fiber*>(std::exchange(handle.fiber_, nullptr));
  }
  static local::fiber take(detail::fiber& f) noexcept { return local::fiber(f); }
};

}  // namespace sennit::inline v0_1::detail

namespace {

detail::fiber* descriptor_of(const sennit_fiber* handle) noexcept {
  return const_cast<detail::fiber*>(reinterpret_cast<const detail::fiber*>(handle));
}

struct c_function {
  sennit_function function;
  void* argument;
  void operator()() const { function(argument); }
};

std::string_view name_of(const char* name) noexcept {
  return name != nullptr ? name : std::string_view();
}

std::span<std::byte> stack_of(const sennit_fiber_options& options) noexcept {
  if (options.stack == nullptr)
    return {};
  return {static_cast<std::byte*>(options.stack), options.stack_size};
}

// `result` null: the fiber is detached. (A handle that is destroyed detaches its fiber.)
template <class Spawn>
int spawned(sennit_fiber** result, const sennit_fiber_options* options, Spawn spawn) {
  return guarded([&] {
    local::spawn_options wanted;
    if (options != nullptr && options->stack != nullptr && options->stack_size == 0)
      return -EINVAL;
    if (options != nullptr)
      wanted = {.name = name_of(options->name),
                .stack_size = options->stack_size,
                .guard_size = options->guard_size,
                .stack = stack_of(*options)};
    local::fiber made = spawn(wanted);
    if (result != nullptr)
      *result = detail::handle_access::release(std::move(made));
    return 0;
  });
}

// The caller's handle, lent: what is not given back by a join stays the caller's.
class lent_handle {
public:
  explicit lent_handle(detail::fiber& f) : fiber_(f), handle(detail::handle_access::take(f)) {}
  lent_handle(const lent_handle&) = delete;
  lent_handle& operator=(const lent_handle&) = delete;
  ~lent_handle() {
    if (!handle.joinable()) {
      fiber_.flags.owned = false;  // a second join is refused until the descriptor is another fiber's
      return;
    }
    fiber_.joiner = nullptr;
    static_cast<void>(detail::handle_access::release(std::move(handle)));
  }

private:
  detail::fiber& fiber_;

public:
  local::fiber handle;
};

}  // namespace

int sennit_runtime_create(sennit_runtime** result, const sennit_runtime_options* options) {
  return guarded([&] {
    local::runtime_options wanted;
    if (options != nullptr) {
      if (options->policy < SENNIT_POLICY_FIFO || options->policy > SENNIT_POLICY_HYBRID)
        return -EINVAL;
      wanted.policy = static_cast<run_policy>(options->policy);
      if (options->stack_size != 0)
        wanted.stack_size = options->stack_size;
      if (options->guard_size != 0)
        wanted.guard_size = options->guard_size;
      if (options->report_deadlock != 0)
        wanted.report_deadlock = options->report_deadlock > 0;
      wanted.time_slice = std::chrono::nanoseconds(options->time_slice);
      wanted.max_fibers = options->max_fibers;
    }
    if (result == nullptr)
      return -EINVAL;
    *result = new sennit_runtime(wanted);
    return 0;
  });
}

int sennit_runtime_destroy(sennit_runtime* runtime) {
  if (in_fiber())
    return -EINVAL;
  delete runtime;
  return 0;
}

int sennit_runtime_run(sennit_runtime* runtime, sennit_function function, void* argument) {
  if (runtime == nullptr || function == nullptr || in_fiber())
    return -EINVAL;
  return guarded([&] {
    runtime->runtime.run(c_function{function, argument});
    return 0;
  });
}

int sennit_runtime_run_once(sennit_runtime* runtime, int64_t deadline) {
  if (runtime == nullptr || in_fiber())
    return -EINVAL;
  return guarded([&]() -> int { return runtime->runtime.run_once(capi::time_of(deadline)); });
}

int sennit_runtime_descriptor(const sennit_runtime* runtime) {
  return runtime != nullptr ? runtime->runtime.descriptor() : -EINVAL;
}

int sennit_runtime_spawn(sennit_runtime* runtime, sennit_fiber** result, sennit_function function,
                         void* argument, const sennit_fiber_options* options) {
  if (runtime == nullptr || function == nullptr)
    return -EINVAL;
  return spawned(result, options, [&](const local::spawn_options& wanted) {
    return runtime->runtime.spawn(c_function{function, argument}, wanted);
  });
}

int sennit_runtime_post(sennit_runtime* runtime, sennit_function function, void* argument) {
  if (runtime == nullptr || function == nullptr)
    return -EINVAL;
  return guarded([&] {
    runtime->runtime.post(c_function{function, argument});
    return 0;
  });
}

ssize_t sennit_runtime_size(const sennit_runtime* runtime) {
  return runtime != nullptr ? static_cast<ssize_t>(runtime->runtime.size()) : -EINVAL;
}

int sennit_fiber_spawn(sennit_fiber** result, sennit_function function, void* argument,
                       const sennit_fiber_options* options) {
  if (function == nullptr || !in_fiber())
    return -EINVAL;
  return spawned(result, options, [&](const local::spawn_options& wanted) {
    return local::spawn(c_function{function, argument}, wanted);
  });
}

int sennit_fiber_join(sennit_fiber* fiber, int64_t deadline) {
  detail::fiber* const whom = descriptor_of(fiber);
  if (whom == nullptr || !whom->flags.owned || whom->joiner != nullptr)
    return -EINVAL;
  if (whom->flags.status != detail::fiber_status::finished)
    if (!in_fiber() || whom == detail::this_worker()->ready.current)
      return -EINVAL;
  return guarded([&] {
    lent_handle lent(*whom);
    return lent.handle.join_until(capi::time_of(deadline)) ? 0 : -ETIMEDOUT;
  });
}

void sennit_fiber_detach(sennit_fiber* fiber) {
  if (fiber != nullptr && !descriptor_of(fiber)->flags.owned)
    detail::fatal_empty_handle("sennit_fiber_detach");
  if (fiber != nullptr)
    detail::handle_access::take(*descriptor_of(fiber)).detach();
}

int sennit_fiber_unpark(sennit_fiber* fiber) {
  if (fiber == nullptr)
    return -EINVAL;
  detail::fiber_unpark(*descriptor_of(fiber));
  return 0;
}

const char* sennit_fiber_name(const sennit_fiber* fiber) {
  return fiber != nullptr ? detail::fiber_name(*descriptor_of(fiber)) : "";
}

uint64_t sennit_fiber_id(sennit_fiber* fiber) {
  return fiber != nullptr ? detail::fiber_id(*descriptor_of(fiber)) : 0;
}

int sennit_self_sleep(int64_t nanoseconds) {
  int64_t deadline;
  if (__builtin_add_overflow(sennit_now(), nanoseconds, &deadline))
    deadline = nanoseconds < 0 ? 0 : SENNIT_NEVER;
  return sennit_self_sleep_until(deadline);
}

int sennit_self_sleep_until(int64_t deadline) {
  if (!in_fiber())
    return -EINVAL;
  local::this_fiber::sleep_until(capi::time_of(deadline));
  return 0;
}

int sennit_self_park(void) {
  return sennit_self_park_until(SENNIT_NEVER);
}

int sennit_self_park_until(int64_t deadline) {
  if (!in_fiber())
    return -EINVAL;
  return local::this_fiber::park_until(capi::time_of(deadline)) ? 0 : -ETIMEDOUT;
}

int sennit_become(sennit_function function, const void* state, size_t size, int64_t deadline) {
  const auto become = [&, frame = __builtin_dwarf_cfa()](auto wait) {
    return capi::become("sennit_become", frame, std::move(wait), function, state, size);
  };
  if (deadline == SENNIT_NEVER)
    return become(detail::park_wait{});
  if (deadline <= 0)
    return become(detail::yield_wait{});
  return become(detail::timed_park_wait(capi::time_of(deadline)));
}

int sennit_self_set_yield_continuation(sennit_function function, const void* state, size_t size) {
  if (function == nullptr || !capi::is_state(state, size) || !in_fiber())
    return -EINVAL;
  return capi::with_state(
      state, size, [&](auto kept) { detail::yield_to(capi::c_continuation{function}, std::move(kept)); });
}

int sennit_self_clear_yield_continuation(void) {
  if (!in_fiber())
    return -EINVAL;
  this_fiber::clear_yield_continuation();
  return 0;
}

sennit_fiber* sennit_self(void) {
  return in_fiber() ? reinterpret_cast<sennit_fiber*>(detail::this_worker()->ready.current) : nullptr;
}

int sennit_self_set_name(const char* name) {
  if (name == nullptr || !in_fiber())
    return -EINVAL;
  local::this_fiber::set_name(name);
  return 0;
}
