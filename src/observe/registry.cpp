// The list of workers, and the table for debuggers.
#include "sennit/detail/sched/registry.hpp"

#include <iterator>

#include "sennit/detail/parallel/worker_inline.hpp"

#pragma GCC diagnostic ignored "-Winvalid-offsetof"

using namespace sennit::detail;

extern "C" {

constinit sennit_debug_table sennit_debug = {
    .magic = {'s', 'e', 'n', 'n', 'i', 't', ' ', '6'},
    .blocks = nullptr,
    .workers = nullptr,
    .ids_given = 0,
    .count = std::size(sennit_debug.words),
    .words =
        {
#if defined(__x86_64__) && !defined(SENNIT_BACKEND_PORTABLE)
            {"record", 1},  // contexts are as drawn in arch/x86_64.h
#else
            {"record", 0},
#endif
            {"block_fibers", offsetof(fiber_block, fibers)},
            {"block_begun", offsetof(fiber_block, begun)},
            {"block_older", offsetof(fiber_block, older)},
            {"fiber_size", sizeof(fiber)},
            {"registration_worker", offsetof(registration, worker)},
            {"registration_older", offsetof(registration, older)},
            {"fiber_context", offsetof(fiber, context)},
            {"fiber_home", offsetof(fiber, home)},
            {"fiber_id", offsetof(fiber, id)},
            {"fiber_reason", offsetof(fiber, reason)},
            {"fiber_frame", offsetof(fiber, frame)},
            {"fiber_object", offsetof(fiber, object)},
            {"fiber_name", offsetof(fiber, name)},
            {"fiber_status", offsetof(fiber, flags) + offsetof(fiber_flags, status)},
            {"status_parked", static_cast<std::uint64_t>(fiber_status::parked)},
            {"status_joining", static_cast<std::uint64_t>(fiber_status::joining)},
            {"status_finished", static_cast<std::uint64_t>(fiber_status::finished)},
            {"site_reason", offsetof(wait_site, reason)},
            {"frame_context", offsetof(coroutine_frame, context)},
            {"frame_memory_low", offsetof(coroutine_frame, record.memory.low)},
            {"frame_memory_size", offsetof(coroutine_frame, record.memory.size)},
            {"worker_current", offsetof(worker, ready.current)},
            {"worker_shared", offsetof(worker, shared)},
            {"worker_thread", offsetof(worker, thread)},
            {"fiber_stackless", offsetof(fiber, flags) + offsetof(fiber_flags, stackless)},
            {"stack_state_not_begun", not_begun},
            {"code_run", offsetof(continuation_code, shown)},
            {"fiber_since", offsetof(fiber, since)},
            {"worker_now", offsetof(worker, now)},
            {"site_object", offsetof(wait_site, object)},
            {"code_object_at", offsetof(continuation_code, object_at)},
            {"code_in_overflow", offsetof(continuation_code, in_overflow)},
            {"fiber_room", sizeof(fiber) - continuation_room},
            {"overflow_size", sizeof(continuation_overflow)},
            {"fiber_name_size", sizeof(fiber::name)},
            {"park_unit", park_unit},
            {"park_times", park_times},
            {"object_tags", sizeof(std::uintptr_t)},
            {"is_descriptor", is_descriptor},
            {"has_owner", has_owner},
            {"lock_owner_id", offsetof(lock_owner, id)},
            {"lock_owner_none", lock_owner::no_fiber},
            {"no_object", continuation_code::no_object},
        },
};

}  // extern "C"

namespace sennit::inline v0_1::detail {

namespace {
constinit std::mutex workers_lock;
}

std::mutex& registry_lock() noexcept {
  return workers_lock;
}

registration::registration(sennit_worker& of) noexcept : worker(&of) {
  const std::lock_guard hold(workers_lock);
  older = std::exchange(sennit_debug.workers, this);
  if (older != nullptr)
    older->newer = this;
}

registration::~registration() {
  const std::lock_guard hold(workers_lock);
  if (older != nullptr)
    older->newer = newer;
  (newer != nullptr ? newer->older : sennit_debug.workers) = older;
}

}  // namespace sennit::inline v0_1::detail
