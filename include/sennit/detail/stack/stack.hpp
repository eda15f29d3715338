// Stack memory: reserved in large mappings, guarded, reused, never unmapped one by one.
//
//   one mapping (a slab):
//   | guard | stack 0 .......... | guard | stack 1 .......... | guard | stack 2 ...
//           ^ low                ^ low + size (the stack grows down from here)
//
// A guard is one page below its stack. Where the kernel offers MADV_GUARD_INSTALL (Linux 6.13) the mapping
// stays one mapping; elsewhere mprotect splits it, and the number of stacks is bounded by vm.max_map_count,
// of which some are left to the rest of the process.
// Pages are committed by first touch. Sizes are rounded up to powers of two so that a class is one list.
//
// Rejected: a mapping per stack (4-10 us each, and the map count again); malloc'ed stacks (no guard).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace sennit::detail {

inline constexpr std::size_t page_size = 4096;
inline constexpr std::size_t minimum_stack_size = 2 * page_size;
inline constexpr std::size_t default_stack_size = 64 * 1024;
inline constexpr std::size_t maximum_stack_size = std::size_t{1} << 32;

// Memory for one stack, owned by whoever took it. `slab` and `index` say where it came from.
struct stack_memory {
  char* low = nullptr;
  std::size_t size = 0;
  struct stack_slab* slab = nullptr;
  std::size_t index = 0;

  char* high() const { return low + size; }
};

struct fault_hook;
struct emergency_stack;

// By what a stack is known when something on it faults. Kept by the stack's user, at the top of the stack
// itself.
struct stack_record {
  const char* name = nullptr;            // of the coroutine or fiber on it; null: it has none
  const char* kind = "coroutine";        // "coroutine" or "fiber"
  const fault_hook* hook = nullptr;      // whom its faults go to (fault's); null: to the process's hook
  emergency_stack* emergency = nullptr;  // what its overflows are served on, since the first (fault's)
  stack_memory memory;
};

// A guarded stack of at least `size` bytes (rounded up to a power of two, at least minimum_stack_size).
// Any thread. Throws std::system_error: EINVAL beyond maximum_stack_size, ENOMEM when address space, memory
// or mappings ran out; the message says which remedy there is. Nothing is lost by a failure.
stack_memory stack_take(std::size_t size);

// Gives a stack back for reuse. Its contents may be dropped. Any thread.
void stack_give(const stack_memory& memory) noexcept;

// How guards are made. The first one finds out; tests say it.
enum class guard_method : std::uint8_t {
  unknown,
  marked,  // MADV_GUARD_INSTALL
  split,   // mprotect
};
inline std::atomic<guard_method> guards{guard_method::unknown};

// The size of the stack that stack_take(size) gives.
std::size_t stack_class(std::size_t size) noexcept;

// Lets the kernel have back the pages that lie wholly below `used`.
void stack_trim_below(const stack_memory& memory, const void* used) noexcept;

// Says under which record a stack is known from now on; null: unused.
void stack_name(const stack_memory& memory, stack_record* record) noexcept;

// What lies at an address: for fault reports. Async-signal-safe.
struct stack_place {
  bool found = false;   // the address belongs to one of our stacks or its guard
  bool guard = false;   // it is in the guard
  char* low = nullptr;  // that stack's bounds
  std::size_t size = 0;
  stack_record* record = nullptr;  // null: nobody uses the stack
};
stack_place stack_find(std::uintptr_t address) noexcept;

}  // namespace sennit::detail
