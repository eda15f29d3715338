// The signal handler's part of a redirection on AArch64, and the last part of its stub: see
// include/sennit/detail/arch/redirect.hpp.
#include "sennit/detail/arch/redirect.hpp"

#if SENNIT_REDIRECTS && defined(__aarch64__)

#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstring>
#include <new>

extern "C" void sennit_redirected();  // redirect_aarch64.S

namespace sennit::inline v0_1::detail {

namespace {

// Linux's list of records behind the general registers. The headers of older systems lack some of them.
struct record_head {
  std::uint32_t magic;
  std::uint32_t size;
};
struct vector_record {  // SVE's and ZA's
  record_head head;
  std::uint16_t vector_length;
  std::uint16_t flags;
  std::uint16_t reserved[2];
};
struct extra_record {
  record_head head;
  std::uint64_t data;  // the address at which the list continues: behind the end of its first part
  std::uint32_t size;
};
constexpr std::uint32_t ignored_magic = 0x45535201;       // ESR, which the kernel does not read
constexpr std::uint32_t extra_magic = 0x45585401;         // EXTR
constexpr std::uint32_t sve_magic = 0x53564501;           // the vectors of SVE
constexpr std::uint32_t za_magic = 0x54366345;            // the matrix of SME
constexpr std::uint32_t keys_magic = 0x504f4530;          // POE: protection keys
constexpr std::uint32_t return_stack_magic = 0x47435300;  // GCS
constexpr std::uint16_t sve_is_streaming = 1;

constexpr std::size_t alignment = 16;
constexpr std::size_t largest_extra = 16 * 1024;  // 32 vectors of 2,048 bits take 9 KB

constexpr std::size_t context_at = offsetof(redirection, context);
static_assert(context_at == 128 && offsetof(redirection, function) == 0);
static_assert(offsetof(redirection, registers) - context_at ==
              offsetof(ucontext_t, uc_mcontext) + offsetof(mcontext_t, regs));
static_assert(offsetof(machine_registers, sp) == offsetof(mcontext_t, sp) - offsetof(mcontext_t, regs) &&
              offsetof(machine_registers, pstate) ==
                  offsetof(mcontext_t, pstate) - offsetof(mcontext_t, regs));

template <class Record>
Record record_at(const char* at) noexcept {
  Record copy;
  std::memcpy(&copy, at, sizeof copy);
  return copy;
}

// A fiber in streaming mode, or with a matrix in use, could not call C++. A second return from the same
// signal has no place on a guarded control stack.
bool is_refused(const char* at, record_head head) noexcept {
  switch (head.magic) {
    case sve_magic:
      return (record_at<vector_record>(at).flags & sve_is_streaming) != 0;
    case za_magic:
      return head.size > sizeof(vector_record);
    case return_stack_magic:
      return true;
    default:
      return false;
  }
}

// Calls the function for each record of a part of the list, until it returns false.
template <class Char, class Function>
bool for_each_record(Char* at, std::size_t room, Function function) noexcept {
  while (room >= sizeof(record_head)) {
    const auto head = record_at<record_head>(at);
    if (head.magic == 0)
      return true;
    if (head.size < sizeof head || head.size > room || !function(at, head))
      return false;
    at += head.size;
    room -= head.size;
  }
  return true;
}

const char* records_of(const ucontext_t& context) noexcept {
  return reinterpret_cast<const char*>(context.uc_mcontext.__reserved);
}
constexpr std::size_t room_for_records = sizeof mcontext_t::__reserved;

// Bytes of a signal's context, with the part of the list that lies behind it. 0: it is refused.
std::size_t context_size(const ucontext_t& context) noexcept {
  extra_record extra{};
  const auto look = [&](const char* at, record_head head) {
    if (head.magic == extra_magic)
      extra = record_at<extra_record>(at);
    return !is_refused(at, head);
  };
  if (!for_each_record(records_of(context), room_for_records, look))
    return 0;
  if (extra.head.magic == 0)
    return sizeof context;
  const auto begin = reinterpret_cast<std::uintptr_t>(&context);
  const auto* const more = reinterpret_cast<const char*>(extra.data);
  if (extra.size > largest_extra || extra.data < begin || extra.data > begin + sizeof context + alignment ||
      !for_each_record(more, extra.size, look))
    return 0;
  const std::size_t end = extra.data + extra.size - begin;
  return end > sizeof context ? end : sizeof context;
}

// The copy's list continues in the copy. Protection keys are the thread's.
void adapt(char* records, std::uint64_t moved_by) noexcept {
  const auto adapt_record = [=](char* at, record_head head) {
    if (head.magic == keys_magic) {
      std::memcpy(at, &ignored_magic, sizeof ignored_magic);
    } else if (head.magic == extra_magic) {
      auto extra = record_at<extra_record>(at);
      extra.data += moved_by;
      std::memcpy(at, &extra, sizeof extra);
      for_each_record(reinterpret_cast<char*>(extra.data), extra.size, [](char* more, record_head each) {
        if (each.magic == keys_magic)
          std::memcpy(more, &ignored_magic, sizeof ignored_magic);
        return true;
      });
    }
    return true;
  };
  for_each_record(records, room_for_records, adapt_record);
}

// Of the processor's state: kind of the last branch, single steps. Not for the stub.
constexpr std::uint64_t state_of_interrupted_code = std::uint64_t{3} << 10 | std::uint64_t{1} << 21;

}  // namespace

std::size_t redirection_room(const void* ucontext) noexcept {
  const std::size_t size = context_size(*static_cast<const ucontext_t*>(ucontext));
  return size != 0 ? context_at + size + alignment : 0;
}

void redirect(void* ucontext, char* top, void (*function)(redirection&), void* argument) noexcept {
  auto& interrupted = *static_cast<ucontext_t*>(ucontext);
  const std::size_t size = context_size(interrupted);
  char* frame = top - context_at - size;
  frame -= reinterpret_cast<std::uintptr_t>(frame) % alignment;
  auto* what = ::new (frame) redirection;
  what->function = function;
  what->argument = argument;
  char* const copy = frame + context_at;
  std::memcpy(copy, ucontext, size);
  adapt(copy + (records_of(interrupted) - static_cast<const char*>(ucontext)),
        reinterpret_cast<std::uintptr_t>(copy) - reinterpret_cast<std::uintptr_t>(ucontext));
  interrupted.uc_mcontext.pc = reinterpret_cast<std::uintptr_t>(sennit_redirected);
  interrupted.uc_mcontext.sp = reinterpret_cast<std::uintptr_t>(frame);
  interrupted.uc_mcontext.pstate &= ~state_of_interrupted_code;
}

}  // namespace sennit::inline v0_1::detail

// The stub's, before it returns from the signal once more: signal mask and alternate stack, which belong to
// the thread, stay as they are.
extern "C" [[gnu::visibility("hidden")]] void sennit_keep_signal_state(
    sennit::detail::redirection& what) noexcept {
  auto* const context = reinterpret_cast<ucontext_t*>(what.context);
  constexpr std::size_t kernel_mask_size = 8;
  ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, nullptr, &context->uc_sigmask, kernel_mask_size);
  ::syscall(SYS_sigaltstack, nullptr, &context->uc_stack);
}

#endif
