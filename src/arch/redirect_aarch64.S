// The stub of a redirection on AArch64: include/sennit/detail/arch/redirect.hpp draws the stack.

#define FUNCTION 0          // offsetof(redirection, function), ...
#define REGISTERS 312
#define SP_AT (REGISTERS + 31 * 8)
#define PC_AT (SP_AT + 8)
#define RETURN_COLUMN 96    // of a program counter that is not x30's
#define RT_SIGRETURN 139

// The caller's register lies at sp + offset: DW_CFA_expression { DW_OP_breg31 (sp) offset }
.macro CFI_REGISTER_AT number, offset
    .cfi_escape 0x10, \number, 3, 0x8f, 0x80 | ((\offset) & 0x7f), ((\offset) >> 7) & 0x7f
.endm

    .text
// In: sp = the frame, in which all registers are; those of floating point and vectors are the interrupted code's
// still. Marked as a signal frame: the caller's pc is that of an instruction that is yet to run, not one behind a
// call. The kernel comes here by no branch, so that no landing is needed.
    .globl sennit_redirected
    .hidden sennit_redirected
    .type sennit_redirected, %function
    .p2align 4
sennit_redirected:
    .cfi_startproc
    .cfi_signal_frame
    .cfi_return_column RETURN_COLUMN
    // DW_CFA_def_cfa_expression { DW_OP_breg31 (sp) offset; DW_OP_deref }
    .cfi_escape 0x0f, 4, 0x8f, 0x80 | (SP_AT & 0x7f), (SP_AT >> 7) & 0x7f, 0x06
    .set number, 0
    .rept 31
    CFI_REGISTER_AT number, REGISTERS + number * 8
    .set number, number + 1
    .endr
    CFI_REGISTER_AT RETURN_COLUMN, PC_AT
    mov x0, sp
    ldr x1, [sp, #FUNCTION]
    blr x1
sennit_thread_exception_return:     // the registers are what the function has left: back to the interrupted code
    mov x0, sp
    bl sennit_keep_signal_state
    mov x8, #RT_SIGRETURN           // sp = a signal's frame
    svc #0
    brk #1
    .cfi_endproc
    .size sennit_redirected, . - sennit_redirected

// In place of a function's return: calls the function at x16, which takes no arguments, with the caller's d8 to d15,
// which are in x0 to x7.
    .globl sennit_call_with_vectors
    .hidden sennit_call_with_vectors
    .type sennit_call_with_vectors, %function
    .p2align 4
sennit_call_with_vectors:
    .cfi_startproc
    fmov d8, x0
    fmov d9, x1
    fmov d10, x2
    fmov d11, x3
    fmov d12, x4
    fmov d13, x5
    fmov d14, x6
    fmov d15, x7
    br x16
    .cfi_endproc
    .size sennit_call_with_vectors, . - sennit_call_with_vectors

#if defined(__ARM_FEATURE_BTI_DEFAULT)
// As in switch_aarch64.S.
    .section .note.gnu.property, "a", @note
    .p2align 3
    .word 4, 16, 5
    .asciz "GNU"
    .word 0xc0000000, 4, 1, 0   // GNU_PROPERTY_AARCH64_FEATURE_1_AND: BTI
#endif

    .section .note.GNU-stack, "", @progbits
