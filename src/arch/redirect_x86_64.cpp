// The signal handler's part of a redirection on x86-64: see include/sennit/detail/arch/redirect.hpp.
#include "sennit/detail/arch/redirect.hpp"

#if SENNIT_REDIRECTS && defined(__x86_64__)

#include <ucontext.h>

#include <cstring>
#include <new>

extern "C" void sennit_redirected();  // redirect_x86_64.S

namespace sennit::inline v0_1::detail {

namespace {

// The kernel's description of the vector state in a signal's frame: struct _fpx_sw_bytes of Linux, in the
// bytes that fxsave leaves to software.
struct vector_state {
  std::uint32_t magic;
  std::uint32_t extended_size;
  std::uint64_t components;
  std::uint32_t size;
};
constexpr std::size_t vector_state_at = 464;
constexpr std::uint32_t vector_state_magic = 0x46505853;

constexpr std::uint64_t protection_keys = std::uint64_t{1} << 9;  // the thread's, not the fiber's

// Trap, direction, nested task, resume, alignment check: not for the stub.
constexpr greg_t flags_of_interrupted_code = 1 << 8 | 1 << 10 | 1 << 14 | 1 << 16 | 1 << 18;

// In redirect_x86_64.S, too.
constexpr std::size_t vectors_at = 256;
constexpr std::size_t vectors_alignment = 64;
static_assert(sizeof(redirection) <= vectors_at);
static_assert(offsetof(redirection, vector_mask) == 144 && offsetof(redirection, function) == 152 &&
              offsetof(redirection, way_back) == 160 && offsetof(machine_registers, rdi) == 64 &&
              offsetof(machine_registers, rsp) == 120 && sizeof(machine_registers) == 144);

vector_state vector_state_of(const void* ucontext) noexcept {
  vector_state state{};
  const auto* saved =
      reinterpret_cast<const char*>(static_cast<const ucontext_t*>(ucontext)->uc_mcontext.fpregs);
  if (saved != nullptr)
    std::memcpy(&state, saved + vector_state_at, sizeof state);
  return state;
}

// In the state that the signal returns to, the x87 stack is empty and no x87 error is pending. Vector
// registers are in their initial state, which is quicker than loading unneeded values. Control words are
// common to all fibers of the thread, and stay.
void begin_anew(ucontext_t& interrupted) noexcept {
  fpregset_t const saved = interrupted.uc_mcontext.fpregs;
  constexpr std::size_t components_at = 512;  // the bits of the components not in their initial state
  constexpr std::uint64_t x87 = 1;
  saved->swd = 0;
  saved->ftw = 0;
  auto* const components = reinterpret_cast<std::uint64_t*>(reinterpret_cast<char*>(saved) + components_at);
  *components = (*components & protection_keys) | x87;
}

}  // namespace

std::size_t redirection_room(const void* ucontext) noexcept {
  const vector_state state = vector_state_of(ucontext);
  return state.magic == vector_state_magic ? vectors_at + state.size + vectors_alignment : 0;
}

void redirect(void* ucontext, char* top, void (*function)(redirection&), void* argument) noexcept {
  const vector_state state = vector_state_of(ucontext);
  char* frame = top - vectors_at - state.size;
  frame -= reinterpret_cast<std::uintptr_t>(frame) % vectors_alignment;
  auto* what = ::new (frame) redirection{};
  auto& interrupted = *static_cast<ucontext_t*>(ucontext);
  gregset_t& registers = interrupted.uc_mcontext.gregs;
  static_assert(REG_R8 == 0 && REG_RDI == 8 && REG_RSP == 15 && REG_EFL == 17);
  std::memcpy(&what->registers, registers, sizeof what->registers);
  what->vector_mask = state.components & ~protection_keys;
  what->function = function;
  what->argument = argument;
  std::memcpy(frame + vectors_at, interrupted.uc_mcontext.fpregs, state.size);
  begin_anew(interrupted);
  registers[REG_RIP] = reinterpret_cast<greg_t>(sennit_redirected);
  registers[REG_RSP] = reinterpret_cast<greg_t>(frame);
  registers[REG_EFL] &= ~flags_of_interrupted_code;
}

}  // namespace sennit::inline v0_1::detail

#endif
