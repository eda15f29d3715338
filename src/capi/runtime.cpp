// Runtimes, and how fibers begin.
#include <optional>
#include <span>
#include <utility>

#include "error.hpp"
#include "kind.hpp"
#include "main_fiber.hpp"
#include "sennit/local/runtime.hpp"
#include "sennit/runtime.hpp"

using namespace sennit;
using capi::guarded;
using capi::in_fiber;

// One of the two.
struct sennit_runtime {
  explicit sennit_runtime(const local::runtime_options& options) : local(std::in_place, options) {}
  explicit sennit_runtime(const runtime_options& options) : parallel(std::in_place, options) {}
  std::optional<local::runtime> local;
  std::optional<runtime> parallel;
};

namespace {

struct c_function {
  sennit_function function;
  void* argument;
  void operator()() const { function(argument); }
};

struct c_main_function : c_function {
  capi::main_fiber* self;
  void operator()() const {
    self->begins();
    c_function::operator()();
  }
};

std::string_view name_of(const char* name) noexcept {
  return name != nullptr ? name : std::string_view();
}

std::span<std::byte> stack_of(const sennit_fiber_options& options) noexcept {
  if (options.stack == nullptr)
    return {};
  return {static_cast<std::byte*>(options.stack), options.stack_size};
}

// `result` null: the fiber is detached. (A handle that is destroyed detaches its fiber.) `Options`: those of
// one kind of runtime.
template <class Options, class Spawn>
int spawned(sennit_fiber** result, const sennit_fiber_options* options, Spawn spawn) {
  return guarded([&] {
    Options wanted;
    if (options != nullptr) {
      if (options->stack != nullptr && options->stack_size == 0)
        return -EINVAL;
      wanted.name = name_of(options->name);
      wanted.stack_size = options->stack_size;
      wanted.guard_size = options->guard_size;
      wanted.stack = stack_of(*options);
      if constexpr (std::is_same_v<Options, spawn_options>)
        if (options->worker != 0)
          wanted.pinned = options->worker - 1;
    }
    auto made = spawn(wanted);
    if (result != nullptr)
      *result = detail::handle_access::release(std::move(made));
    return 0;
  });
}

template <class Options>
void set_common(Options& wanted, const sennit_runtime_options& options) {
  wanted.policy = static_cast<run_policy>(options.policy);
  if (options.stack_size != 0)
    wanted.stack_size = options.stack_size;
  if (options.guard_size != 0)
    wanted.guard_size = options.guard_size;
  if (options.report_deadlock != 0)
    wanted.report_deadlock = options.report_deadlock > 0;
  wanted.time_slice = std::chrono::nanoseconds(options.time_slice);
  wanted.max_fibers = options.max_fibers;
}

}  // namespace

int sennit_runtime_create(sennit_runtime** result, const sennit_runtime_options* options) {
  const sennit_runtime_options given = options != nullptr ? *options : sennit_runtime_options{};
  if (result == nullptr || given.policy < SENNIT_POLICY_FIFO || given.policy > SENNIT_POLICY_HYBRID)
    return -EINVAL;
  return guarded([&] {
    if (given.workers == 0) {
      if (given.report_stuck_after != 0)
        return -EINVAL;
      local::runtime_options wanted;
      set_common(wanted, given);
      *result = new sennit_runtime(wanted);
      return 0;
    }
    runtime_options wanted;
    set_common(wanted, given);
    wanted.report_stuck_after = std::chrono::nanoseconds(given.report_stuck_after);
    if (given.workers != SENNIT_ALL_CPUS) {
      if (given.workers > detail::sleepers<>::most_workers)
        return -EINVAL;
      wanted.workers = given.workers;
    }
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
    capi::main_fiber self;
    const c_main_function main{{function, argument}, &self};
    if (runtime->local)
      runtime->local->run(main);
    else
      runtime->parallel->run(main);
    return 0;
  });
}

int sennit_runtime_run_once(sennit_runtime* runtime, int64_t deadline) {
  if (runtime == nullptr || !runtime->local || in_fiber())
    return -EINVAL;
  return guarded([&]() -> int { return runtime->local->run_once(capi::time_of(deadline)); });
}

int sennit_runtime_descriptor(const sennit_runtime* runtime) {
  return runtime != nullptr && runtime->local ? runtime->local->descriptor() : -EINVAL;
}

int sennit_runtime_workers(const sennit_runtime* runtime) {
  if (runtime == nullptr)
    return -EINVAL;
  return runtime->local ? 0 : static_cast<int>(runtime->parallel->workers());
}

int sennit_runtime_spawn(sennit_runtime* runtime, sennit_fiber** result, sennit_function function,
                         void* argument, const sennit_fiber_options* options) {
  if (runtime == nullptr || function == nullptr)
    return -EINVAL;
  if (!runtime->local)
    return spawned<spawn_options>(result, options, [&](const spawn_options& wanted) {
      return runtime->parallel->spawn(c_function{function, argument}, wanted);
    });
  return spawned<local::spawn_options>(result, options, [&](const local::spawn_options& wanted) {
    return runtime->local->spawn(c_function{function, argument}, wanted);
  });
}

int sennit_runtime_post(sennit_runtime* runtime, sennit_function function, void* argument) {
  if (runtime == nullptr || function == nullptr)
    return -EINVAL;
  return guarded([&] {
    if (runtime->local)
      runtime->local->post(c_function{function, argument});
    else
      runtime->parallel->post(c_function{function, argument});
    return 0;
  });
}

ssize_t sennit_runtime_size(const sennit_runtime* runtime) {
  if (runtime == nullptr)
    return -EINVAL;
  return static_cast<ssize_t>(runtime->local ? runtime->local->size() : runtime->parallel->size());
}

namespace {

// By default options. A function for each kind: they save fewer registers than one for both.
template <class Spawn>
SENNIT_INLINE int spawned_by_default(sennit_fiber** result, Spawn spawn) {
  return guarded([&] {
    auto made = spawn();
    if (result != nullptr)
      *result = detail::handle_access::release(std::move(made));
    return 0;
  });
}
[[gnu::noinline]] int spawn_local(sennit_fiber** result, sennit_function function, void* argument) {
  return spawned_by_default(result, [&] { return local::spawn(c_function{function, argument}); });
}
[[gnu::noinline]] int spawn_parallel(sennit_fiber** result, sennit_function function, void* argument) {
  return spawned_by_default(result, [&] { return spawn(c_function{function, argument}); });
}
[[gnu::noinline]] int spawn_by(const sennit_fiber_options* options, sennit_fiber** result,
                               sennit_function function, void* argument) {
  if (detail::this_parallel() != nullptr)
    return spawned<spawn_options>(result, options, [&](const spawn_options& wanted) {
      return spawn(c_function{function, argument}, wanted);
    });
  return spawned<local::spawn_options>(result, options, [&](const local::spawn_options& wanted) {
    return local::spawn(c_function{function, argument}, wanted);
  });
}

}  // namespace

int sennit_fiber_spawn(sennit_fiber** result, sennit_function function, void* argument,
                       const sennit_fiber_options* options) {
  detail::worker* const w = detail::this_worker();
  if (function == nullptr || w == nullptr || !w->ready.running()) [[unlikely]]
    return -EINVAL;
  if (options != nullptr)
    return spawn_by(options, result, function, argument);
  if (w->is_local() && result != nullptr) [[likely]]
    if (const detail::fiber* const begun =
            detail::fiber_try_spawn(*w, c_function{function, argument}, true)) {
      *result = capi::handle_of(*begun, false);
      return 0;
    }
  return w->is_local() ? spawn_local(result, function, argument) : spawn_parallel(result, function, argument);
}
