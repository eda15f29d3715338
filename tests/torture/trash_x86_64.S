// sennit_transfer torture_trash_and_swap(sennit_context target, uint64_t value, int has_avx512): switches as
// sennit_swapstack_call does, with rubbish in every register that a switch may change, in those it may not, and in
// the flags. What our own caller wants kept is on the stack above.
    .text
    .globl torture_trash_and_swap
    .type torture_trash_and_swap, @function
torture_trash_and_swap:
    .cfi_startproc
#if defined(__CET__) && (__CET__ & 1)
    endbr64
#endif
    pushq %rbp
    .cfi_adjust_cfa_offset 8
    pushq %rbx
    .cfi_adjust_cfa_offset 8
    pushq %r12
    .cfi_adjust_cfa_offset 8
    pushq %r13
    .cfi_adjust_cfa_offset 8
    pushq %r14
    .cfi_adjust_cfa_offset 8
    pushq %r15
    .cfi_adjust_cfa_offset 8
    subq $8, %rsp
    .cfi_adjust_cfa_offset 8
    pcmpeqd %xmm0, %xmm0
    .irp n, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    movdqa %xmm0, %xmm\n
    .endr
    testl %edx, %edx
    jz 1f
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    vpternlogd $0xff, %zmm\n, %zmm\n, %zmm\n
    .endr
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7
    kxnorq %k\n, %k\n, %k\n
    .endr
1:
    movabsq $0xdeadbeefdeadbe01, %rbx
    .irp r, rax, rcx, rdx, rbp, r8, r9, r10, r11, r12, r13, r14, r15
    movq %rbx, %\r
    .endr
    cmpq %rsp, %rbx
    callq sennit_swapstack_call@PLT
    addq $8, %rsp
    .cfi_adjust_cfa_offset -8
    popq %r15
    .cfi_adjust_cfa_offset -8
    popq %r14
    .cfi_adjust_cfa_offset -8
    popq %r13
    .cfi_adjust_cfa_offset -8
    popq %r12
    .cfi_adjust_cfa_offset -8
    popq %rbx
    .cfi_adjust_cfa_offset -8
    popq %rbp
    .cfi_adjust_cfa_offset -8
    ret
    .cfi_endproc
    .size torture_trash_and_swap, . - torture_trash_and_swap
    .section .note.GNU-stack, "", @progbits
