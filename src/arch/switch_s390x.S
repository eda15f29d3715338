// The s390x of switch.inc, which has the functions, and the out-of-line switch.
// include/sennit/detail/arch/s390x.h draws the record and lists the registers.

#define RECORD 32           // SENNIT_RECORD_SIZE
#define RESUME 0
#define SLOW_STATE 32       // struct sennit_slow_state, and the alignment of stacks
#define FRAME 176           // where a function that is called saves registers, and below our own a result
#define WORD 8

#define FROM %r2
#define VALUE0 %r3
#define VALUE1 %r4
#define VALUE2 %r5
#define VALUE3 %r6
#define TARGET %r7
#define BASE %r12
#define SP %r15
#define KEEP0 %r8
#define KEEP1 %r9
#define KEEP2 %r10
#define KEEP3 %r6
#define KEEP4 %r7
#define TEMP %r0
#define RETURN_ADDRESS %r14
#define SP_BREG 0x7f

.macro FUNCTION name
    .globl \name
    .type \name, @function
    .p2align 3
\name:
.endm

.macro END name
    .size \name, . - \name
.endm

.macro LANDING name
.endm

.macro LANDING_RESUMED label
.endm

.macro SET destination, source
    lgr \destination, \source
.endm

.macro SET_ZERO destination
    lghi \destination, 0
.endm

.macro SET_SUM destination, source, number
    lay \destination, \number(\source)
.endm

.macro SET_LABEL destination, label
    larl \destination, \label
.endm

.macro LOAD destination, offset, base
    lg \destination, \offset(\base)
.endm

.macro STORE source, offset, base
    stg \source, \offset(\base)
.endm

.macro GO label
    jg \label
.endm

.macro IF_ZERO_GO source, label
    ltgr \source, \source
    jge \label
.endm

.macro CALL_C function
    lay %r15, -FRAME(%r15)
    .cfi_adjust_cfa_offset FRAME
    brasl %r14, \function@PLT
    lay %r15, FRAME(%r15)
    .cfi_adjust_cfa_offset -FRAME
.endm

.macro CALL_REGISTER function
    basr %r14, \function
.endm

// The decision is returned in memory, whose address goes before the arguments.
.macro CALL_FOR_DECISION
    lgr %r4, %r3
    lgr %r3, %r2
    la %r2, 160(%r15)
    basr %r14, %r7
    lg %r7, 160(%r15)
    lg %r3, 168(%r15)
.endm

.macro PASS_FIFTH_ARGUMENT
.endm

.macro LOAD_TARGET
    lg %r14, 0(%r7)
    lmg %r11, %r13, 8(%r7)
    la %r15, RECORD(%r7)
.endm

.macro JUMP_TO_TARGET
    br %r14
.endm

.macro STOP
    j . + 2                 // what compilers make for a trap
.endm

// On s390x a frame's CFA is not its caller's stack pointer, so that pointer has a rule, too.
// DW_CFA_val_offset r15 0
.macro CFI_CALLER_IN_RECORD
    .cfi_offset %r14, -RECORD
    .cfi_offset %r11, -RECORD + 8
    .cfi_offset %r12, -RECORD + 16
    .cfi_offset %r13, -RECORD + 24
    .cfi_escape 0x14, 15, 0
.endm

.macro CFI_IN_TARGET
    .cfi_def_cfa %r15, 0
    .irp register, %r14, %r11, %r12, %r13
    .cfi_same_value \register
    .endr
    .cfi_escape 0x14, 15, 0
.endm

.macro CFI_REST_UNDEFINED
    .irp register, %r6, %r7, %r8, %r9, %r10
    .cfi_undefined \register
    .endr
.endm

#include "switch.inc"

// sennit_transfer sennit_swapstack_call(sennit_context target, uintptr_t value): the C ABI's form, with the
// address of the result before the arguments. What a call must preserve and the record does not hold goes above
// the record, and where our caller lets us save registers:
//
//      | r15 ... r6                  | <- sp on entry + 48
//      | address of result           | <- sp on entry + 16
//      | f15 ... f8                  |    handle + 32
//      | record                      | <- handle
#define SAVED 64

FUNCTION sennit_swapstack_call
    .cfi_startproc
    stmg %r6, %r15, 48(%r15)
    .irp n, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    .cfi_offset \n, 8 * \n - 160
    .endr
    stg %r2, 16(%r15)
    aghi %r15, -RECORD - SAVED
    .cfi_adjust_cfa_offset RECORD + SAVED
    .irp n, 8, 9, 10, 11, 12, 13, 14, 15
    std %f\n, RECORD + 8 * (\n - 8)(%r15)
    .cfi_offset %f\n, 8 * (\n - 8) - SAVED - 160
    .endr
    larl %r0, 1f
    stg %r0, 0(%r15)
    stmg %r11, %r13, 8(%r15)
    lgr %r7, %r3
    lgr %r3, %r4
    ear %r8, %a0
    sllg %r8, %r8, 32
    ear %r8, %a1
    larl %r9, sennit_thread@indntpoff
    lg %r9, 0(%r9)
    lg %r9, 0(%r9, %r8)
    lg %r8, 0(%r9)
    og %r8, 8(%r9)
    jgne .Lsennit_swapstack_busy
    lgr %r2, %r15
    .cfi_def_cfa %r2, RECORD + SAVED + 160
    LOAD_TARGET
    JUMP_TO_TARGET
    .cfi_def_cfa %r15, SAVED + 160
1:
    .irp n, 8, 9, 10, 11, 12, 13, 14, 15
    ld %f\n, 8 * (\n - 8)(%r15)
    .cfi_restore %f\n
    .endr
    aghi %r15, SAVED
    .cfi_adjust_cfa_offset -SAVED
    lg %r1, 16(%r15)
    stg %r2, 0(%r1)
    stg %r3, 8(%r1)
    lmg %r6, %r14, 48(%r15)
    br %r14
    .cfi_endproc
END sennit_swapstack_call
