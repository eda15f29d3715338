// Takes a snapshot of all fibers while all workers are held, then prints it.
//
// Nothing is allocated while workers are held, because they may hold the allocator's locks. The snapshot goes
// to memory that was mapped before, or is mapped piece by piece. Function names are looked up after the
// workers have been released.
#include "sennit/dump.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <vector>

#include "dump_text.hpp"
#include "fault/write_message.hpp"
#include "sennit/detail/observe/dump.hpp"
#include "sennit/detail/observe/stop_the_world.hpp"
#include "sennit/detail/sched/registry.hpp"
#include "sennit/detail/wait/wait.hpp"

namespace sennit::inline v0_1 {

namespace detail {

namespace {

using namespace std::chrono_literals;

// How long workers are held for backtraces. The remaining fibers are listed without one.
constexpr clock::duration patience = 1s;

// An allocator that takes no lock.
class arena {
public:
  arena() = default;
  arena(const arena&) = delete;
  arena& operator=(const arena&) = delete;
  ~arena() {
    while (newest_ != nullptr)
      ::munmap(std::exchange(newest_, newest_->older), piece_size);
  }

  // Returns space for a fiber with the longest backtrace, or null if there is no memory.
  fiber_snapshot* room() noexcept {
    if (newest_ == nullptr || piece_size - newest_->used < most) {
      void* const memory =
          ::mmap(nullptr, piece_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (memory == MAP_FAILED)
        return nullptr;
      newest_ = ::new (memory) piece{newest_};
    }
    return ::new (reinterpret_cast<char*>(newest_) + newest_->used) fiber_snapshot{};
  }
  void keep(const fiber_snapshot& f) noexcept { newest_->used += f.bytes(); }

  std::vector<fiber_snapshot*> all() const {
    std::vector<fiber_snapshot*> found;
    for (piece* each = newest_; each != nullptr; each = each->older)
      for (std::size_t at = sizeof(piece); at < each->used; at += found.back()->bytes())
        found.push_back(reinterpret_cast<fiber_snapshot*>(reinterpret_cast<char*>(each) + at));
    return found;
  }

private:
  struct piece {
    piece* older;
    std::size_t used = sizeof(piece);
  };
  static constexpr std::size_t piece_size = std::size_t{1} << 20;
  static constexpr std::size_t most = sizeof(fiber_snapshot) + backtrace_depth * sizeof(std::uintptr_t);

  piece* newest_ = nullptr;
};

class snapshot_builder {
public:
  snapshot_builder(std::vector<worker_snapshot>& workers, arena& to, const stack_memory& scratch) noexcept
      : workers_(workers), to_(to), scratch_(scratch) {}

  // Takes the snapshot, while all workers are held.
  SENNIT_UNSANITIZED void see(const stop_the_world& held) noexcept {
    capture_workers(held);
    for (fiber_block* block = sennit_debug.blocks; block != nullptr; block = block->older)
      for (fiber& each : block->used())
        capture_fiber(each);
  }

  bool whole() const noexcept { return whole_; }

private:
  SENNIT_UNSANITIZED void capture_workers(const stop_the_world& held) noexcept {
    for (registration* each = sennit_debug.workers; each != nullptr; each = each->older) {
      worker& w = *each->worker;
      worker_snapshot seen{&w,
                           w.runtime_id(),
                           w.is_local(),
                           0,
                           held.is_stopped(w),
                           w.thread != 0,
                           held.place_of(w),
                           look(w.ready.current),
                           0,
                           false};
      if (!seen.local)
        seen.index = static_cast<const parallel_worker&>(w).index;
      if (workers_.size() < workers_.capacity())
        workers_.push_back(seen);
      else
        whole_ = false;
    }
    // A runtime's fibers stay unchanged only if all its workers are held.
    for (worker_snapshot& each : workers_)
      if (!each.held)
        for (worker_snapshot& other : workers_)
          if (other.runtime == each.runtime)
            other.held = false;
  }

  SENNIT_UNSANITIZED void capture_fiber(fiber& f) noexcept {
    const fiber_status status = look(f.flags.status);
    const worker* const home = look(f.home);
    if (status == fiber_status::unused || status == fiber_status::finished || home == nullptr)
      return;
    const auto place = std::ranges::find(workers_, home, &worker_snapshot::at);
    fiber_snapshot* const seen = place != workers_.end() ? to_.room() : nullptr;
    whole_ &= place == workers_.end() || seen != nullptr;
    if (seen == nullptr)
      return;
    seen->at = &f;
    seen->worker = static_cast<std::size_t>(place - workers_.begin());
    const char* const name = place->held ? fiber_name(f) : look(f.flags.stackless) ? "" : f.name;
    for (std::size_t i = 0; i < sizeof seen->name && (i == 0 || seen->name[i - 1] != 0); ++i)
      seen->name[i] = look(name[i]);
    seen->name[sizeof seen->name - 1] = 0;
    seen->state = seen_state::unknown;
    seen->id = look(f.id);
    if (place->held)
      capture_held(*seen, f, status);
    to_.keep(*seen);
  }

  // Like fiber_id, but a thread that is no worker may be making this fiber at the same time.
  SENNIT_UNSANITIZED static std::uint64_t id_of(fiber& f) noexcept {
    std::uint32_t known = look(f.id);
    if (known != 0)
      return known;
    const std::uint32_t fresh = fiber_fresh_id();
    return __atomic_compare_exchange_n(&f.id, &known, fresh, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)
               ? fresh
               : known;
  }

  SENNIT_UNSANITIZED void capture_held(fiber_snapshot& seen, fiber& f, fiber_status status) noexcept {
    seen.id = id_of(f);
    if (look(f.flags.stackless))
      return capture_stackless(seen, f, status);
    if (const coroutine_frame* frame = look(f.frame); frame != nullptr) {
      seen.low = reinterpret_cast<std::uintptr_t>(frame->record.memory.low);
      seen.high = seen.low + frame->record.memory.size;
    }
    const bool parked = status >= fiber_status::parked && status <= fiber_status::joining;
    seen.state = parked ? seen_state::parked : seen_state::ready;
    if (worker_snapshot* const runner = runner_of(seen)) {
      seen.state = seen_state::running;
      if (runner->place != nullptr)
        copy(seen, runner->place->backtrace());
      if (status == fiber_status::blocks_thread) {
        seen.state = seen_state::blocks_thread;
        runner->blocked = true;
        capture_wait(seen, f, f.reason, f.object);
      }
      return;
    }
    if (parked && !workers_[seen.worker].local)
      capture_wait(seen, f, f.site->reason, f.site->object);
    else if (parked)
      capture_wait(seen, f, f.reason, f.object);
    else if (!has_begun(f))
      seen.state = seen_state::not_begun;
    if (seen.state != seen_state::not_begun && f.frame != nullptr && clock::now() < until_)
      seen.depth = backtrace_of(f.context, scratch_, {seen.addresses(), backtrace_depth});
  }

  SENNIT_UNSANITIZED void capture_stackless(fiber_snapshot& seen, fiber& f,
                                            fiber_status status) const noexcept {
    if (look(f.flags.stackless) == not_begun) {
      seen.state = seen_state::not_begun;
      return;
    }
    const bool parked = status >= fiber_status::parked && status <= fiber_status::joining;
    seen.state = parked ? seen_state::parked : seen_state::ready;
    const continuation_code& code = continuation_of(f);
    const char* const place = static_cast<const char*>(continuation_place(f));
    seen.goes_on = code.entry(place);
    if (!parked)
      return;
    std::uintptr_t object = 0;
    if (const std::size_t at = code.object_at; at != continuation_code::no_object)
      object = look(*reinterpret_cast<const std::uintptr_t*>(place + at - at % word_size)) + at % word_size;
    capture_wait(seen, f, code.reason, object);
  }

  // For a parked fiber. The awaited object exists as long as the fiber is parked.
  SENNIT_UNSANITIZED void capture_wait(fiber_snapshot& seen, const fiber& f, const char* reason,
                                       std::uintptr_t object) const noexcept {
    seen.reason = reason;
    seen.object = object - object % word_size;
    if (object % word_size == is_descriptor)
      seen.descriptor = look(*reinterpret_cast<const int*>(seen.object));
    else if (object % word_size == has_owner)
      seen.holder = look(reinterpret_cast<const lock_owner*>(seen.object)->id);
    seen.waited = parked_for(look(f.since), now_);  // -1: it is about to be made ready
  }

  // Returns the worker whose thread stands on the fiber's stack. If a thread stands on no fiber's stack, it
  // is in a coroutine or in the scheduler: then the worker's current fiber counts. A worker that stands on
  // another fiber's stack is about to enter its current one.
  SENNIT_UNSANITIZED worker_snapshot* runner_of(const fiber_snapshot& seen) noexcept {
    for (worker_snapshot& each : workers_) {
      const std::uintptr_t sp = each.place != nullptr ? each.place->stack_pointer : 0;
      const bool on_it = sp >= seen.low && sp < seen.high;
      const bool named = each.current == seen.at && each.place != nullptr && !stands_on_a_fiber(sp);
      if (on_it || named) {
        each.runs = seen.id;
        return &each;
      }
    }
    return nullptr;
  }

  SENNIT_UNSANITIZED static bool stands_on_a_fiber(std::uintptr_t sp) noexcept {
    const stack_place place = stack_find(sp);
    return place.found && place.record != nullptr && place.record->memory.low == place.low &&
           std::strcmp(place.record->kind, "fiber") == 0;
  }

  SENNIT_UNSANITIZED static bool has_begun(const fiber& f) noexcept {
#if defined(SENNIT_SANITIZED) || defined(SENNIT_BACKEND_PORTABLE)
    return f.frame != nullptr;
#else
    return f.frame != nullptr &&
           !(f.context == f.frame->context &&
             reinterpret_cast<const sennit_context_record*>(f.context)->resume == sennit_enter_rounds);
#endif
  }

  SENNIT_UNSANITIZED static void copy(fiber_snapshot& to, std::span<const std::uintptr_t> from) noexcept {
    to.depth = std::min(from.size(), backtrace_depth);
    for (std::size_t i = 0; i < to.depth; ++i)
      to.addresses()[i] = from[i];
  }

  static constexpr std::size_t word_size = sizeof(std::uintptr_t);  // lower bits of an address are tags

  std::vector<worker_snapshot>& workers_;
  arena& to_;
  const stack_memory& scratch_;
  const time_point until_ = clock::now() + patience;
  const std::uint64_t now_ = monotonic_now();
  bool whole_ = true;
};

struct scratch_stack {
  const stack_memory memory = stack_take(default_stack_size);
  ~scratch_stack() { stack_give(memory); }
};

struct snapshot {
  std::vector<worker_snapshot> workers;
  arena fibers;
  bool whole = false;  // nothing was omitted for lack of memory
};

// `frame`: as for stop_the_world. Calls `wanted()` while all workers are held, and returns its result.
template <class Wanted>
bool take_snapshot(snapshot& to, const void* frame, Wanted wanted) {
  const scratch_stack scratch;
  to.workers.reserve(1024);
  stop_the_world held(frame);
  if (!wanted())
    return false;
  snapshot_builder round(to.workers, to.fibers, scratch.memory);
  round.see(held);
  to.whole = round.whole();
  return true;
}

void dump_from(int fd, const void* frame) {
  snapshot seen;
  take_snapshot(seen, frame, [] { return true; });
  report(fd, seen.workers, seen.fibers.all()).print(seen.whole);
}

}  // namespace

bool report_deadlock(bool only_cycles, bool (*rests)(void*) noexcept, void* argument) {
  snapshot seen;
  if (!take_snapshot(seen, __builtin_dwarf_cfa(), [&] { return rests(argument); }))
    return false;
  if (std::ranges::any_of(seen.workers, [](const worker_snapshot& each) { return !each.held; }))
    return false;
  report text(STDERR_FILENO, seen.workers, seen.fibers.all());
  if (text.all_wait_for_each_other() && (!only_cycles || text.has_cycle())) {
    text.print_deadlock();
    text.print(seen.whole);
  }
  return true;
}

}  // namespace detail

void dump(int fd) noexcept {
  const int kept = errno;
  try {
    detail::dump_from(fd, __builtin_dwarf_cfa());
  } catch (const std::exception& error) {
    detail::write_message(fd, "sennit: fibers cannot be dumped: there is no memory\n");
  }
  errno = kept;
}

}  // namespace sennit::inline v0_1
