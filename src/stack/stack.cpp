// Stack memory: see include/sennit/detail/stack/stack.hpp for the picture.
#include "sennit/detail/stack/stack.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <system_error>
#include <utility>

#include "sennit/detail/stack/growing_list.hpp"
#include "sennit/detail/stack/sanitizer.hpp"

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif

namespace sennit::detail {

// What is kept of each stack of a slab.
struct stack_cell {
  std::atomic<stack_record*> record{nullptr};
  stack_slab* slab = nullptr;
  stack_cell* next_idle = nullptr;
};

struct stack_slab {
  char* base;
  std::size_t stride;  // guard + stack
  std::size_t count;
  std::unique_ptr<stack_cell[]> cells;
  stack_slab* next;  // older slab; a signal handler may walk the list

  stack_memory memory(std::size_t index) {
    return {base + index * stride + page_size, stride - page_size, this, index};
  }
};

namespace {

constexpr std::size_t class_count = 64;
constexpr std::size_t first_slab_stacks = 16;
constexpr std::size_t largest_slab_bytes = std::size_t{1} << 36;
constexpr std::size_t mappings_left_to_others = 2048;

constinit growing_list<stack_slab> slabs;

// What is not in use, of one size.
struct size_class {
  std::mutex lock;
  stack_cell* idle = nullptr;
  stack_slab* slab = nullptr;  // the one whose stacks are handed out for the first time
  std::size_t used = 0;        // how many of its stacks have been
  std::size_t total = 0;       // stacks in all slabs of this class
};

// Never destroyed: fibers may still run while static objects are.
size_class& class_of(std::size_t size) {
  static auto* classes = new size_class[class_count];
  return classes[std::bit_width(size) - 1];
}

[[noreturn]] void fail(int error, const std::string& what) {
  throw std::system_error(error, std::generic_category(), "sennit: " + what);
}

// Whether a page is really guarded: the kernel says EFAULT when it is to populate it, and an emulator that
// accepts advice it does not know (qemu does) says nothing. (To hand the page to a system call that reads it
// would be surer, but crashes Valgrind.)
bool is_guarded(char* page) noexcept {
  return ::madvise(page, page_size, MADV_POPULATE_READ) != 0 && errno == EFAULT;
}

// How many guards may split a mapping, which makes two mappings more.
std::size_t most_splits() noexcept {
  std::size_t mappings = 0;
  std::FILE* file = std::fopen("/proc/sys/vm/max_map_count", "re");
  if (file == nullptr || std::fscanf(file, "%zu", &mappings) != 1)
    mappings = 65530;  // the kernel's default
  if (file != nullptr)
    std::fclose(file);
  return (std::max(mappings, 2 * mappings_left_to_others) - mappings_left_to_others) / 2;
}

bool split_mapping(char* guard) {
  static const std::size_t most = most_splits();
  static std::atomic<std::size_t> splits{0};
  if (splits.fetch_add(1, std::memory_order_relaxed) < most && ::mprotect(guard, page_size, PROT_NONE) == 0)
    return true;
  splits.fetch_sub(1, std::memory_order_relaxed);
  return false;
}

bool install_guard(char* guard) {
  const guard_method method = guards.load(std::memory_order_relaxed);
  if (method != guard_method::split && ::madvise(guard, page_size, MADV_GUARD_INSTALL) == 0) {
    if (method == guard_method::marked)
      return true;
    if (is_guarded(guard)) {
      guards.store(guard_method::marked, std::memory_order_relaxed);
      return true;
    }
  }
  if (method == guard_method::unknown)
    guards.store(guard_method::split, std::memory_order_relaxed);
  return split_mapping(guard);
}

stack_slab* new_slab(std::size_t size, std::size_t wanted) {
  const std::size_t stride = page_size + size;
  std::size_t count = std::max<std::size_t>(1, std::min(wanted, largest_slab_bytes / stride));
  for (; count > 0; count /= 2) {  // a smaller one may still fit
    void* base = ::mmap(nullptr, count * stride, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (base == MAP_FAILED)
      continue;
    std::unique_ptr<stack_cell[]> cells(new (std::nothrow) stack_cell[count]);
    auto* slab =
        new (std::nothrow) stack_slab{static_cast<char*>(base), stride, count, std::move(cells), nullptr};
    if (slab == nullptr || slab->cells == nullptr) {
      delete slab;
      ::munmap(base, count * stride);
      continue;
    }
    // Without this a kernel that is set to huge pages commits 2 MiB where a fiber touches one page.
    ::madvise(base, count * stride, MADV_NOHUGEPAGE);
    slabs.add(slab);
    return slab;
  }
  fail(ENOMEM, "no address space for a stack of " + std::to_string(size) +
                   " bytes; use smaller stacks, fewer fibers, or raise `ulimit -v`");
}

}  // namespace

stack_memory stack_take(std::size_t size) {
  if (size > maximum_stack_size)
    fail(EINVAL, "a stack of " + std::to_string(size) + " bytes was asked for; the largest is " +
                     std::to_string(maximum_stack_size));
  size = stack_class(size);
  size_class& sizes = class_of(size);
  std::lock_guard hold(sizes.lock);
  if (sizes.idle != nullptr) {
    stack_cell* cell = std::exchange(sizes.idle, sizes.idle->next_idle);
    return cell->slab->memory(static_cast<std::size_t>(cell - cell->slab->cells.get()));
  }
  if (sizes.slab == nullptr || sizes.used == sizes.slab->count) {
    sizes.slab = new_slab(size, std::max(first_slab_stacks, sizes.total));
    sizes.used = 0;
    sizes.total += sizes.slab->count;
  }
  const stack_memory memory = sizes.slab->memory(sizes.used);
  if (!install_guard(memory.low - page_size))
    fail(ENOMEM,
         "no mapping left for the guard page of a stack: this kernel splits the mapping for each guard "
         "(MADV_GUARD_INSTALL needs Linux 6.13); raise vm.max_map_count or use fewer fibers");
  sizes.slab->cells[sizes.used++].slab = sizes.slab;
  return memory;
}

void stack_give(const stack_memory& memory) noexcept {
  stack_name(memory, nullptr);
  forget_frames(memory.low, memory.size);
  stack_cell& cell = memory.slab->cells[memory.index];
  size_class& sizes = class_of(memory.size);
  std::lock_guard hold(sizes.lock);
  cell.next_idle = std::exchange(sizes.idle, &cell);
}

std::size_t stack_class(std::size_t size) noexcept {
  return size > maximum_stack_size ? size : std::bit_ceil(std::max(size, minimum_stack_size));
}

void stack_trim_below(const stack_memory& memory, const void* used) noexcept {
  const auto bytes = static_cast<std::size_t>(static_cast<const char*>(used) - memory.low);
  ::madvise(memory.low, bytes & ~(page_size - 1), MADV_DONTNEED);
}

void stack_name(const stack_memory& memory, stack_record* record) noexcept {
  memory.slab->cells[memory.index].record.store(record, std::memory_order_release);
}

stack_place stack_find(std::uintptr_t address) noexcept {
  for (stack_slab* slab = slabs.newest(); slab != nullptr; slab = slab->next) {
    const auto base = reinterpret_cast<std::uintptr_t>(slab->base);
    if (address < base || address - base >= slab->stride * slab->count)
      continue;
    const std::size_t index = (address - base) / slab->stride;
    const std::size_t offset = (address - base) % slab->stride;
    return {true, offset < page_size, slab->base + index * slab->stride + page_size, slab->stride - page_size,
            slab->cells[index].record.load(std::memory_order_acquire)};
  }
  return {};
}

}  // namespace sennit::detail
