// sennit_transfer torture_trash_and_swap(sennit_context target, uintptr_t value, int has_vectors): switches as
// sennit_swapstack_call does, with rubbish in every register that a switch may change, in those it may not, and in
// the flags. What our own caller wants kept is on the stack above. The address of the result comes first.
    .text
    .globl torture_trash_and_swap
    .type torture_trash_and_swap, @function
torture_trash_and_swap:
    .cfi_startproc
    stmg %r6, %r15, 48(%r15)
    .cfi_offset %r14, -48
    .cfi_offset %r15, -40
    aghi %r15, -224
    .cfi_adjust_cfa_offset 224
    .irp n, 8, 9, 10, 11, 12, 13, 14, 15
    std %f\n, 160 + 8 * (\n - 8)(%r15)
    .endr
#if defined(__VX__)
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    vrepib %v\n, -3
    .endr
#endif
    llilf %r0, 0xdeadbe01
    .irp n, 1, 5, 6, 7, 8, 9, 10, 11, 12, 13
    lgr %r\n, %r0
    .endr
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    ldgr %f\n, %r0
    .endr
    cgr %r0, %r2
    brasl %r14, sennit_swapstack_call@PLT
    .irp n, 8, 9, 10, 11, 12, 13, 14, 15
    ld %f\n, 160 + 8 * (\n - 8)(%r15)
    .endr
    lmg %r6, %r15, 272(%r15)
    .cfi_adjust_cfa_offset -224
    br %r14
    .cfi_endproc
    .size torture_trash_and_swap, . - torture_trash_and_swap
    .section .note.GNU-stack, "", @progbits
