// The PowerPC 64 LE of switch.inc, which has the functions, and the out-of-line switch.
// include/sennit/detail/arch/ppc64le.h draws the record and lists the registers.

#define RECORD 320          // SENNIT_RECORD_SIZE
#define RESUME 0
#define SLOW_STATE 32       // struct sennit_slow_state, and the alignment of stacks
#define FRAME 32            // back chain, and room for cr, lr and r2
#define WORD 8

#define FROM 3
#define VALUE0 4
#define VALUE1 5
#define VALUE2 6
#define VALUE3 7
#define TARGET 8
#define BASE 30
#define SP 1
#define KEEP0 14
#define KEEP1 15
#define KEEP2 16
#define KEEP3 17
#define KEEP4 18
#define TEMP 9
#define RETURN_ADDRESS 65
#define SP_BREG 0x71

    .abiversion 2

.macro FUNCTION name
    .globl \name
    .type \name, @function
    .p2align 4
\name:
.endm

.macro END name
    .size \name, . - \name
.endm

// The table of contents, from r12: a caller that jumps here has our address in it.
.macro LANDING name
    LANDING_RESUMED \name
    .localentry \name, . - \name
.endm

.macro LANDING_RESUMED label
    addis 2, 12, .TOC.-\label@ha
    addi 2, 2, .TOC.-\label@l
.endm

.macro SET destination, source
    mr \destination, \source
.endm

.macro SET_ZERO destination
    li \destination, 0
.endm

.macro SET_SUM destination, source, number
    addi \destination, \source, \number
.endm

.macro SET_LABEL destination, label
    bcl 20, 31, 9f
9:  mflr \destination
    addi \destination, \destination, \label - 9b
.endm

.macro LOAD destination, offset, base
    ld \destination, \offset(\base)
.endm

.macro STORE source, offset, base
    std \source, \offset(\base)
.endm

.macro GO label
    b \label
.endm

.macro IF_ZERO_GO source, label
    cmpdi \source, 0
    beq \label
.endm

.macro CALL_C function
    addi 1, 1, -FRAME
    .cfi_adjust_cfa_offset FRAME
    bl \function
    nop
    addi 1, 1, FRAME
    .cfi_adjust_cfa_offset -FRAME
.endm

.macro CALL_REGISTER function
    mr 12, \function
    mtctr 12
    bctrl
.endm

.macro CALL_FOR_DECISION
    CALL_REGISTER TARGET
    mr TARGET, 3            // and r4 is VALUE0
.endm

.macro PASS_FIFTH_ARGUMENT
.endm

.macro LOAD_TARGET
    ld 12, 0(8)
    ld 31, 8(8)
    ld 30, 16(8)
    ld 2, 24(8)
    addi 1, 8, RECORD
.endm

.macro JUMP_TO_TARGET
    mtctr 12
    bctr
.endm

.macro STOP
    trap
.endm

.macro CFI_CALLER_IN_RECORD
    .cfi_offset RETURN_ADDRESS, -RECORD
    .cfi_offset 31, -RECORD + 8
    .cfi_offset 30, -RECORD + 16
    .cfi_offset 2, -RECORD + 24
.endm

.macro CFI_IN_TARGET
    .cfi_def_cfa 1, 0
    .cfi_register RETURN_ADDRESS, 12
    .irp register, 31, 30, 2
    .cfi_same_value \register
    .endr
.endm

.macro CFI_REST_UNDEFINED
    .irp register, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29
    .cfi_undefined \register
    .endr
.endm

#include "switch.inc"

// sennit_transfer sennit_swapstack_call(sennit_context target, uintptr_t value): the C ABI's form. What a call
// must preserve and the record does not hold goes above the record:
//
//      | caller's frame: lr at 16, cr at 8 | <- sp on entry
//      | v31 ... v20                       |    handle + 592
//      | f31 ... f14                       |    handle + 448
//      | r29 ... r14                       |    handle + 320
//      | record, and a gap where the inline form has a red zone | <- handle
#define SAVED 464

FUNCTION sennit_swapstack_call
    .cfi_startproc
    LANDING sennit_swapstack_call
    mflr 0
    std 0, 16(1)
    .cfi_offset RETURN_ADDRESS, 16
    mfcr 0
    std 0, 8(1)
    .cfi_offset 70, 8
    mr 8, 3
    addi 1, 1, -RECORD - SAVED
    .cfi_def_cfa_offset RECORD + SAVED
    SET_LABEL 9, 1f
    std 9, 0(1)
    std 31, 8(1)
    std 30, 16(1)
    std 2, 24(1)
    .irp n, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29
    std \n, RECORD + 8 * (\n - 14)(1)
    .cfi_offset \n, 8 * (\n - 14) - SAVED
    .endr
    .irp n, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    stfd \n, RECORD + 128 + 8 * (\n - 14)(1)
    .cfi_offset 32 + \n, 128 + 8 * (\n - 14) - SAVED
    .endr
    .irp n, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    li 11, RECORD + 272 + 16 * (\n - 20)
    stvx \n, 1, 11
    .cfi_offset 77 + \n, 272 + 16 * (\n - 20) - SAVED
    .endr
    addis 9, 2, sennit_thread@got@tprel@ha
    ld 9, sennit_thread@got@tprel@l(9)
    add 9, 9, sennit_thread@tls
    ld 9, 0(9)
    ld 10, 0(9)
    ld 9, 8(9)
    or. 9, 9, 10
    bne- 0, .Lsennit_swapstack_busy
    mr 3, 1
    .cfi_def_cfa 3, RECORD + SAVED
    .cfi_offset 31, 8 - RECORD - SAVED
    .cfi_offset 30, 16 - RECORD - SAVED
    .cfi_offset 2, 24 - RECORD - SAVED
    LOAD_TARGET
    JUMP_TO_TARGET
    .cfi_def_cfa 1, SAVED
    .cfi_restore 31
    .cfi_restore 30
    .cfi_restore 2
1:
    .irp n, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29
    ld \n, 8 * (\n - 14)(1)
    .cfi_restore \n
    .endr
    .irp n, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    lfd \n, 128 + 8 * (\n - 14)(1)
    .cfi_restore 32 + \n
    .endr
    .irp n, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    li 11, 272 + 16 * (\n - 20)
    lvx \n, 1, 11
    .cfi_restore 77 + \n
    .endr
    addi 1, 1, SAVED
    .cfi_def_cfa_offset 0
    ld 0, 8(1)
    mtcr 0
    ld 0, 16(1)
    mtlr 0
    mtctr 0                 // the matching call was left behind: `blr` would be predicted wrongly
    bctr
    .cfi_endproc
END sennit_swapstack_call
