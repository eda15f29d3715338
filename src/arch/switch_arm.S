// The ARM of switch.inc, which has the functions, and the out-of-line switch: all in ARM state.
// include/sennit/detail/arch/arm.h draws the record and lists the registers.

#define RECORD 16           // SENNIT_RECORD_SIZE
#define RESUME 12
#define SLOW_STATE 16       // struct sennit_slow_state
#define FRAME 8             // a fifth argument, or a result
#define WORD 4

#define FROM r0
#define VALUE0 r1
#define VALUE1 r2
#define VALUE2 r3
#define VALUE3 r4
#define TARGET r5
#define BASE r6
#define SP sp
#define KEEP0 r8
#define KEEP1 r9
#define KEEP2 r10
#define KEEP3 r4
#define KEEP4 r5
#define TEMP r12
#define RETURN_ADDRESS lr
#define SP_BREG 0x7d

    .syntax unified
    .arch armv7-a
    .arm
    .cfi_sections .debug_frame  // for debuggers; exceptions go by .fnstart and what follows it

.macro FUNCTION name
    .globl \name
    .type \name, %function
    .p2align 2
\name:
    .fnstart
.endm

.macro END name
    .fnend
    .size \name, . - \name
.endm

// Unwind instructions: 0x80 0x01 is pop {r4}, 0x94 sp = r4, 0x88 0x8c pop {r6, r7, r11, pc}, a number below 0x40 adds
// four more than four times itself to sp.
.macro EHABI_PERSONALITY
    .personality sennit_entry_personality
.endm

.macro EHABI_END_PERSONALITY
    .handlerdata
.endm

.macro EHABI_NO_CALLER
    .unwind_raw 0, 0x80, 0x00   // refuse to unwind
.endm

.macro EHABI_CALLER_IS_CONTEXT_AT offset
    .unwind_raw 0, ((\offset) - 4) / 4, 0x80, 0x01, 0x94, 0x88, 0x8c
.endm

.macro EHABI_CALLER_IN_RECORD_AT offset
    .unwind_raw 0, ((\offset) - 4) / 4, 0x88, 0x8c
.endm

.macro LANDING name
.endm

.macro LANDING_RESUMED label
.endm

.macro SET destination, source
    mov \destination, \source
.endm

.macro SET_ZERO destination
    mov \destination, #0
.endm

.macro SET_SUM destination, source, number
    add \destination, \source, #(\number)
.endm

.macro SET_LABEL destination, label
    adr \destination, \label
.endm

.macro LOAD destination, offset, base
    ldr \destination, [\base, #(\offset)]
.endm

.macro STORE source, offset, base
    str \source, [\base, #(\offset)]
.endm

.macro GO label
    b \label
.endm

.macro IF_ZERO_GO source, label
    cmp \source, #0
    beq \label
.endm

.macro CALL_C function
    bl \function
.endm

.macro CALL_REGISTER function
    blx \function
.endm

// The decision is returned in memory, whose address goes before the arguments.
.macro CALL_FOR_DECISION
    mov r2, r1
    mov r1, r0
    mov r0, sp
    blx r5
    ldr r5, [sp]
    ldr r1, [sp, #4]
.endm

.macro PASS_FIFTH_ARGUMENT
    str r4, [sp]
.endm

.macro LOAD_TARGET
    ldm r5!, {r6, r7, r11, r12}
    mov sp, r5
.endm

.macro JUMP_TO_TARGET
    bx r12
.endm

.macro STOP
    udf #0
.endm

.macro CFI_CALLER_IN_RECORD
    .cfi_offset r6, -RECORD
    .cfi_offset r7, -RECORD + 4
    .cfi_offset r11, -RECORD + 8
    .cfi_offset lr, -RECORD + 12
.endm

.macro CFI_IN_TARGET
    .cfi_def_cfa sp, 0
    .cfi_register lr, r12
    .irp register, r6, r7, r11
    .cfi_same_value \register
    .endr
.endm

.macro CFI_REST_UNDEFINED
    .irp register, r4, r5, r8, r9, r10
    .cfi_undefined \register
    .endr
.endm

#include "switch.inc"

// sennit_transfer sennit_swapstack_call(sennit_context target, uintptr_t value): the C ABI's form. What a call
// must preserve and the record does not hold goes above the record, and where the result goes:
//
//      | caller's frame              | <- sp on entry
//      | lr, r10, r9, r8, r5, r4     |    handle + 88
//      | unused, address of result   |    handle + 80
//      | d15 ... d8                  |    handle + 16
//      | record                      | <- handle
#define SAVED 96

FUNCTION sennit_swapstack_call
    .cfi_startproc
    push {r4, r5, r8, r9, r10, lr}
    .save {r4, r5, r8, r9, r10, lr}
    .cfi_def_cfa_offset 24
    .cfi_offset r4, -24
    .cfi_offset r5, -20
    .cfi_offset r8, -16
    .cfi_offset r9, -12
    .cfi_offset r10, -8
    .cfi_offset lr, -4
    push {r0, r1}
    .pad #8
    .cfi_def_cfa_offset 32
#if defined(__ARM_FP)
    .fpu vfpv3
    vpush {d8-d15}
    .vsave {d8-d15}
#else
    sub sp, sp, #64
    .pad #64
#endif
    .cfi_def_cfa_offset SAVED
    mov r5, r1
    mov r1, r2
    adr r12, 1f
    push {r6, r7, r11, r12}
    .cfi_def_cfa_offset RECORD + SAVED
    ldr r8, 3f
    mrc p15, 0, r9, c13, c0, 3
4:  add r8, pc, r8
    ldr r8, [r8]
    ldr r8, [r9, r8]
    ldm r8, {r8, r9, r10}
    orr r8, r8, r9
    orrs r8, r8, r10
    bne .Lsennit_swapstack_busy
    mov r0, sp
    .cfi_def_cfa r0, RECORD + SAVED
    .cfi_offset r6, 0 - RECORD - SAVED
    .cfi_offset r7, 4 - RECORD - SAVED
    .cfi_offset r11, 8 - RECORD - SAVED
    LOAD_TARGET
    JUMP_TO_TARGET
3:  .word sennit_thread(gottpoff) + (. - 4b - 8)
    .cfi_def_cfa sp, SAVED
    .cfi_restore r6
    .cfi_restore r7
    .cfi_restore r11
1:
#if defined(__ARM_FP)
    vpop {d8-d15}
#else
    add sp, sp, #64
#endif
    .cfi_def_cfa_offset 32
    pop {r2, r3}
    .cfi_def_cfa_offset 24
    str r0, [r2]
    str r1, [r2, #4]
    pop {r4, r5, r8, r9, r10, r12}
    .cfi_def_cfa_offset 0
    .cfi_register lr, r12
    bx r12                  // the matching call was left behind: through lr, it would be predicted wrongly
    .cfi_endproc
END sennit_swapstack_call
