// sennit_transfer torture_trash_and_swap(sennit_context target, uint64_t value, int unused): switches as
// sennit_swapstack_call does, with rubbish in every register that a switch may change, in those it may not, and in
// the flags. What our own caller wants kept is on the stack above.
    .text
    .globl torture_trash_and_swap
    .type torture_trash_and_swap, %function
torture_trash_and_swap:
    .cfi_startproc
    hint #34                // bti c
    sub sp, sp, #160
    .cfi_adjust_cfa_offset 160
    stp x29, x30, [sp]
    .cfi_rel_offset x29, 0
    .cfi_rel_offset x30, 8
    stp x19, x20, [sp, #16]
    stp x21, x22, [sp, #32]
    stp x23, x24, [sp, #48]
    stp x25, x26, [sp, #64]
    stp x27, x28, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    cbz w2, 1f              // does this CPU have SVE?
    .arch_extension sve
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    ptrue p\n\().b
    .endr
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    dup z\n\().b, #0x5a
    .endr
    setffr
    .arch_extension nosve
1:
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    movi v\n\().16b, #0xa5
    .endr
    mov x2, #0xbe01
    movk x2, #0xdead, lsl #32
    .irp n, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29
    mov x\n, x2
    .endr
    cmp x2, x0
    bl sennit_swapstack_call
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
    add sp, sp, #160
    .cfi_adjust_cfa_offset -160
    ret
    .cfi_endproc
    .size torture_trash_and_swap, . - torture_trash_and_swap
    .section .note.GNU-stack, "", @progbits
