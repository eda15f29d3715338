// Stack memory: see include/sennit/detail/stack/stack.hpp for the picture.
#include "sennit/detail/stack/stack.hpp"
#include "stack/title.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cassert>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "sennit/detail/arch/never_destroyed.hpp"
#include "sennit/detail/stack/append_only_list.hpp"
#include "sennit/detail/stack/sanitizer.hpp"
#include "stack/guard.hpp"
#include "stack/valgrind.hpp"

namespace sennit::inline v0_1::detail {

// What is kept of each stack of a slab while it is idle. Written when it is given back, not before: what was
// never idle takes no memory here.
struct stack_cell {
  stack_slab* slab;
  stack_cell* next_idle;
};

// An adopted slab has one stack, the user's, which changes: a concurrent search may find the wrong one.
struct stack_slab {
  std::atomic<char*> base{nullptr};
  std::atomic<std::size_t> size{0};  // of a stack; 0: none has been adopted
  std::size_t count = 0;
  std::atomic<std::size_t> begun{0};   // how many have been handed out: the first
  std::size_t lead = 0;                // one guard, below all
  std::size_t guard = 0;               // below each
  struct size_class* sizes = nullptr;  // whose stacks these are
  std::size_t guarded = 0;             // how many have their guards: some more than have begun
  guarded_mapping mapping;
  bool adopted = false;
  std::size_t brought = 0;        // bytes, by the user who is adopted: at least `size`
  unsigned valgrind = 0;          // its number there, while it is adopted
  stack_record* guest = nullptr;  // its record; not kept in the stack, which may be unmapped during a search
  std::unique_ptr<stack_cell[]> cells;
  stack_slab* next = nullptr;  // older slab; a signal handler may walk the list

  std::size_t stride() const { return guard + size.load(std::memory_order_relaxed); }
  char* first() const { return base.load(std::memory_order_relaxed) + lead; }
  char* low(std::size_t index) const { return first() + index * stride() + guard; }
  stack_memory memory(std::size_t index);

  // The place of a stack's record pointer.
  std::atomic_ref<stack_record*> known_as(std::size_t index) {
    return std::atomic_ref(adopted ? guest : *reinterpret_cast<stack_record**>(memory(index).high()));
  }
  // The record, or null. A pointer outside the stack was left by an overrun of the stack above, where there
  // is no guard between them.
  stack_record* record(std::size_t index) {
    if (index >= begun.load(std::memory_order_relaxed))
      return nullptr;
    stack_record* const known = known_as(index).load(std::memory_order_acquire);
    const auto above_low =
        reinterpret_cast<std::uintptr_t>(known) - reinterpret_cast<std::uintptr_t>(low(index));
    return above_low < size.load() ? known : nullptr;
  }
};

// The stacks of one shape that are not in use.
struct size_class {
  explicit size_class(stack_shape of) noexcept : shape(of) {}

  const stack_shape shape;
  std::mutex lock;
  stack_cell* idle = nullptr;  // with its pages
  std::size_t warm = 0;        // how many there are
  stack_cell* cold = nullptr;  // without
  stack_slab* slab = nullptr;  // the one whose stacks are handed out for the first time
  std::size_t total = 0;       // stacks in all slabs of this class
  size_class* next = nullptr;  // older one
};

stack_memory stack_slab::memory(std::size_t index) {
  return {low(index), size.load(), this, static_cast<std::uint32_t>(index),
          sizes != nullptr ? sizes->shape : stack_shape{}};
}

namespace {

constexpr std::size_t first_slab_stacks = 16;
constexpr std::size_t largest_slab_bytes = std::size_t{1} << (sizeof(void*) == 8 ? 36 : 28);

constexpr std::uint64_t seal = 0x5ea1'0f'57ac'4eed;  // a stack's lowest word, where it has no guard

constinit append_only_list<stack_slab> slabs;

constinit append_only_list<size_class> classes;

// Classes are never destroyed: fibers may still run while static objects are. Throws std::bad_alloc.
size_class& class_of(stack_shape shape) {
  const auto find = [shape]() noexcept {
    size_class* each = classes.newest();
    while (each != nullptr && each->shape != shape)
      each = each->next;
    return each;
  };
  if (size_class* const found = find())
    return *found;
  static constinit std::mutex lock;
  const std::lock_guard hold(lock);
  if (size_class* const found = find())
    return *found;
  auto* const made = new size_class(shape);
  classes.add(made);
  return *made;
}

[[noreturn]] void fail(int error, const std::string& what) {
  throw std::system_error(error, std::generic_category(), "sennit: " + what);
}

// By one system call, with few bytes of the stack that this is on: it may be the one that was overrun.
void say(std::initializer_list<std::string_view> parts) noexcept {
  iovec all[8];
  int count = 0;
  for (const std::string_view& part : parts)
    all[count++] = {const_cast<char*>(part.data()), part.size()};
  [[maybe_unused]] const auto written = ::writev(STDERR_FILENO, all, count);
}

[[noreturn]] void fail_without_guard() {
  fail(ENOMEM,
       "no mapping left for the guard of a stack: each guard splits a mapping here, because "
       "MADV_GUARD_INSTALL needs Linux 6.13 and memory that is not locked (mlockall); raise "
       "vm.max_map_count or use fewer fibers");
}

[[noreturn]] void fail_without_memory(int error, std::size_t size) {
  const std::string what = "no address space for a stack of " + std::to_string(size) + " bytes; ";
  if (error == EAGAIN)
    fail(ENOMEM, what + "the process locks its memory (mlockall): raise `ulimit -l`, or use fewer fibers");
  fail(ENOMEM, what +
                   "use smaller stacks, smaller guards, fewer fibers, or raise `ulimit -v`; with "
                   "vm.overcommit_memory=2 all stacks and guards count, so raise vm.overcommit_ratio");
}

std::unique_ptr<stack_slab> describe_slab(std::size_t count) noexcept {
  std::unique_ptr<stack_slab> slab(new (std::nothrow) stack_slab);
  if (slab != nullptr)
    slab->cells.reset(new (std::nothrow) stack_cell[count]);
  if (slab == nullptr || slab->cells == nullptr)
    return nullptr;
  slab->count = count;
  return slab;
}

// Whether the kernel has committed a page that was never touched.
bool is_populated(char* page) noexcept {
  unsigned char present = 0;
  return ::mincore(page, page_size, &present) == 0 && (present & 1) != 0;
}

stack_slab* new_slab(size_class& sizes, std::size_t wanted) {
  const std::size_t page = kernel_page_size();
  const auto whole_pages = [page](std::size_t bytes) { return (bytes + page - 1) / page * page; };
  const bool small = sizes.shape.size() < page_size;
  const std::size_t size = small ? sizes.shape.size() : whole_pages(sizes.shape.size());
  const std::size_t lead = small ? page : 0;
  const std::size_t guard = small ? 0 : whole_pages(sizes.shape.guard());
  const std::size_t stride = size + guard;
  int error = ENOMEM;
  std::size_t count = std::max<std::size_t>(1, std::min(wanted, largest_slab_bytes / stride));
  for (; count > 0; count /= 2) {  // a smaller one may still fit
    const std::size_t bytes = lead + count * stride;
    void* base = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (base == MAP_FAILED) {
      error = errno;
      continue;
    }
    std::unique_ptr<stack_slab> slab = describe_slab(count);
    if (slab != nullptr)
      slab->mapping.populated = is_populated(static_cast<char*>(base));
    const bool guarded = slab != nullptr &&
                         (!small || install_guards(slab->mapping, {static_cast<char*>(base), lead}, 1) != 0);
    if (!guarded) {
      ::munmap(base, bytes);
      if (slab != nullptr)
        fail_without_guard();
      continue;
    }
    // Without this a kernel that is set to huge pages commits 2 MiB where a fiber touches one page. (Small
    // ones lie close together.)
    if (!small)
      ::madvise(base, bytes, MADV_NOHUGEPAGE);
    slab->base = static_cast<char*>(base);
    slab->size = size;
    slab->lead = lead;
    slab->guard = guard;
    slab->sizes = &sizes;
    slabs.add(slab.get());
    return slab.release();
  }
  fail_without_memory(error, size);
}

stack_cell* pop(stack_cell*& list) noexcept {
  return std::exchange(list, list->next_idle);
}
void push(stack_cell*& list, stack_slab& slab, std::size_t index) noexcept {
  stack_cell& cell = slab.cells[index];
  cell = {&slab, list};
  list = &cell;
}

// Makes the guard of the next stack, and those of stacks that follow: at most a fourth of the `used` ones.
void guard_next(stack_slab& slab, std::size_t used) {
  const std::size_t wanted = std::min(std::max<std::size_t>(used / 4, 1), slab.count - slab.guarded);
  const guard_row row{slab.low(slab.guarded) - slab.guard, slab.guard, slab.stride()};
  const std::size_t made = install_guards(slab.mapping, row, wanted);
  if (made == 0)
    fail_without_guard();
  slab.guarded += made;
}

stack_memory take_from(size_class& sizes) {
  const std::lock_guard hold(sizes.lock);
  if (sizes.idle != nullptr || sizes.cold != nullptr) {
    sizes.warm -= sizes.idle != nullptr;
    stack_cell* const cell = pop(sizes.idle != nullptr ? sizes.idle : sizes.cold);
    return cell->slab->memory(static_cast<std::size_t>(cell - cell->slab->cells.get()));
  }
  if (sizes.slab == nullptr || sizes.slab->begun == sizes.slab->count) {
    sizes.slab = new_slab(sizes, std::max(first_slab_stacks, sizes.total));
    sizes.total += sizes.slab->count;
  }
  stack_slab& slab = *sizes.slab;
  if (slab.guard != 0 && slab.begun == slab.guarded)
    guard_next(slab, sizes.total - slab.count + slab.begun);
  const stack_memory memory = slab.memory(slab.begun);
  ++slab.begun;
  show_valgrind_stack(memory);
  return memory;
}

std::uint64_t& seal_of(const stack_memory& memory) noexcept {
  return *reinterpret_cast<std::uint64_t*>(memory.low);
}

// Slabs for what users bring.
struct adopted_slabs {
  std::mutex lock;
  stack_cell* idle = nullptr;
};
constinit never_destroyed<adopted_slabs> adopted;

stack_slab& take_adopted() {
  adopted_slabs& all = adopted.value;
  {
    const std::lock_guard hold(all.lock);
    if (all.idle != nullptr)
      return *pop(all.idle)->slab;
  }
  std::unique_ptr<stack_slab> slab = describe_slab(1);
  if (slab == nullptr)
    throw std::bad_alloc();
  slab->adopted = true;
  slab->begun = 1;
  slabs.add(slab.get());
  return *slab.release();
}

void give_adopted(stack_slab& slab) noexcept {
  show_valgrind_end(slab.valgrind);
  slab.size.store(0, std::memory_order_relaxed);
  adopted_slabs& all = adopted.value;
  const std::lock_guard hold(all.lock);
  push(all.idle, slab, 0);
}

// Whether it may keep its pages, among the idle ones.
bool keep_warm(size_class& sizes, const stack_memory& memory) noexcept {
  const std::lock_guard hold(sizes.lock);
  if (memory.size >= page_size && sizes.warm == most_warm_stacks(memory.size))
    return false;
  push(sizes.idle, *memory.slab, memory.index);
  ++sizes.warm;
  return true;
}

}  // namespace

stack_memory stack_take(stack_shape shape) {
  const stack_memory memory = take_from(class_of(shape));
  if (stack_has_seal(memory))
    seal_of(memory) = seal;
  return memory;
}

stack_memory stack_take(std::size_t size) {
  return stack_take(stack_shape_of(std::max(size, smallest_stack_size) | small_stack_mark, 0));
}

stack_memory stack_adopt(std::byte* bytes, std::size_t size) {
  [[maybe_unused]] const bool aligned = reinterpret_cast<std::uintptr_t>(bytes) % 16 == 0;
  assert(bytes != nullptr && aligned && "sennit: a stack that is brought must be 16-aligned, and not null");
  if (bytes == nullptr || !aligned || size < smallest_stack_size) {
    const std::string what =
        "a stack that is brought must be 16-aligned, not null, and not too small: at least " +
        std::to_string(smallest_stack_size) + " bytes";
#if !defined(NDEBUG)
    say({"sennit: ", what, "\n"});  // an assertion cannot say how many that is
    std::abort();
#endif
    fail(EINVAL, what);
  }
  const std::size_t brought = size;
  size &= ~std::size_t{15};
  if (std::has_single_bit(size))
    size -= 16;  // so that it is not taken for a stack of a class
  stack_slab& slab = take_adopted();
  slab.base.store(reinterpret_cast<char*>(bytes), std::memory_order_relaxed);
  slab.brought = brought;
  slab.size.store(size, std::memory_order_release);
  const stack_memory memory = slab.memory(0);
  slab.valgrind = show_valgrind_stack(memory);
  seal_of(memory) = seal;
  return memory;
}

void stack_give(const stack_memory& given) noexcept {
  const stack_memory memory = given;  // which may lie in the stack
  stack_record* const record = memory.slab->record(memory.index);
  stack_must_be_whole(memory, record);
  if (record != nullptr)  // an unused stack is not touched
    stack_name(memory, nullptr);
  forget_frames(memory.low, memory.size);
  show_valgrind_given(memory);
  if (memory.slab->adopted)
    return give_adopted(*memory.slab);
  size_class& sizes = *memory.slab->sizes;
  if (keep_warm(sizes, memory))
    return;
  stack_trim_below(memory, memory.low + memory.size);
  const std::lock_guard hold(sizes.lock);
  push(sizes.cold, *memory.slab, memory.index);
}

bool stack_has_seal(const stack_memory& memory) noexcept {
  return memory.slab->guard == 0;
}

bool stack_is_adopted(const stack_memory& memory) noexcept {
  return memory.slab->adopted;
}

bool stack_is_whole(const stack_memory& memory) noexcept {
  return !stack_has_seal(memory) || seal_of(memory) == seal;
}

std::size_t stack_reported_size(const stack_memory& memory) noexcept {
  return stack_is_adopted(memory) ? memory.slab->brought : memory.size;
}

void stack_report_overrun(const stack_memory& memory, const stack_record* record) noexcept {
  char digits[20];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), stack_reported_size(memory)).ptr;
  const stack_title who = stack_title_of(record);
  say({"sennit: stack overflow in ",
       who.kind,
       who.before,
       who.name,
       who.after,
       ": its stack has ",
       {digits, end},
       " bytes and no guard, and was overrun; what lies below it is damaged; ask for a larger stack\n"});
}

void stack_must_be_whole(const stack_memory& memory, const stack_record* record) noexcept {
  if (stack_is_whole(memory)) [[likely]]
    return;
  stack_report_overrun(memory, record);
  // First of all without abort(), which takes some 400 bytes more.
  ::syscall(SYS_tgkill, ::getpid(), ::syscall(SYS_gettid), SIGABRT);
  std::abort();
}

std::size_t stack_class(std::size_t size) noexcept {
  const bool small = (size & small_stack_mark) != 0 && size != ~std::size_t{0};
  const std::size_t bytes = small ? size & ~small_stack_mark : size;
  return bytes > maximum_stack_size
             ? bytes
             : std::bit_ceil(std::max(bytes, small ? smallest_stack_size : minimum_stack_size));
}

stack_shape stack_shape_of(std::size_t size, std::size_t guard, stack_shape usual) {
  const std::size_t bytes = size != 0 ? stack_class(size) : usual.size();
  if (bytes > maximum_stack_size)
    fail(EINVAL, "a stack of " + std::to_string(bytes) + " bytes was asked for; the largest is " +
                     std::to_string(maximum_stack_size));
  if (guard > maximum_guard_size)
    fail(EINVAL, "a guard of " + std::to_string(guard) + " bytes was asked for; the largest is " +
                     std::to_string(maximum_guard_size));
  return {bytes, guard != 0 ? (guard + page_size - 1) / page_size * page_size : usual.guard()};
}

bool stack_trim_below(const stack_memory& memory, const void* used) noexcept {
  if (stack_has_seal(memory))
    return false;
  const auto bytes = static_cast<std::size_t>(static_cast<const char*>(used) - memory.low);
  return ::madvise(memory.low, bytes & ~(kernel_page_size() - 1), MADV_DONTNEED) == 0;
}

void stack_name(const stack_memory& memory, stack_record* record) noexcept {
  memory.slab->known_as(memory.index).store(record, std::memory_order_release);
}

static bool is_idle(const stack_record& record) noexcept {
  return record.kind == lent_kind && static_cast<const lent_stack&>(record).borrower == nullptr;
}

// What is adopted stays its owner's while we look, and no longer.
void stack_for_each_record(void (*visit)(void*, const stack_memory&, const stack_record&), void* argument) {
  for (stack_slab* slab = slabs.newest(); slab != nullptr; slab = slab->next) {
    std::unique_lock hold(adopted.value.lock, std::defer_lock);
    if (slab->adopted)
      hold.lock();
    for (std::size_t i = 0; i < slab->count; ++i)
      if (const stack_record* record = slab->record(i); record != nullptr && !is_idle(*record))
        visit(argument, slab->memory(i), *record);
  }
}

stack_place stack_find(std::uintptr_t address) noexcept {
  for (stack_slab* slab = slabs.newest(); slab != nullptr; slab = slab->next) {
    const std::size_t size = slab->size.load(std::memory_order_acquire);
    const std::size_t stride = slab->guard + size;
    const std::size_t offset = address - reinterpret_cast<std::uintptr_t>(slab->base.load());
    if (size == 0 || offset >= slab->lead + stride * slab->count)
      continue;
    const bool below_all = offset < slab->lead;
    const std::size_t index = below_all ? 0 : (offset - slab->lead) / stride;
    stack_record* record = slab->record(index);
    if (record != nullptr && record->kind == lent_kind)
      record = static_cast<lent_stack*>(record)->borrower;
    return {true, below_all || (offset - slab->lead) % stride < slab->guard, slab->low(index), size, record};
  }
  return {};
}

// From the highest one down: the overrunning stack is intact unless the one above it was overrun, too.
// Adopted memory is skipped: its owner may be unmapping it.
void stack_report_if_overrun() noexcept {
  for (stack_slab* slab = slabs.newest(); slab != nullptr; slab = slab->next) {
    if (slab->guard != 0 || slab->adopted)
      continue;
    for (std::size_t i = slab->count; i-- > 0;) {
      const stack_record* const record = slab->record(i);
      if (record != nullptr && !stack_is_whole(slab->memory(i)))
        return stack_report_overrun(slab->memory(i), record);
    }
  }
}

}  // namespace sennit::inline v0_1::detail
