// Stack memory: see include/sennit/detail/stack/stack.hpp for the picture.
#include "sennit/detail/stack/stack.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <vector>

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif

namespace sennit::detail {

using record_cell = std::atomic<const stack_record*>;

struct stack_slab {
  char* base;
  std::size_t stride;  // guard + stack
  std::size_t count;
  std::unique_ptr<record_cell[]> records;
  stack_slab* next;  // older slab; the list only grows, so a signal handler can walk it
};

namespace {

constexpr std::size_t class_count = 64;
constexpr std::size_t first_slab_stacks = 16;
constexpr std::size_t largest_slab_bytes = std::size_t{1} << 36;

std::atomic<stack_slab*> slabs{nullptr};

// What is not in use, of one size.
struct size_class {
  std::mutex lock;
  std::vector<stack_memory> idle;
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

bool install_guard(char* page) {
  static std::atomic<bool> refused{false};
  if (!refused.load(std::memory_order_relaxed)) {
    if (::madvise(page, page_size, MADV_GUARD_INSTALL) == 0)
      return true;
    refused.store(true, std::memory_order_relaxed);  // an older kernel: mprotect from now on
  }
  return ::mprotect(page, page_size, PROT_NONE) == 0;
}

stack_slab* new_slab(std::size_t size, std::size_t wanted) {
  const std::size_t stride = page_size + size;
  std::size_t count = std::max<std::size_t>(1, std::min(wanted, largest_slab_bytes / stride));
  void* base = MAP_FAILED;
  for (; count > 0; count /= 2) {  // a smaller reservation may still fit
    base = ::mmap(nullptr, count * stride, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (base != MAP_FAILED)
      break;
  }
  if (base == MAP_FAILED)
    fail(ENOMEM, "no address space for a stack of " + std::to_string(size) +
                     " bytes; use smaller stacks, fewer fibers, or raise `ulimit -v`");
  // Without this a kernel that is set to huge pages commits 2 MiB where a fiber touches one page.
  ::madvise(base, count * stride, MADV_NOHUGEPAGE);
  try {
    auto slab = std::make_unique<stack_slab>(
        stack_slab{static_cast<char*>(base), stride, count, std::make_unique<record_cell[]>(count), nullptr});
    slab->next = slabs.load(std::memory_order_relaxed);
    while (!slabs.compare_exchange_weak(slab->next, slab.get(), std::memory_order_release)) {
    }
    return slab.release();
  } catch (...) {
    ::munmap(base, count * stride);
    throw;
  }
}

}  // namespace

stack_memory stack_take(std::size_t size) {
  if (size > maximum_stack_size)
    fail(EINVAL, "a stack of " + std::to_string(size) + " bytes was asked for; the largest is " +
                     std::to_string(maximum_stack_size));
  size = stack_class(size);
  size_class& sizes = class_of(size);
  std::lock_guard hold(sizes.lock);
  if (!sizes.idle.empty()) {
    stack_memory memory = sizes.idle.back();
    sizes.idle.pop_back();
    return memory;
  }
  if (sizes.slab == nullptr || sizes.used == sizes.slab->count) {
    sizes.idle.reserve(sizes.total + first_slab_stacks);
    sizes.slab = new_slab(size, std::max(first_slab_stacks, sizes.total));
    sizes.used = 0;
    sizes.total += sizes.slab->count;
    sizes.idle.reserve(sizes.total);  // so that giving back cannot fail
  }
  char* guard = sizes.slab->base + sizes.used * sizes.slab->stride;
  if (!install_guard(guard))
    fail(errno == 0 ? ENOMEM : errno,
         "no mapping left for the guard page of a stack: this kernel splits the mapping for each guard "
         "(MADV_GUARD_INSTALL needs Linux 6.13); raise vm.max_map_count or use fewer fibers");
  return {guard + page_size, size, sizes.slab, sizes.used++};
}

void stack_give(const stack_memory& memory) noexcept {
  stack_name(memory, nullptr);
  size_class& sizes = class_of(memory.size);
  std::lock_guard hold(sizes.lock);
  sizes.idle.push_back(memory);
}

std::size_t stack_class(std::size_t size) noexcept {
  return size > maximum_stack_size ? size : std::bit_ceil(std::max(size, minimum_stack_size));
}

void stack_trim_below(const stack_memory& memory, const void* used) noexcept {
  const auto bytes = static_cast<std::size_t>(static_cast<const char*>(used) - memory.low);
  ::madvise(memory.low, bytes & ~(page_size - 1), MADV_DONTNEED);
}

void stack_name(const stack_memory& memory, const stack_record* record) noexcept {
  memory.slab->records[memory.index].store(record, std::memory_order_release);
}

stack_place stack_find(std::uintptr_t address) noexcept {
  for (stack_slab* slab = slabs.load(std::memory_order_acquire); slab != nullptr; slab = slab->next) {
    const auto base = reinterpret_cast<std::uintptr_t>(slab->base);
    if (address < base || address - base >= slab->stride * slab->count)
      continue;
    const std::size_t index = (address - base) / slab->stride;
    const std::size_t offset = (address - base) % slab->stride;
    return {true, offset < page_size, slab->base + index * slab->stride + page_size, slab->stride - page_size,
            slab->records[index].load(std::memory_order_acquire)};
  }
  return {};
}

}  // namespace sennit::detail
