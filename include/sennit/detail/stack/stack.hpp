// Stack memory: reserved in large mappings, guarded, reused, never unmapped one by one.
//
//   one mapping (a slab):
//   | guard | stack 0 .......... | guard | stack 1 .......... | guard | stack 2 ...
//           ^ low                ^ low + size (two words below it the stack grows down)
//
// The lower of these two words refers to the stack's record. It lies in a page that is in use anyway; a
// separate table would take 8 bytes for each stack.
//
// A guard lies below its stack. It is 64 KiB large unless the user asks for another size: larger than the
// frames of libc and other code that is compiled without probes. Where the kernel offers MADV_GUARD_INSTALL
// (Linux 6.13) the mapping stays one mapping. Elsewhere, and in memory that is locked (mlockall), mprotect
// splits the mapping. Then vm.max_map_count bounds the number of stacks; some mappings are left to the rest
// of the process. Pages are committed by first touch. Sizes are rounded up to powers of two, so that stacks
// of one shape (size and guard) share one list.
//
// Stacks of 1 and 2 KiB, which must be asked for (small_stack), share pages and so have no guard:
//
//   | guard | stack 0 | stack 1 | stack 2 | stack 3 | ...
//           ^ low: a known word, the seal. An overrun breaks it. That is checked when the stack is returned;
//                  in builds with assertions also whenever its fiber parks, yields or ends
//
// A stack of 4 KiB has whole pages: a guard takes addresses there but no memory, so it has one. Memory that
// the user brought (stack_adopt) has a seal, too, because the memory below it is unknown.
//
// Rejected: a mapping per stack (4-10 us each, and the map count again); malloc'ed stacks (no guard);
// MAP_GROWSDOWN; a red zone that code checks. docs/explanation/stacks.md gives the reasons.
#pragma once

#include <atomic>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "sennit/detail/arch/exceptions.hpp"
#include "sennit/detail/stack/sanitizer.hpp"

namespace sennit::inline v0_1::detail {

// The smallest that kernels of this CPU have.
#if defined(__alpha__) || defined(__sparc__)
inline constexpr std::size_t page_size = 8192;
#else
inline constexpr std::size_t page_size = 4096;
#endif
inline constexpr std::size_t minimum_stack_size = 2 * page_size;
// The minimum for stacks requested as small. If a switch calls external code (libc's, a sanitizer's), the
// switch itself takes more than a page.
#if defined(SENNIT_BACKEND_PORTABLE) || defined(SENNIT_SANITIZED)
inline constexpr std::size_t smallest_stack_size = minimum_stack_size;
#else
inline constexpr std::size_t smallest_stack_size = 1024;
#endif
inline constexpr std::size_t default_stack_size = 64 * 1024;
inline constexpr std::size_t default_guard_size = 64 * 1024;
inline constexpr std::size_t maximum_stack_size = std::size_t{1} << (sizeof(void*) == 8 ? 32 : 30);
inline constexpr std::size_t maximum_guard_size = std::size_t{1} << (sizeof(void*) == 8 ? 30 : 26);
inline constexpr std::size_t small_stack_mark = ~(~std::size_t{0} >> 1);  // in a size: it may be a small one

// What is ours at the top of each stack: two words, since what lies below is to be 16-aligned.
inline constexpr std::size_t stack_head_size = 16;

// The size and the guard of a stack, in one word. Stacks of equal shape replace each other.
struct stack_shape {
  std::uint32_t code = 0;  // log2 of the size; above it, the guard in pages. 0: memory that the user provided

  constexpr stack_shape() noexcept = default;
  // `size`: a power of two; `guard`: a multiple of the page size.
  constexpr stack_shape(std::size_t size, std::size_t guard) noexcept
      : code(static_cast<std::uint32_t>(std::countr_zero(size)) |
             static_cast<std::uint32_t>(guard / page_size) << size_bits) {}

  constexpr std::size_t size() const noexcept { return std::size_t{1} << (code % (1u << size_bits)); }
  // What was asked for: a stack that is smaller than a page has a seal instead.
  constexpr std::size_t guard() const noexcept { return std::size_t{code >> size_bits} * page_size; }
  constexpr bool operator==(const stack_shape&) const noexcept = default;

private:
  static constexpr unsigned size_bits = 6;
};
inline constexpr stack_shape default_stack_shape{default_stack_size, default_guard_size};

// Memory for one stack, owned by whoever took it, from `low` to `high()`. `slab` and `index` identify its
// place.
struct stack_memory {
  char* low = nullptr;
  std::size_t size = 0;
  struct stack_slab* slab = nullptr;
  std::uint32_t index = 0;
  stack_shape shape;

  char* high() const { return low + size - stack_head_size; }
  bool holds(std::uintptr_t address) const { return address - reinterpret_cast<std::uintptr_t>(low) < size; }
};

// The stack that a user asks for: of `size` bytes above a guard of `guard` bytes (0: the usual ones); or the
// user's memory of that size. Functions that are called where nothing idle is left take its three words one
// by one: the ABI passes the whole in memory, which compilers would write on the fast path, too.
struct stack_request {
  constexpr stack_request(std::size_t bytes = 0, std::byte* its_memory = nullptr,
                          std::size_t guard_bytes = 0) noexcept
      : size(bytes), memory(its_memory), guard(guard_bytes) {}
  // `Span`: std::span<std::byte>, which takes a while to instantiate.
  template <class Span>
    requires std::is_same_v<decltype(std::declval<const Span&>().data()), std::byte*>
  constexpr stack_request(const Span& brought) noexcept : size(brought.size()), memory(brought.data()) {
    assert(memory != nullptr && "sennit: a stack that is brought is null");
  }
  constexpr bool is_usual() const noexcept { return (size | guard) == 0; }

  std::size_t size;
  std::byte* memory;
  std::size_t guard = 0;
  bool at_once = false;  // (fibers) not only when it begins
};

// Of options with `name`, `stack_size`, `guard_size` and `stack`. A name lies where a fiber that has not
// begun keeps its function.
template <class Options>
constexpr stack_request stack_request_of(const Options& options) noexcept {
  stack_request request = options.stack.empty()
                              ? stack_request(options.stack_size, nullptr, options.guard_size)
                              : stack_request(options.stack);
  request.at_once = !options.name.empty();
  return request;
}

// The size of the stack that a request for `size` gets; it may carry small_stack_mark.
std::size_t stack_class(std::size_t size) noexcept;
// The shape that a request for a size and a guard gets; zeros mean those of `usual`. Throws std::system_error
// (EINVAL) beyond maximum_stack_size and maximum_guard_size.
stack_shape stack_shape_of(std::size_t size, std::size_t guard, stack_shape usual = default_stack_shape);

// Where a stack comes from, once that is decided: a shape; or the user's memory.
struct stack_source {
  constexpr stack_source(stack_shape of) noexcept : shape(of) {}
  // `wish` asks for memory, or for a shape. Throws as stack_shape_of.
  stack_source(const stack_request& request, stack_shape usual)
      : memory(request.memory), memory_size(request.memory != nullptr ? request.size : 0) {
    if (memory == nullptr)
      shape = request.is_usual() ? usual : stack_shape_of(request.size, request.guard, usual);
  }
  bool is_provided() const noexcept { return memory != nullptr; }

  stack_shape shape;
  std::byte* memory = nullptr;
  std::size_t memory_size = 0;
};

struct fault_hook;
struct emergency_stack;

// By what a stack is known when something on it faults. Kept by the stack's user, in the stack itself.
struct stack_record {
  const char* name = nullptr;            // of the coroutine or fiber on it; null: it has none
  const char* kind = "coroutine";        // "coroutine" or "fiber"
  const fault_hook* hook = nullptr;      // serves its faults (fault's); null: the process's hook does
  emergency_stack* emergency = nullptr;  // serves its overflows, since the first (fault's)
  stack_memory memory;
  stack_record* lent = nullptr;  // the large stack that the user runs a call on; of that one: the one before
  unsigned guards = 0;           // frames on it that have set `hook` (rpc's hook_of_fiber)

  // Whether the address lies on that stack, or on one that is lent to its user.
  bool holds(std::uintptr_t address) const noexcept {
    const stack_record* each = this;
    while (each != nullptr && !each->memory.holds(address))
      each = each->lent;
    return each != nullptr;
  }
};

// A stack that is lent for the time of a call (on_large_stack.hpp): faults there, and all that is looked up
// by an address there, are the borrower's.
inline constexpr char lent_kind[] = "large stack";
struct lent_stack : stack_record {
  stack_record* borrower = nullptr;  // null: idle
  lent_stack* next = nullptr;        // in a worker's list of idle ones
};

// A stack of a shape, guarded unless it is smaller than a page. Any thread. Throws std::system_error (ENOMEM)
// when address space, memory or mappings ran out; the message names the remedy. Nothing is lost by a failure.
stack_memory stack_take(stack_shape shape);
// As above, of at least `size` bytes (rounded up to a power of two, at least smallest_stack_size) and the
// default guard. Throws EINVAL, too, beyond maximum_stack_size.
stack_memory stack_take(std::size_t size);

// The user's memory as a stack, until it is given back; in size it is like none that stack_take gives.
// Asserts that it is 16-aligned and has smallest_stack_size; without assertions throws std::system_error
// (EINVAL) otherwise. Throws std::bad_alloc.
stack_memory stack_adopt(std::byte* memory, std::size_t size);

inline stack_memory stack_get(const stack_source& source) {
  return source.is_provided() ? stack_adopt(source.memory, source.memory_size) : stack_take(source.shape);
}

// Gives a stack back for reuse. Its contents may be dropped, and are, when many of its size are idle. Any
// thread.
void stack_give(const stack_memory& memory) noexcept;

// Whether the stack is the user's memory, which is not reused for others.
bool stack_is_adopted(const stack_memory& memory) noexcept;
// The size that reports give: the size of the stack's class; for memory that the user brought, all of it.
// Async-signal-safe.
std::size_t stack_reported_size(const stack_memory& memory) noexcept;

// How many idle stacks of a size keep their pages.
constexpr std::size_t most_warm_stacks(std::size_t size) noexcept {
  constexpr std::size_t addresses = std::size_t{64} << 20;
  return size <= addresses / 1024 ? 1024 : size >= addresses / 16 ? 16 : addresses / size;
}

// Returns false if the stack has no guard, and the memory below it was written to.
bool stack_is_whole(const stack_memory& memory) noexcept;
// Reports that, and names the user that needs a larger stack, if it is known. Async-signal-safe.
void stack_report_overrun(const stack_memory& memory, const stack_record* record) noexcept;
// Reports an overrun of a stack that is not whole, and ends the program.
void stack_must_be_whole(const stack_memory& memory, const stack_record* record) noexcept;
// Like stack_must_be_whole(), but only in builds with assertions.
inline void stack_should_be_whole([[maybe_unused]] const stack_record& record) noexcept {
#if !defined(NDEBUG)
  if (record.memory.slab != nullptr)
    stack_must_be_whole(record.memory, &record);
#endif
}

// How guards are made. Unknown until MADV_GUARD_INSTALL has succeeded once; tests set it. A mapping in which
// MADV_GUARD_INSTALL fails (memory that is locked) is split although others are marked.
enum class guard_method : std::uint8_t {
  unknown,
  marked,  // MADV_GUARD_INSTALL
  split,   // mprotect
};
inline std::atomic<guard_method> guards{guard_method::unknown};
// How many guards may split a mapping, if fewer than vm.max_map_count allows: for tests.
inline std::atomic<std::size_t> most_split_guards{~std::size_t{0}};

// At how many offsets of their pages the tops of coroutines and fibers lie: for measurements.
inline std::size_t stack_colours = 16;

// Gives the pages that lie wholly below `used` back to the kernel. Returns false where they keep their
// contents: pages that are shared with other stacks, and locked ones.
bool stack_trim_below(const stack_memory& memory, const void* used) noexcept;

// What lies at the low end of a stack that has no guard, and so is not to be written.
inline constexpr std::size_t stack_seal_size = sizeof(std::uint64_t);
bool stack_has_seal(const stack_memory& memory) noexcept;

// Whether users have asked for depths (stacks.hpp).
inline std::atomic<bool> stacks_are_measured{false};
// How deep a stack that is known under a record has been. Any thread.
std::size_t stack_depth(const stack_memory& memory, const stack_record& record) noexcept;
// From now on, nothing below `used` counts as written. Not to be called on that stack.
void stack_clear_below(const stack_memory& memory, const void* used) noexcept;
// The user of a stack, known by its record, has ended: it must be whole, and it is remembered how deep it has
// been, if that is wanted and the user has a name.
void stack_user_ended(const stack_record& record) noexcept;
// All stacks that are known under a record. Those of other threads may be given back meanwhile.
void stack_for_each_record(void (*visit)(void*, const stack_memory&, const stack_record&), void* argument);

// Sets the record of a stack; the record lies in that stack. Null: unused.
void stack_name(const stack_memory& memory, stack_record* record) noexcept;

// What lies at an address: for fault reports. Async-signal-safe.
struct stack_place {
  bool found = false;   // the address belongs to one of our stacks or its guard
  bool guard = false;   // it is in the guard
  char* low = nullptr;  // that stack's bounds
  std::size_t size = 0;
  stack_record* record = nullptr;  // its user's, the borrower's of a lent one; null: the stack is unused
};
stack_place stack_find(std::uintptr_t address) noexcept;
// Reports an overrun of a stack in use, if there is any: it probably causes other faults. Async-signal-safe.
void stack_report_if_overrun() noexcept;

}  // namespace sennit::inline v0_1::detail
