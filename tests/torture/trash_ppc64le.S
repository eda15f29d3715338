// sennit_transfer torture_trash_and_swap(sennit_context target, uintptr_t value, int unused): switches as
// sennit_swapstack_call does, with rubbish in every register that a switch may change, and in those it may not.
// What our own caller wants kept is on the stack above.
    .abiversion 2
    .text
    .globl torture_trash_and_swap
    .type torture_trash_and_swap, @function
torture_trash_and_swap:
    .cfi_startproc
    addis 2, 12, .TOC.-torture_trash_and_swap@ha
    addi 2, 2, .TOC.-torture_trash_and_swap@l
    .localentry torture_trash_and_swap, .-torture_trash_and_swap
    mflr 0
    std 0, 16(1)
    .cfi_offset 65, 16
    mfcr 0
    std 0, 8(1)
    stdu 1, -528(1)
    .cfi_adjust_cfa_offset 528
    .irp n, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    std \n, 32 + 8 * (\n - 14)(1)
    stfd \n, 176 + 8 * (\n - 14)(1)
    .endr
    .irp n, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    li 11, 320 + 16 * (\n - 20)
    stvx \n, 1, 11
    .endr
    lis 5, 0xdead
    ori 5, 5, 0xbe01
    .irp n, 0, 6, 7, 8, 9, 10, 11, 12, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    mr \n, 5
    .endr
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    vspltisw \n, -3
    mtvsrd \n, 5
    .endr
    mtctr 5
    mtcr 5
    bl sennit_swapstack_call
    nop
    .irp n, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    ld \n, 32 + 8 * (\n - 14)(1)
    lfd \n, 176 + 8 * (\n - 14)(1)
    .endr
    .irp n, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    li 11, 320 + 16 * (\n - 20)
    lvx \n, 1, 11
    .endr
    addi 1, 1, 528
    .cfi_adjust_cfa_offset -528
    ld 0, 8(1)
    mtcr 0
    ld 0, 16(1)
    mtlr 0
    blr
    .cfi_endproc
    .size torture_trash_and_swap, . - torture_trash_and_swap
    .section .note.GNU-stack, "", @progbits
