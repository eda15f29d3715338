// A fault and its hook leave everything as it was: all registers, the flags, the red zone.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <thread>

#include "support/faults.hpp"

#if SENNIT_REDIRECTS && defined(__x86_64__)

using namespace support;

extern "C" {

struct machine_state {
  std::uint64_t general[15];  // rax rbx rcx rdx rsi rbp rdi, r8 to r15
  std::uint64_t flags;
  std::uint64_t masks[8];
  std::uint64_t red_zone[16];
  std::uint64_t control;  // of SSE
  std::uint64_t rest;
  double x87[2];
  alignas(64) std::uint8_t vector[32][64];
};

[[gnu::used]] machine_state fault_test_loaded;
[[gnu::used]] machine_state fault_test_found;

// Loads every register from fault_test_loaded, writes to (rdi), and stores them all in fault_test_found.
void fault_test_sse();
void fault_test_avx();
void fault_test_avx512();
// Changes the vector registers.
void fault_test_trash_sse();
void fault_test_trash_avx();
void fault_test_trash_avx512();
}

static_assert(offsetof(machine_state, flags) == 120 && offsetof(machine_state, masks) == 128 &&
              offsetof(machine_state, red_zone) == 192 && offsetof(machine_state, control) == 320 &&
              offsetof(machine_state, x87) == 336 && offsetof(machine_state, vector) == 384);

asm(R"(
    .macro FAULT_TEST kind, move, register, avx, more
    .text
    .globl fault_test_\kind
    .type fault_test_\kind, @function
fault_test_\kind :
    .cfi_startproc
    .irp r, rbx, rbp, r12, r13, r14, r15
    pushq %\r
    .cfi_adjust_cfa_offset 8
    .endr
    fninit
    fldpi
    fld1
    ldmxcsr fault_test_loaded+320(%rip)
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    \move fault_test_loaded+384+64*\n(%rip), %\register\n
    .endr
    .if \more
    .irp n, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    \move fault_test_loaded+384+64*\n(%rip), %\register\n
    .endr
    .endif
    .if \more
    .irp k, 0, 1, 2, 3, 4, 5, 6, 7
    kmovq fault_test_loaded+128+8*\k(%rip), %k\k
    .endr
    .endif
    pushq fault_test_loaded+120(%rip)
    .cfi_adjust_cfa_offset 8
    popfq
    .cfi_adjust_cfa_offset -8
    .irp at, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    movq fault_test_loaded+192+8*\at(%rip), %rax
    movq %rax, -128+8*\at(%rsp)
    .endr
    .set n, 0
    .irp r, rax, rbx, rcx, rdx, rsi, rbp, rdi, r8, r9, r10, r11, r12, r13, r14, r15
    movq fault_test_loaded+8*n(%rip), %\r
    .set n, n + 1
    .endr
    movl $1, (%rdi)
    .set n, 0
    .irp r, rax, rbx, rcx, rdx, rsi, rbp, rdi, r8, r9, r10, r11, r12, r13, r14, r15
    movq %\r, fault_test_found+8*n(%rip)
    .set n, n + 1
    .endr
    .irp at, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    movq -128+8*\at(%rsp), %rax
    movq %rax, fault_test_found+192+8*\at(%rip)
    .endr
    pushfq
    .cfi_adjust_cfa_offset 8
    popq fault_test_found+120(%rip)
    .cfi_adjust_cfa_offset -8
    cld
    .if \more
    .irp k, 0, 1, 2, 3, 4, 5, 6, 7
    kmovq %k\k, fault_test_found+128+8*\k(%rip)
    .endr
    .endif
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    \move %\register\n, fault_test_found+384+64*\n(%rip)
    .endr
    .if \more
    .irp n, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    \move %\register\n, fault_test_found+384+64*\n(%rip)
    .endr
    .endif
    stmxcsr fault_test_found+320(%rip)
    movl $0x1f80, fault_test_found+328(%rip)
    ldmxcsr fault_test_found+328(%rip)
    fstpl fault_test_found+336(%rip)
    fstpl fault_test_found+344(%rip)
    .irp r, r15, r14, r13, r12, rbp, rbx
    popq %\r
    .cfi_adjust_cfa_offset -8
    .endr
    ret
    .cfi_endproc
    .size fault_test_\kind, . - fault_test_\kind

    .globl fault_test_trash_\kind
    .type fault_test_trash_\kind, @function
fault_test_trash_\kind :
    .if \avx
    vzeroall
    .endif
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    pxor %xmm\n, %xmm\n
    .endr
    .if \more
    .irp n, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    vpxorq %zmm\n, %zmm\n, %zmm\n
    .endr
    .endif
    .if \more
    .irp k, 0, 1, 2, 3, 4, 5, 6, 7
    kxorq %k\k, %k\k, %k\k
    .endr
    .endif
    fninit
    ret
    .size fault_test_trash_\kind, . - fault_test_trash_\kind
    .endm

    FAULT_TEST sse, movdqu, xmm, 0, 0
    FAULT_TEST avx, vmovdqu, ymm, 1, 0
    FAULT_TEST avx512, vmovdqu64, zmm, 1, 1
)");

namespace {

constexpr std::uint64_t arithmetic_flags = 0xcd5;  // carry, parity, adjust, zero, sign, direction, overflow
constexpr std::uint64_t interrupts_allowed = 0x200;

struct instruction_set {
  const char* name;
  bool there;
  void (*fault)();
  void (*trash)();
  std::size_t vectors;
  std::size_t bytes;
  std::size_t masks;
};

void fill(machine_state& state, std::uint64_t flags, volatile int* closed) {
  std::minstd_rand random(7);
  auto* bytes = reinterpret_cast<unsigned char*>(&state);
  for (std::size_t i = 0; i < sizeof state; ++i)
    bytes[i] = static_cast<unsigned char>(random() >> 8);
  state.general[6] = reinterpret_cast<std::uint64_t>(closed);
  state.flags = flags | interrupts_allowed;
  state.control = 0x7f80;  // rounds toward zero
}

void expect_kept(const instruction_set& with) {
  const machine_state& before = fault_test_loaded;
  const machine_state& after = fault_test_found;
  for (std::size_t i = 0; i < std::size(before.general); ++i)
    EXPECT_EQ(after.general[i], before.general[i]) << with.name << ", general register " << i;
  EXPECT_EQ(after.flags & arithmetic_flags, before.flags & arithmetic_flags) << with.name;
  EXPECT_EQ(std::memcmp(after.red_zone, before.red_zone, sizeof after.red_zone), 0) << with.name;
  EXPECT_EQ(after.control & 0xffff, before.control & 0xffff) << with.name;
  EXPECT_EQ(after.x87[0], 1.0) << with.name;
  EXPECT_DOUBLE_EQ(after.x87[1], 3.14159265358979323846) << with.name;
  EXPECT_EQ(std::memcmp(after.masks, before.masks, with.masks * sizeof after.masks[0]), 0) << with.name;
  for (std::size_t i = 0; i < with.vectors; ++i)
    EXPECT_EQ(std::memcmp(after.vector[i], before.vector[i], with.bytes), 0)
        << with.name << ", vector register " << i;
}

FAULT_TEST(MachineState, IsPutBackWholeAfterAFault) {
  __builtin_cpu_init();
  const instruction_set sets[] = {
      {"SSE", true, fault_test_sse, fault_test_trash_sse, 16, 16, 0},
      {"AVX", __builtin_cpu_supports("avx") != 0, fault_test_avx, fault_test_trash_avx, 16, 32, 0},
      {"AVX-512", __builtin_cpu_supports("avx512bw") != 0, fault_test_avx512, fault_test_trash_avx512, 32, 64,
       8},
  };
  const closed_page page;
  for (const instruction_set& each : sets) {
    if (!each.there) {
      std::printf("without %s: this processor has none\n", each.name);
      continue;
    }
    for (const std::uint64_t flags : {std::uint64_t{0}, arithmetic_flags}) {
      page.close();
      const test_hook hook([&](const fault_site&) {
        page.open();
        each.trash();
        return fault_answer::resume;
      });
      run_hooked(hook, [&](auto&) {
        fill(fault_test_loaded, flags, page.at());
        each.fault();
      });
      EXPECT_EQ(hook.served, 1);
      expect_kept(each);
    }
  }
}

// The hook yields; another thread, which has used its registers, resumes it.
FAULT_TEST(MachineState, IsPutBackOnAnotherThread) {
  const instruction_set sse{"SSE", true, fault_test_sse, fault_test_trash_sse, 16, 16, 0};
  const closed_page page;
  std::thread::id went_on;
  sennit::generator<int> body([&](auto& yield) {
    const test_hook hook([&](const fault_site&) {
      yield(1);
      page.open();
      return fault_answer::resume;
    });
    const hooked guard(hook);
    fill(fault_test_loaded, arithmetic_flags, page.at());
    sse.fault();
    went_on = std::this_thread::get_id();
    yield(2);
  });
  auto at = body.begin();
  EXPECT_EQ(*at, 1);
  std::thread other([&] {
    sse.trash();
    ++at;
    EXPECT_EQ(went_on, std::this_thread::get_id());
  });
  other.join();
  EXPECT_EQ(*at, 2);
  expect_kept(sse);
  ++at;
}

}  // namespace

#elif SENNIT_REDIRECTS

#include <sys/auxv.h>

using namespace support;

extern "C" {

struct machine_state {
  std::uint64_t general[31];  // x0 to x30
  std::uint64_t flags;
  std::uint64_t status;
  std::uint64_t control;
  alignas(16) std::uint8_t vector[32][16];
  alignas(16) std::uint8_t sve[32][256];
  std::uint8_t predicates[16][32];
};

[[gnu::used]] machine_state fault_test_loaded;
[[gnu::used]] machine_state fault_test_found;

// Loads every register but sp from fault_test_loaded, writes to (x17), and stores them all in
// fault_test_found.
void fault_test_floating();
void fault_test_sve();
// Changes the registers of floating point and vectors, but those that a function must keep.
void fault_test_trash_floating();
void fault_test_trash_sve();
}

static_assert(offsetof(machine_state, flags) == 248 && offsetof(machine_state, status) == 256 &&
              offsetof(machine_state, control) == 264 && offsetof(machine_state, vector) == 272 &&
              offsetof(machine_state, sve) == 784 && offsetof(machine_state, predicates) == 8976);

// x30 holds the state's address while registers are stored, and lies on the stack meanwhile.
asm(R"(
    .arch armv8-a+sve
    .macro FAULT_TEST kind, more
    .text
    .globl fault_test_\kind
    .type fault_test_\kind, %function
fault_test_\kind :
    .cfi_startproc
    hint #34
    sub sp, sp, #192
    .cfi_adjust_cfa_offset 192
    stp x29, x30, [sp]
    .cfi_offset x29, -192
    .cfi_offset x30, -184
    stp x19, x20, [sp, #16]
    stp x21, x22, [sp, #32]
    stp x23, x24, [sp, #48]
    stp x25, x26, [sp, #64]
    stp x27, x28, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    adrp x0, fault_test_loaded
    add x0, x0, :lo12:fault_test_loaded
    ldr x1, [x0, #256]
    msr fpsr, x1
    ldr x1, [x0, #264]
    msr fpcr, x1
    add x2, x0, #272
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    ldr q\n, [x2], #16
    .endr
    .if \more
    add x2, x0, #784
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    ldr z\n, [x2]
    add x2, x2, #256
    .endr
    add x2, x0, #2, lsl #12
    add x2, x2, #784
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    ldr p\n, [x2]
    add x2, x2, #32
    .endr
    .endif
    ldr x1, [x0, #248]
    msr nzcv, x1
    mov x30, x0
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29
    ldr x\n, [x30, #8 * \n]
    .endr
    ldr x30, [x30, #8 * 30]
    str w17, [x17]
    str x30, [sp, #160]
    adrp x30, fault_test_found
    add x30, x30, :lo12:fault_test_found
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29
    str x\n, [x30, #8 * \n]
    .endr
    mov x0, x30
    ldr x1, [sp, #160]
    str x1, [x0, #240]
    mrs x1, nzcv
    str x1, [x0, #248]
    mrs x1, fpsr
    str x1, [x0, #256]
    mrs x1, fpcr
    str x1, [x0, #264]
    msr fpcr, xzr
    .if \more
    add x2, x0, #784
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    str z\n, [x2]
    add x2, x2, #256
    .endr
    add x2, x0, #2, lsl #12
    add x2, x2, #784
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    str p\n, [x2]
    add x2, x2, #32
    .endr
    .endif
    add x2, x0, #272
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    str q\n, [x2], #16
    .endr
    ldp x19, x20, [sp, #16]
    ldp x21, x22, [sp, #32]
    ldp x23, x24, [sp, #48]
    ldp x25, x26, [sp, #64]
    ldp x27, x28, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    ldp x29, x30, [sp]
    add sp, sp, #192
    ret
    .cfi_endproc
    .size fault_test_\kind, . - fault_test_\kind

    .globl fault_test_trash_\kind
    .type fault_test_trash_\kind, %function
fault_test_trash_\kind :
    hint #34
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    fmov d\n, xzr
    .endr
    .if \more
    mov x9, sp
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    ldr p\n, [x9]
    .endr
    .endif
    msr fpsr, xzr
    ret
    .size fault_test_trash_\kind, . - fault_test_trash_\kind
    .endm

    FAULT_TEST floating, 0
    FAULT_TEST sve, 1
    .arch armv8-a
)");

namespace {

constexpr std::uint64_t all_flags = std::uint64_t{0xf} << 28;
constexpr std::uint64_t some_status = 0x8000010;
constexpr std::uint64_t rounds_toward_zero = std::uint64_t{3} << 22;

void fill(machine_state& state, std::uint64_t flags, volatile int* closed) {
  std::minstd_rand random(7);
  auto* bytes = reinterpret_cast<unsigned char*>(&state);
  for (std::size_t i = 0; i < sizeof state; ++i)
    bytes[i] = static_cast<unsigned char>(random() >> 8);
  state.general[17] = reinterpret_cast<std::uint64_t>(closed);
  state.flags = flags;
  state.status = some_status;
  state.control = rounds_toward_zero;
}

void expect_kept(std::size_t sve_bytes) {
  const machine_state& before = fault_test_loaded;
  const machine_state& after = fault_test_found;
  for (std::size_t i = 0; i < std::size(before.general); ++i)
    EXPECT_EQ(after.general[i], before.general[i]) << "x" << i;
  EXPECT_EQ(after.flags & all_flags, before.flags);
  EXPECT_EQ(after.status, before.status);
  EXPECT_EQ(after.control, before.control);
  for (std::size_t i = 0; i < 32; ++i) {
    if (sve_bytes == 0) {
      EXPECT_EQ(std::memcmp(after.vector[i], before.vector[i], sizeof after.vector[i]), 0) << "v" << i;
    }
    EXPECT_EQ(std::memcmp(after.sve[i], before.sve[i], sve_bytes), 0) << "z" << i;
  }
  for (std::size_t i = 0; i < 16; ++i)
    EXPECT_EQ(std::memcmp(after.predicates[i], before.predicates[i], sve_bytes / 8), 0) << "p" << i;
}

std::size_t bytes_of_sve() {
  if ((getauxval(AT_HWCAP) & (1u << 22)) == 0)
    return 0;
  std::uint64_t bytes = 0;
  asm(".arch armv8-a+sve\n\tcntb %0\n\t.arch armv8-a" : "=r"(bytes));
  return bytes;
}

FAULT_TEST(MachineState, IsPutBackWholeAfterAFault) {
  const std::size_t sve = bytes_of_sve();
  if (sve == 0)
    std::printf("without SVE: this processor has none\n");
  const closed_page page;
  for (const bool with_sve : {false, true}) {
    if (with_sve && sve == 0)
      continue;
    for (const std::uint64_t flags : {std::uint64_t{0}, all_flags}) {
      page.close();
      const test_hook hook([&](const fault_site&) {
        page.open();
        with_sve ? fault_test_trash_sve() : fault_test_trash_floating();
        return fault_answer::resume;
      });
      run_hooked(hook, [&](auto&) {
        fill(fault_test_loaded, flags, page.at());
        with_sve ? fault_test_sve() : fault_test_floating();
      });
      EXPECT_EQ(hook.served, 1);
      expect_kept(with_sve ? sve : 0);
    }
  }
}

// The hook yields; another thread, which has used its registers, resumes it.
FAULT_TEST(MachineState, IsPutBackOnAnotherThread) {
  const closed_page page;
  std::thread::id went_on;
  sennit::generator<int> body([&](auto& yield) {
    const test_hook hook([&](const fault_site&) {
      yield(1);
      page.open();
      return fault_answer::resume;
    });
    const hooked guard(hook);
    fill(fault_test_loaded, all_flags, page.at());
    fault_test_floating();
    went_on = std::this_thread::get_id();
    yield(2);
  });
  auto at = body.begin();
  EXPECT_EQ(*at, 1);
  std::thread other([&] {
    fault_test_trash_floating();
    ++at;
    EXPECT_EQ(went_on, std::this_thread::get_id());
  });
  other.join();
  EXPECT_EQ(*at, 2);
  expect_kept(0);
  ++at;
}

}  // namespace

#endif
