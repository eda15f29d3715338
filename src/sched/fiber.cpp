// Descriptors: their memory, and how a fiber ends.
#include "sennit/detail/sched/fiber.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <system_error>
#include <utility>

#include "sennit/detail/arch/never_destroyed.hpp"
#include "sennit/detail/fault/hook.hpp"
#include "sennit/detail/sched/hooks.hpp"
#include "sennit/detail/sched/misuse.hpp"
#include "sennit/detail/sched/registry.hpp"
#include "sennit/detail/sched/spawn.hpp"

namespace sennit::inline v0_1::detail {

constinit std::atomic<bool> many_fibers{false};

namespace {

// Type-stable: blocks are never given back, and never destroyed.
struct descriptor_source {
  std::mutex lock;
  fiber* free = nullptr;
};

constinit never_destroyed<descriptor_source> descriptors;

descriptor_source& source() noexcept {
  return descriptors.value;
}

// Returns zeroed memory for so many descriptors, or null.
fiber* map_descriptors(std::size_t count) noexcept {
  // fiber::successor may lead this far beyond the last descriptor.
  constexpr auto behind = static_cast<std::size_t>(parked_for_grant);
  const std::size_t bytes = (count + behind) * sizeof(fiber);
#if defined(SENNIT_SANITIZED)
  // Leak checkers search this memory.
  void* const memory = ::operator new(bytes, std::align_val_t(alignof(fiber)), std::nothrow);
  if (memory == nullptr)
    return nullptr;
  std::memset(memory, 0, bytes);
#else
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return nullptr;
  ::madvise(memory, bytes, MADV_NOHUGEPAGE);  // unused descriptors take no memory
#endif
  return static_cast<fiber*>(memory);
}

fiber_block* add_block() {
  fiber_block* const older = sennit_debug.blocks;
  many_fibers.store(older != nullptr, std::memory_order_relaxed);
  const std::size_t first = older == nullptr ? 0 : older->first + older->size;
  std::size_t size = std::max(first, fiber_block::least);
  auto taken = std::make_unique<std::uint16_t[]>(size / fiber_block::part);
  auto block = std::make_unique<fiber_block>();
  fiber* fibers = map_descriptors(size);
  if (fibers == nullptr)
    fibers = map_descriptors(size = fiber_block::least);
  if (fibers == nullptr)
    throw std::bad_alloc();
  *block = {fibers, size, first, older, taken.release()};
  std::atomic_signal_fence(std::memory_order_release);  // a debugger may stop us at any instruction
  return sennit_debug.blocks = block.release();
}

// Returns a descriptor that was never used. Requires the lock.
fiber* fresh_descriptor() {
  fiber_block* block = sennit_debug.blocks;
  if (block == nullptr || block->begun == block->size)
    block = add_block();
  return ::new (&block->fibers[block->begun++]) fiber;
}

// Returns the count of the part that contains the descriptor.
std::uint16_t& taken_beside(const fiber& f) noexcept {
  const auto place_in = [&f](const fiber_block& block) {
    return (reinterpret_cast<std::uintptr_t>(&f) - reinterpret_cast<std::uintptr_t>(block.fibers)) /
           sizeof(fiber);
  };
  fiber_block* block = sennit_debug.blocks;
  while (place_in(*block) >= block->size)
    block = block->older;
  return block->taken[place_in(*block) / fiber_block::part];
}

#if defined(SENNIT_SANITIZED)
// Sanitizers must see every switch, so a fiber does not leave by its round's return. It suspends itself here,
// where no sanitizer counts calls and returns. It continues here when it has a new message.
SENNIT_UNSANITIZED void fiber_loop(sennit_context from, std::uintptr_t value, std::uintptr_t, std::uintptr_t,
                                   std::uintptr_t) noexcept {
  auto& frame = *reinterpret_cast<coroutine_frame*>(value);
  entered_new_stack(from);
  this_worker()->main_context = from;
  for (;;) {
    const bool goes_on = frame.round(&frame).value != 0;
    worker& w = *this_worker();
    if (!goes_on) {
      count_stacks(-1);
      w.ready.current->flags.status = fiber_status::finished;
    }
    suspend(w, goes_on ? w.operations.become : w.operations.end, &w, false);
  }
}
#else
constexpr sennit_entry fiber_loop = nullptr;
#endif

// For a descriptor without a stack.
void attach_frame(worker& w, fiber& f, const stack_source& stack) {
  coroutine_frame& frame = acquire_stack(w, stack);
  frame.record.name = f.name;
  f.frame = &frame;
  f.context = frame.context;
  f.word = direct_entry ? 0 : reinterpret_cast<std::uintptr_t>(&frame);  // for fiber_loop
}

// Reads without a lock, each word in one piece: a parallel runtime's fibers are counted while they come and
// go.
[[gnu::noinline]] SENNIT_UNSANITIZED bool lives_in(const worker& home, const fiber& f) noexcept {
  const auto* const of = *const_cast<worker* const volatile*>(&f.home);
  const auto status = *const_cast<const volatile fiber_status*>(&f.flags.status);
  return of == &home && status != fiber_status::unused && status != fiber_status::finished;
}

}  // namespace

namespace {

std::size_t fibers_of_runtime(worker& w) noexcept {
  std::size_t count = 0;
  for (std::size_t i = 0; const worker* const each = w.operations.worker_at(w, i); ++i)
    count += fiber_count(*each);
  return count;
}

// `made` includes finished fibers, which other workers may keep.
bool has_too_many(worker& home) noexcept {
  const fiber_limit& limit = *home.limit;
  if (limit.most == 0)
    return false;
  {
    const std::lock_guard hold(source().lock);
    if (limit.made < limit.most)
      return false;
  }
  const bool mine = home.is_local() || this_worker() == &home;
  if (!mine || home.idle == nullptr)
    return fibers_of_runtime(home) >= limit.most;
  fiber* const unused = std::exchange(home.idle, home.idle->next);  // its stack is not the requested one
  destroy_stack(*std::exchange(unused->frame, nullptr));
  fiber_free(unused);
  return false;
}

}  // namespace

void fiber_must_be_below_limit(worker& home) {
  if (has_too_many(home))
    throw std::system_error(EAGAIN, std::generic_category(),
                            "sennit: the runtime has as many fibers as runtime_options::max_fibers allows (" +
                                std::to_string(home.limit->most) +
                                "): wait until some have ended and been joined, or raise the limit");
}

namespace {

// Requires the lock. Throws std::bad_alloc.
fiber& take_descriptor(descriptor_source& from) {
  fiber& f = from.free != nullptr ? *std::exchange(from.free, from.free->next) : *fresh_descriptor();
  ++taken_beside(f);
  return f;
}

// Requires the lock.
void give_descriptor(descriptor_source& to, fiber& f) noexcept {
  --taken_beside(f);
  f.next = std::exchange(to.free, &f);
}

// The calling thread's worker, if it keeps descriptors. With a limit on fibers it keeps none, since those
// would count.
worker* keeper_for(const worker& home) noexcept {
  worker* const here = this_worker();
  return here != nullptr && here->limit->most == 0 && home.limit->most == 0 ? here : nullptr;
}

[[gnu::noinline]] void refill(spare_descriptors& spare) {
  descriptor_source& from = source();
  const std::lock_guard hold(from.lock);
  do
    spare.add(take_descriptor(from));
  while (spare.count != spare_descriptors::at_once && from.free != nullptr);
}

}  // namespace

fiber* fiber_make(worker& home) {
  fiber_must_be_below_limit(home);
  fiber* f = nullptr;
  if (worker* const keeper = keeper_for(home)) {
    if (keeper->spare_descriptors.count == 0)
      refill(keeper->spare_descriptors);
    f = keeper->spare_descriptors.take();
  } else {
    descriptor_source& from = source();
    const std::lock_guard hold(from.lock);
    f = &take_descriptor(from);
    ++home.limit->made;
  }
  f->home = &home;
  f->successor = 0;
  return f;
}

std::mutex& descriptors_lock() noexcept {
  return source().lock;
}

void fiber_free(fiber* f) noexcept {
  worker& home = *std::exchange(f->home, nullptr);
  if (worker* const keeper = keeper_for(home)) {
    spare_descriptors& spare = keeper->spare_descriptors;
    spare.add(*f);
    if (spare.count == spare_descriptors::most)
      give_spare_descriptors(spare, spare_descriptors::most - spare_descriptors::at_once);
    return;
  }
  descriptor_source& to = source();
  const std::lock_guard hold(to.lock);
  give_descriptor(to, *f);
  --home.limit->made;
}

void give_spare_descriptors(spare_descriptors& spare, unsigned left) noexcept {
  descriptor_source& to = source();
  const std::lock_guard hold(to.lock);
  while (spare.count > left)
    give_descriptor(to, *spare.take());
}

void fiber_for_each(const worker& home, void (*visit)(void*, fiber&), void* argument) {
  descriptor_source& all = source();
  std::lock_guard hold(all.lock);
  for (fiber_block* block = sennit_debug.blocks; block != nullptr; block = block->older)
    for (std::size_t first = 0; first < block->begun; first += fiber_block::part) {
      if (block->taken[first / fiber_block::part] == 0)
        continue;
      const std::size_t size = std::min(fiber_block::part, block->begun - first);
      for (fiber& each : block->used().subspan(first, size))
        if (lives_in(home, each))
          visit(argument, each);
    }
}

std::size_t fiber_count(const worker& home) noexcept {
  std::size_t count = 0;
  fiber_for_each(home, [](void* total, fiber&) { ++*static_cast<std::size_t*>(total); }, &count);
  return count;
}

std::uint32_t fiber_fresh_id() noexcept {
  return static_cast<std::uint32_t>(1 + sennit_debug.ids_given.fetch_add(1, std::memory_order_relaxed));
}

std::uint64_t fiber_id(fiber& f) noexcept {
  const std::atomic_ref id(f.id);  // the owner of its handle may call this at the same time
  std::uint32_t known = id.load(std::memory_order_relaxed);
  if (known == 0) {
    const std::uint32_t fresh = fiber_fresh_id();
    if (id.compare_exchange_strong(known, fresh, std::memory_order_relaxed))
      known = fresh;
  }
  return known;
}

fiber* allocate_fiber_slow(worker& w, std::size_t size, std::byte* memory, std::size_t guard,
                           bool may_begin_later) {
  const stack_source source({size, memory, guard}, w.usual_stack);
  if (source.shape == w.usual_stack) {
    if (w.idle != nullptr)
      return std::exchange(w.idle, w.idle->next);
    if (may_begin_later)
      return nullptr;
  }
  return fiber_make_with_stack(w, source);
}

fiber* fiber_make_with_stack(worker& w, const stack_source& stack) {
  fiber* f = fiber_make(w);
  if (w.is_local())
    ++w.idle_stacks.made;
  try {
    attach_frame(w, *f, stack);
    f->flags.slow_path = f->frame->record.memory.shape != w.usual_stack;
  } catch (...) {
    fiber_free(f);
    throw;
  }
  return f;
}

#if defined(SENNIT_SANITIZED)
void frame_restart(coroutine_frame& frame) noexcept {
  begin_identity(frame.identity, frame.record.memory.size);
  frame.context = sennit_newlinked(&frame.resumer, fiber_loop);
}
#endif

coroutine_frame& acquire_stack(worker& w, const stack_source& stack, std::size_t leave) {
  // Another thread must not touch the worker's data.
  const bool mine = !stack.is_provided() && (w.is_local() || this_worker() == &w);
  coroutine_frame* frame = mine && w.spare_frame_count > leave ? w.spare_frames : nullptr;
  if (frame != nullptr && frame->record.memory.shape == stack.shape) {
    w.spare_frames = frame->next;
    --w.spare_frame_count;
  } else if (mine && w.idle != nullptr && stack.shape == w.usual_stack) {
    fiber* const f = std::exchange(w.idle, w.idle->next);
    frame = std::exchange(f->frame, nullptr);
    frame->context = f->context;
    fiber_free(f);
  } else {
    frame = &coroutine_make(stack, fiber_loop);
    frame->record.kind = fiber_kind;
  }
  return *frame;
}

void cache_stack(worker& w, coroutine_frame& frame) noexcept {
  if (!may_keep(w, frame))
    return destroy_stack(frame);
  frame.next = std::exchange(w.spare_frames, &frame);
  ++w.spare_frame_count;
}

void destroy_stack(coroutine_frame& frame) noexcept {
  if (frame.record.memory.size == 0)
    return;  // a fiber was discarded there
  if (frame.record.emergency != nullptr)
    fault_give_emergency(frame.record);
  drop_identity(frame.identity);
  stack_give(frame.record.memory);
}

// To measure the stack of a fiber that has not begun, first clears what former fibers left there.
static void clear_stack(const fiber& f) noexcept {
  const worker* const w = this_worker();
  if (w != nullptr && w->ready.current == &f)
    return;
  const char* const used = reinterpret_cast<const char*>(f.context) - SENNIT_BELOW_RECORD;
  stack_clear_below(f.frame->record.memory, used);
}

void fiber_set_name(fiber& f, std::string_view name) noexcept {
  if (stacks_are_measured.load(std::memory_order_relaxed) && !name.empty()) [[unlikely]]
    clear_stack(f);
  const std::size_t length = std::min(name.size(), sizeof f.name - 1);
  std::copy_n(name.data(), length, f.name);
  f.name[length] = 0;
  f.flags.slow_path |= needs_slow_path;
}

void fiber_detach_frame(worker& w, fiber& f) noexcept {
  coroutine_frame& frame = *std::exchange(f.frame, nullptr);
  stack_user_ended(frame.record);
  frame.record.name = nullptr;  // another fiber will get the descriptor
  f.flags.slow_path |= needs_slow_path;
  frame.context = f.context;
  cache_stack(w, frame);
}

void recycle_fiber_slow(worker& w, fiber& f) noexcept {
  if (f.frame != nullptr)
    stack_user_ended(f.frame->record);
  f.name[0] = 0;
  if (f.frame != nullptr && f.frame->record.memory.shape != w.usual_stack)
    fiber_detach_frame(w, f);
  if (f.frame == nullptr)
    fiber_free(&f);
  else
    f.next = std::exchange(w.idle, &f);
}

void lock_owner::take() noexcept {
  const worker* const w = this_worker();
  id =
      w != nullptr && w->ready.running() ? static_cast<std::uint32_t>(fiber_id(*w->ready.current)) : no_fiber;
}

bool lock_owner::is_of_caller(std::uint32_t holder) noexcept {
  const worker* const w = this_worker();
  return w != nullptr && w->ready.running() && holder == look(w->ready.current->id) &&
         !w->ready.current->flags.stoppable;
}

std::uint64_t monotonic_now() noexcept {
  const auto now = std::chrono::duration_cast<std::chrono::nanoseconds>(clock::now().time_since_epoch());
  return static_cast<std::uint64_t>(now.count()) | 1;
}

void fiber_fail(fiber& f) noexcept {
  if (std::current_exception() == nullptr)
    fatal_foreign_unwind();
  f.frame->no_yield = 0;  // it may have left C code with a no-yield section, without a cleanup
  if ((f.flags.slow_path & is_of_scope) != 0)
    return scope_fiber_fails(f, std::current_exception());
  if (f.home->unwinding)  // it unwinds: an interrupted wait caused the exception
    return;
  if (!f.flags.owned && f.home->is_local())
    fiber_terminate(f, std::current_exception());
  ::new (&f.error) std::exception_ptr(std::current_exception());
  f.flags.slow_path |= needs_slow_path | has_error;
}

static void print_lost(const fiber& f, const char* colon, const char* what) noexcept {
  std::fprintf(
      stderr,
      "sennit: fiber \"%s\" ended by an exception that no join can rethrow%s%s (catch it in the fiber's "
      "function, or keep the handle and join it)\n",
      f.name, colon, what);
}

void fiber_terminate(const fiber& f, std::exception_ptr error) noexcept {
  try {
    std::rethrow_exception(std::move(error));
  } catch (const std::exception& exception) {
    print_lost(f, ": ", exception.what());
    std::terminate();  // inside the handler: terminate handlers see it, and libstdc++'s prints its type
  } catch (...) {
    print_lost(f, "", "");
    std::terminate();
  }
}

void fiber_would_not_end(const fiber& f, const char* reason) noexcept {
  std::fprintf(stderr,
               "sennit: a runtime ended while fiber \"%s\" (%s) would not: it caught its unwinding (a catch "
               "(...) must rethrow it), or waits in a destructor for something that never comes\n",
               fiber_name(f), reason);
  std::abort();
}

void fiber_rethrow(std::exception_ptr error) {
  std::rethrow_exception(std::move(error));
}

}  // namespace sennit::inline v0_1::detail
