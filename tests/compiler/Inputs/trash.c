// In the runtime's place: a yield is requested at every check, and leaves nothing in what a C function need
// not keep. Compiled without the plugin.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__thread volatile unsigned char sennit_yield_requested = 1;
static uint64_t yields;

#define EACH(numbers, instruction) ".irp i," numbers "\n\t" instruction "\n\t.endr\n\t"
#define LOW "0,1,2,3,4,5,6,7"
#define SIXTEEN LOW ",8,9,10,11,12,13,14,15"
#define HIGH "16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31"

static __attribute__((noinline)) void trash_memory(void) {
  char below[4096];
  memset(below, 0xa5, sizeof below);
  __asm__ volatile("" : : "r"(below) : "memory");
}

// sennit_forced_yield's last instructions trash what C code could not be kept from restoring.
#if defined(__x86_64__)
enum { at_entry = 8 };

__attribute__((target("avx512f"))) static void trash_vectors(void) {
  const int bits = 0x5a5a5a5a;
  __asm__ volatile(EACH(SIXTEEN, "pcmpeqd %%xmm\\i, %%xmm\\i")::);
  if (__builtin_cpu_supports("avx"))
    __asm__ volatile(EACH(SIXTEEN, "vbroadcastss %0, %%ymm\\i")::"m"(bits));
  if (__builtin_cpu_supports("avx512f"))
    __asm__ volatile(EACH(SIXTEEN "," HIGH, "vbroadcastss %0, %%zmm\\i")
                         EACH(LOW, "kxnorw %%k\\i, %%k\\i, %%k\\i")::"m"(bits));
}

__asm__(
    ".globl sennit_forced_yield\n"
    ".type sennit_forced_yield,@function\n"
    "sennit_forced_yield:\n"
    ".cfi_startproc\n"
    "  movq %rsp, %rdi\n"
    "  pushq %rbp\n"
    ".cfi_adjust_cfa_offset 8\n"
    "  call trash_and_count@PLT\n"
    "  popq %rbp\n"
    ".cfi_adjust_cfa_offset -8\n"
    "  fninit\n"
    "  movabsq $0x5a5a5a5a5a5a5a5a, %rax\n"
    "  movq %rax, %mm0\n movq %rax, %mm1\n movq %rax, %mm2\n movq %rax, %mm3\n"
    "  movq %rax, %mm4\n movq %rax, %mm5\n movq %rax, %mm6\n movq %rax, %mm7\n emms\n"
    "  movq %rax, %rcx\n movq %rax, %rdx\n movq %rax, %rsi\n movq %rax, %rdi\n"
    "  movq %rax, %r8\n movq %rax, %r9\n movq %rax, %r10\n movq %rax, %r11\n"
    "  addq %rax, %rax\n"  // and the flags
    "  ret\n"
    ".cfi_endproc\n"
    ".size sennit_forced_yield, .-sennit_forced_yield\n");
#elif defined(__aarch64__)
enum { at_entry = 0 };

static void trash_vectors(void) {}

__asm__(
    ".globl sennit_forced_yield\n"
    ".type sennit_forced_yield,@function\n"
    "sennit_forced_yield:\n"
    ".cfi_startproc\n"
    "  mov x0, sp\n"
    "  stp x29, x30, [sp, #-16]!\n"
    ".cfi_def_cfa_offset 16\n"
    ".cfi_offset x29, -16\n"
    ".cfi_offset x30, -8\n"
    "  mov x29, sp\n"
    "  bl trash_and_count\n"
    "  ldp x29, x30, [sp], #16\n"
    ".cfi_def_cfa_offset 0\n"
    ".cfi_restore x29\n"
    ".cfi_restore x30\n"
    "  mov x0, #0x5555555555555555\n"
    "  .irp i,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18\n  mov x\\i, x0\n  .endr\n"
    "  .irp i," LOW "," HIGH
    "\n  dup v\\i\\().2d, x0\n  .endr\n"
    "  .irp i,8,9,10,11,12,13,14,15\n  mov v\\i\\().d[1], x0\n  .endr\n"  // a call keeps the lower halves
    "  cmn x0, x0\n"                                                      // and the flags
    "  ret\n"
    ".cfi_endproc\n"
    ".size sennit_forced_yield, .-sennit_forced_yield\n");
#endif

void trash_and_count(void* stack) {
  ++yields;
  if ((uintptr_t)stack % 16 != at_entry)
    abort();  // not as a call must leave it
  trash_memory();
  trash_vectors();
}

// What src/preempt/no_yield_calls.cpp calls.
void sennit_no_yield_begin(void) {}
void sennit_no_yield_end(void) {}

static __attribute__((destructor)) void report(void) {
  fprintf(stderr, "%llu yields\n", (unsigned long long)yields);
}
