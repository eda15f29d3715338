// The AArch64 of switch.inc, which has the functions, and the out-of-line switch.
// include/sennit/detail/arch/aarch64.h draws the record and lists the registers.

#define RECORD 32           // SENNIT_RECORD_SIZE
#define RESUME 0
#define SLOW_STATE 32       // struct sennit_slow_state, and the alignment of stacks
#define FRAME 0
#define WORD 8

#define FROM x0
#define VALUE0 x1
#define VALUE1 x2
#define VALUE2 x3
#define VALUE3 x4
#define TARGET x5
#define BASE x19
#define SP sp
#define KEEP0 x20
#define KEEP1 x21
#define KEEP2 x22
#define KEEP3 x23
#define KEEP4 x24
#define TEMP x10
#define RETURN_ADDRESS x30
#define SP_BREG 0x8f

#if defined(__ARM_FEATURE_BTI_DEFAULT)
#define LANDING_JUMP bti j
#define LANDING_CALL bti c
// A return address holds no landing; only `ret` may go there.
#define LEAVE_FOR_RETURN_ADDRESS ret
#else
#define LANDING_JUMP
#define LANDING_CALL
// The matching call was left behind on another context's round: a `ret` would be predicted wrongly.
#define LEAVE_FOR_RETURN_ADDRESS br x30
#endif

.macro FUNCTION name
    .globl \name
    .type \name, %function
    .p2align 4
\name:
.endm

.macro END name
    .size \name, . - \name
.endm

.macro LANDING name
    LANDING_JUMP
.endm

.macro LANDING_RESUMED label
    LANDING_JUMP
.endm

.macro SET destination, source
    mov \destination, \source
.endm

.macro SET_ZERO destination
    mov \destination, xzr
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
    cbz \source, \label
.endm

.macro CALL_C function
    bl \function
.endm

.macro CALL_REGISTER function
    blr \function
.endm

.macro CALL_FOR_DECISION
    blr TARGET
    mov TARGET, x0          // and x1 is VALUE0
.endm

.macro PASS_FIFTH_ARGUMENT
.endm

#define HAS_SWAPSTACK8 1
.macro PASS_EIGHT_WORDS
    mov x5, x25
    mov x6, x26
    mov x7, x27
    str x28, [sp, #-16]!
.endm

.macro LOAD_TARGET
    ldp x16, x29, [x5]
    ldr x19, [x5, #16]
    add sp, x5, #RECORD
.endm

.macro JUMP_TO_TARGET
    br x16
.endm

.macro STOP
    brk #1
.endm

.macro CFI_CALLER_IN_RECORD
    .cfi_offset x30, -RECORD
    .cfi_offset x29, -RECORD + 8
    .cfi_offset x19, -RECORD + 16
.endm

.macro CFI_IN_TARGET
    .cfi_def_cfa sp, 0
    .cfi_register x30, x16
    .irp register, x29, x19
    .cfi_same_value \register
    .endr
.endm

.macro CFI_REST_UNDEFINED
    .irp register, x20, x21, x22, x23, x24, x25, x26, x27, x28
    .cfi_undefined \register
    .endr
.endm

#include "switch.inc"

// sennit_transfer sennit_swapstack_call(sennit_context target, uintptr_t value): the C ABI's form. What a call
// must preserve and the record does not hold goes above the record:
//
//      | caller's frame              | <- sp on entry
//      | d15 ... d8                  |    handle + 112
//      | x30, x28 ... x20            |    handle + 32
//      | record                      | <- handle
#define SAVED 144

// Instruction on pairs of registers and their places relative to the end of the record.
.macro SAVED_PAIRS instruction
    \instruction x20, x21, 0
    \instruction x22, x23, 16
    \instruction x24, x25, 32
    \instruction x26, x27, 48
    \instruction x28, x30, 64
    \instruction d8, d9, 80
    \instruction d10, d11, 96
    \instruction d12, d13, 112
    \instruction d14, d15, 128
.endm

.macro SAVE_PAIR first, second, place
    stp \first, \second, [sp, #RECORD + \place]
    .cfi_offset \first, \place - SAVED
    .cfi_offset \second, \place + 8 - SAVED
.endm

.macro LOAD_PAIR first, second, place
    ldp \first, \second, [sp, #\place]
    .cfi_restore \first
    .cfi_restore \second
.endm

FUNCTION sennit_swapstack_call
    .cfi_startproc
    LANDING_CALL
    mov x5, x0
    sub sp, sp, #RECORD + SAVED
    .cfi_def_cfa_offset RECORD + SAVED
    adr x9, 1f
    stp x9, x29, [sp]
    str x19, [sp, #16]
    SAVED_PAIRS SAVE_PAIR
    mrs x10, tpidr_el0
    adrp x11, :gottprel:sennit_thread
    ldr x11, [x11, #:gottprel_lo12:sennit_thread]
    ldr x10, [x10, x11]
    ldp x10, x11, [x10]
    orr x10, x10, x11
    cbz x10, 2f
    b .Lsennit_swapstack_busy
2:  mov x0, sp
    .cfi_def_cfa x0, RECORD + SAVED
    .cfi_offset x29, 8 - RECORD - SAVED
    .cfi_offset x19, 16 - RECORD - SAVED
    LOAD_TARGET
    JUMP_TO_TARGET
    .cfi_def_cfa sp, SAVED
    .cfi_restore x29
    .cfi_restore x19
1:  LANDING_JUMP
    SAVED_PAIRS LOAD_PAIR
    add sp, sp, #SAVED
    .cfi_def_cfa_offset 0
    LEAVE_FOR_RETURN_ADDRESS
    .cfi_endproc
END sennit_swapstack_call

// A call on another stack (call_on_stack.hpp). In: x0 = its top, 16-aligned; x1 = the function; x2 = its argument. As on
// x86-64.
FUNCTION sennit_call_on_stack
    .cfi_startproc
    LANDING_CALL
    stp x29, x30, [sp, -16]!
    .cfi_def_cfa_offset 16
    .cfi_offset x29, -16
    .cfi_offset x30, -8
    mov x29, sp
    .cfi_def_cfa_register x29
    mov sp, x0
    mov x0, x2
    blr x1
    mov sp, x29
    .cfi_def_cfa_register sp
    ldp x29, x30, [sp], 16
    .cfi_def_cfa_offset 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
END sennit_call_on_stack

#if defined(__ARM_FEATURE_BTI_DEFAULT)
// The linker marks a program as checked for landings only if every object is marked so.
    .section .note.gnu.property, "a", @note
    .p2align 3
    .word 4, 16, 5
    .asciz "GNU"
    .word 0xc0000000, 4, 1, 0   // GNU_PROPERTY_AARCH64_FEATURE_1_AND: BTI
#endif
