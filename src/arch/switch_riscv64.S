// The RISC-V 64 of switch.inc, which has the functions, and the out-of-line switch.
// include/sennit/detail/arch/riscv64.h draws the record and lists the registers.

#define RECORD 32           // SENNIT_RECORD_SIZE
#define RESUME 0
#define SLOW_STATE 32       // struct sennit_slow_state, and the alignment of stacks
#define FRAME 0
#define WORD 8

#define FROM a0
#define VALUE0 a1
#define VALUE1 a2
#define VALUE2 a3
#define VALUE3 a4
#define TARGET a5
#define BASE s1
#define SP sp
#define KEEP0 s2
#define KEEP1 s3
#define KEEP2 s4
#define KEEP3 s5
#define KEEP4 s6
#define TEMP t0
#define RETURN_ADDRESS ra
#define SP_BREG 0x72

.macro FUNCTION name
    .globl \name
    .type \name, %function
    .p2align 2
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
    mv \destination, \source
.endm

.macro SET_ZERO destination
    li \destination, 0
.endm

.macro SET_SUM destination, source, number
    addi \destination, \source, \number
.endm

.macro SET_LABEL destination, label
    lla \destination, \label
.endm

.macro LOAD destination, offset, base
    ld \destination, \offset(\base)
.endm

.macro STORE source, offset, base
    sd \source, \offset(\base)
.endm

.macro GO label
    j \label
.endm

.macro IF_ZERO_GO source, label
    beqz \source, \label
.endm

.macro CALL_C function
    call \function
.endm

.macro CALL_REGISTER function
    jalr \function
.endm

.macro CALL_FOR_DECISION
    jalr TARGET
    mv TARGET, a0           // and a1 is VALUE0
.endm

.macro PASS_FIFTH_ARGUMENT
.endm

.macro LOAD_TARGET
    ld t2, 0(a5)
    ld s0, 8(a5)
    ld s1, 16(a5)
    addi sp, a5, RECORD
.endm

.macro JUMP_TO_TARGET
    jr t2
.endm

.macro STOP
    ebreak
.endm

.macro CFI_CALLER_IN_RECORD
    .cfi_offset ra, -RECORD
    .cfi_offset s0, -RECORD + 8
    .cfi_offset s1, -RECORD + 16
.endm

.macro CFI_IN_TARGET
    .cfi_def_cfa sp, 0
    .cfi_register ra, t2
    .irp register, s0, s1
    .cfi_same_value \register
    .endr
.endm

.macro CFI_REST_UNDEFINED
    .irp register, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11
    .cfi_undefined \register
    .endr
.endm

#include "switch.inc"

// sennit_transfer sennit_swapstack_call(sennit_context target, uintptr_t value): the C ABI's form. What a call
// must preserve and the record does not hold goes above the record:
//
//      | caller's frame              | <- sp on entry
//      | fs11 ... fs0                |    handle + 120
//      | s11 ... s2, ra              |    handle + 32
//      | record                      | <- handle
#define SAVED 192

// Instruction on registers and their places relative to the end of the record.
.macro EACH_SAVED instruction, instruction_float
    \instruction ra, 0
    \instruction s2, 8
    \instruction s3, 16
    \instruction s4, 24
    \instruction s5, 32
    \instruction s6, 40
    \instruction s7, 48
    \instruction s8, 56
    \instruction s9, 64
    \instruction s10, 72
    \instruction s11, 80
#if defined(__riscv_float_abi_double)
    \instruction_float fs0, 88
    \instruction_float fs1, 96
    \instruction_float fs2, 104
    \instruction_float fs3, 112
    \instruction_float fs4, 120
    \instruction_float fs5, 128
    \instruction_float fs6, 136
    \instruction_float fs7, 144
    \instruction_float fs8, 152
    \instruction_float fs9, 160
    \instruction_float fs10, 168
    \instruction_float fs11, 176
#endif
.endm

.macro SAVE_INTEGER register, place
    sd \register, RECORD + \place(sp)
    .cfi_offset \register, \place - SAVED
.endm

.macro SAVE_FLOAT register, place
    fsd \register, RECORD + \place(sp)
    .cfi_offset \register, \place - SAVED
.endm

.macro LOAD_INTEGER register, place
    ld \register, \place(sp)
    .cfi_restore \register
.endm

.macro LOAD_FLOAT register, place
    fld \register, \place(sp)
    .cfi_restore \register
.endm

FUNCTION sennit_swapstack_call
    .cfi_startproc
    mv a5, a0
    addi sp, sp, -RECORD - SAVED
    .cfi_def_cfa_offset RECORD + SAVED
    lla t0, 1f
    sd t0, 0(sp)
    sd s0, 8(sp)
    sd s1, 16(sp)
    EACH_SAVED SAVE_INTEGER, SAVE_FLOAT
    la.tls.ie t0, sennit_thread
    add t0, t0, tp
    ld t0, 0(t0)
    ld t1, 0(t0)
    ld t0, 8(t0)
    or t0, t0, t1
    bnez t0, .Lsennit_swapstack_busy
    mv a0, sp
    .cfi_def_cfa a0, RECORD + SAVED
    .cfi_offset s0, 8 - RECORD - SAVED
    .cfi_offset s1, 16 - RECORD - SAVED
    LOAD_TARGET
    JUMP_TO_TARGET
    .cfi_def_cfa sp, SAVED
    .cfi_restore s0
    .cfi_restore s1
1:  EACH_SAVED LOAD_INTEGER, LOAD_FLOAT
    addi sp, sp, SAVED
    .cfi_def_cfa_offset 0
    mv t2, ra               // the matching call was left behind: through ra, it would be predicted wrongly
    jr t2
    .cfi_endproc
END sennit_swapstack_call
