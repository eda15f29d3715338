// The stub of a redirection: include/sennit/detail/arch/redirect.hpp draws the stack.

#define VECTOR_MASK 144     // offsetof(redirection, vector_mask), ...
#define FUNCTION 152
#define WAY_BACK 160
#define VECTORS 256
#define RIP 128
#define RSP 120
#define FLAGS 136

// The caller's register lies at rsp + offset: DW_CFA_expression { DW_OP_breg7 (rsp) offset }
.macro CFI_REGISTER_AT number, offset
    .cfi_escape 0x10, \number, 3, 0x77, 0x80 | ((\offset) & 0x7f), ((\offset) >> 7) & 0x7f
.endm

// The caller is the interrupted code, whose registers lie in the frame at rsp - moved.
// The first: DW_CFA_def_cfa_expression { DW_OP_breg7 (rsp) offset; DW_OP_deref }
.macro CFI_INTERRUPTED moved
    .cfi_escape 0x0f, 4, 0x77, 0x80 | ((RSP - (\moved)) & 0x7f), ((RSP - (\moved)) >> 7) & 0x7f, 0x06
    CFI_REGISTER_AT 0, 104-(\moved)       // rax
    CFI_REGISTER_AT 1, 96-(\moved)        // rdx
    CFI_REGISTER_AT 2, 112-(\moved)       // rcx
    CFI_REGISTER_AT 3, 88-(\moved)        // rbx
    CFI_REGISTER_AT 4, 72-(\moved)        // rsi
    CFI_REGISTER_AT 5, 64-(\moved)        // rdi
    CFI_REGISTER_AT 6, 80-(\moved)        // rbp
    CFI_REGISTER_AT 8, 0-(\moved)         // r8 to r15
    CFI_REGISTER_AT 9, 8-(\moved)
    CFI_REGISTER_AT 10, 16-(\moved)
    CFI_REGISTER_AT 11, 24-(\moved)
    CFI_REGISTER_AT 12, 32-(\moved)
    CFI_REGISTER_AT 13, 40-(\moved)
    CFI_REGISTER_AT 14, 48-(\moved)
    CFI_REGISTER_AT 15, 56-(\moved)
    CFI_REGISTER_AT 16, 128-(\moved)       // rip
.endm

    .text
// In: rsp = the frame, in which all registers are; general ones are the interrupted code's still.
// Out: the state described there. Marked as a signal frame: the caller's pc is that of an instruction that is yet
// to run, not one behind a call.
    .globl sennit_redirected
    .hidden sennit_redirected
    .type sennit_redirected, @function
    .p2align 4
sennit_redirected:
    .cfi_startproc
    .cfi_signal_frame
    CFI_INTERRUPTED 0
    movq %rsp, %rdi
    callq *FUNCTION(%rsp)
sennit_thread_exception_return:     // the registers are what the function has left: back to the interrupted code
    movl VECTOR_MASK(%rsp), %eax
    movl VECTOR_MASK + 4(%rsp), %edx
    xrstor64 VECTORS(%rsp)
    xorl %eax, %eax
    movq RIP(%rsp), %rcx
    movq %rcx, WAY_BACK(%rsp)
    movw %cs, %ax
    movq %rax, WAY_BACK + 8(%rsp)
    movq FLAGS(%rsp), %rcx
    movq %rcx, WAY_BACK + 16(%rsp)
    movq RSP(%rsp), %rcx
    movq %rcx, WAY_BACK + 24(%rsp)
    movw %ss, %ax
    movq %rax, WAY_BACK + 32(%rsp)
    movq (%rsp), %r8
    movq 8(%rsp), %r9
    movq 16(%rsp), %r10
    movq 24(%rsp), %r11
    movq 32(%rsp), %r12
    movq 40(%rsp), %r13
    movq 48(%rsp), %r14
    movq 56(%rsp), %r15
    movq 64(%rsp), %rdi
    movq 72(%rsp), %rsi
    movq 80(%rsp), %rbp
    movq 88(%rsp), %rbx
    movq 96(%rsp), %rdx
    movq 104(%rsp), %rax
    movq 112(%rsp), %rcx
    leaq WAY_BACK(%rsp), %rsp
    CFI_INTERRUPTED WAY_BACK
    iretq
    .cfi_endproc
    .size sennit_redirected, . - sennit_redirected

#if defined(__CET__) && (__CET__ & 1)
// As in switch_x86_64.S. Nothing jumps here: the stub is entered by the kernel.
    .section .note.gnu.property, "a", @note
    .p2align 3
    .long 4, 16, 5
    .asciz "GNU"
#if defined(SENNIT_SHADOW_STACK)
    .long 0xc0000002, 4, __CET__, 0 // GNU_PROPERTY_X86_FEATURE_1_AND: IBT, SHSTK
#else
    .long 0xc0000002, 4, 1, 0   // IBT
#endif
#endif

    .section .note.GNU-stack, "", @progbits
