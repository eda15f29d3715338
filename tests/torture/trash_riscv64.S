// sennit_transfer torture_trash_and_swap(sennit_context target, uintptr_t value, int has_vectors): switches as
// sennit_swapstack_call does, with rubbish in every register that a switch may change, and in those it may not.
// What our own caller wants kept is on the stack above.
    .text
    .globl torture_trash_and_swap
    .type torture_trash_and_swap, %function
torture_trash_and_swap:
    .cfi_startproc
    addi sp, sp, -208
    .cfi_adjust_cfa_offset 208
    sd ra, 0(sp)
    .cfi_rel_offset ra, 0
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
    sd s\n, 8 + 8 * \n(sp)
    fsd fs\n, 104 + 8 * \n(sp)
    .endr
#if defined(__riscv_vector)
    beqz a2, 1f
    vsetvli a2, zero, e8, m8, ta, ma
    .irp n, 0, 8, 16, 24
    vmv.v.i v\n, -3
    .endr
1:
#endif
    li a2, 0xdeadbe01
    .irp r, a3, a4, a5, a6, a7, t0, t1, t2, t3, t4, t5, t6, s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11
    mv \r, a2
    .endr
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7
    fmv.d.x fa\n, a2
    .endr
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
    fmv.d.x ft\n, a2
    fmv.d.x fs\n, a2
    .endr
    call sennit_swapstack_call
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
    ld s\n, 8 + 8 * \n(sp)
    fld fs\n, 104 + 8 * \n(sp)
    .endr
    ld ra, 0(sp)
    addi sp, sp, 208
    .cfi_adjust_cfa_offset -208
    ret
    .cfi_endproc
    .size torture_trash_and_swap, . - torture_trash_and_swap
    .section .note.GNU-stack, "", %progbits
