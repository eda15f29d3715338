// sennit_transfer torture_trash_and_swap(sennit_context target, uintptr_t value, int unused): switches as
// sennit_swapstack_call does, with rubbish in every register that a switch may change, in those it may not, and in
// the flags. What our own caller wants kept is on the stack above. The address of the result comes first.
    .syntax unified
    .arch armv7-a
    .fpu neon
    .arm
    .text
    .globl torture_trash_and_swap
    .type torture_trash_and_swap, %function
torture_trash_and_swap:
    .fnstart
    push {r4, r5, r6, r7, r8, r9, r10, r11, r12, lr}
    .save {r4, r5, r6, r7, r8, r9, r10, r11, r12, lr}
    vpush {d8-d15}
    .vsave {d8-d15}
    ldr r3, =0xdeadbe01
    .irp n, 4, 5, 6, 7, 8, 9, 10, 11, 12
    mov r\n, r3
    .endr
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    vmov d\n, r3, r4
    .endr
    cmp r3, r0
    bl sennit_swapstack_call
    vpop {d8-d15}
    pop {r4, r5, r6, r7, r8, r9, r10, r11, r12, pc}
    .ltorg
    .fnend
    .size torture_trash_and_swap, . - torture_trash_and_swap
    .section .note.GNU-stack, "", %progbits
