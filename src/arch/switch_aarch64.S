// The parts of the AArch64 switch that cannot be inline: a stack's first frame, the out-of-line switch, the
// way round busy exception globals, and the decider's call. include/sennit/detail/arch/aarch64.h draws the
// record and lists the registers.

#define RECORD 32           // SENNIT_RECORD_SIZE

#if defined(__ARM_FEATURE_BTI_DEFAULT)
#define LANDING bti j
#define LANDING_CALL bti c
// A return address holds no landing; only `ret` may go there.
#define LEAVE_FOR_RETURN_ADDRESS ret
#else
#define LANDING
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

// Resume x5; x0 tells it who left.
.macro ENTER
    ldp x16, x29, [x5]
    ldr x19, [x5, #16]
    add sp, x5, #RECORD
    br x16
.endm

// In: sp = a record. The caller's registers are in it.
.macro CFI_CALLER_IN_RECORD
    .cfi_offset x30, -RECORD
    .cfi_offset x29, -RECORD + 8
    .cfi_offset x19, -RECORD + 16
.endm

// The frame's caller is the context whose handle lies at [sp]: its registers are in that context's record.
// DW_CFA_def_cfa_expression { DW_OP_breg31 (sp) 0; DW_OP_deref; DW_OP_plus_uconst 32 }
.macro CFI_CALLER_IS_CONTEXT_AT_SP
    .cfi_escape 0x0f, 0x05, 0x8f, 0x00, 0x06, 0x23, 0x20
    CFI_CALLER_IN_RECORD
    .irp register, x20, x21, x22, x23, x24, x25, x26, x27, x28
    .cfi_undefined \register
    .endr
.endm

    .text

// First frame of a context without a resumer. In: x19 = the entry function, x0 to x4 = its arguments, sp = the
// 16-aligned top. A backtrace ends here: the return address is undefined. Marked as a signal frame so that
// debuggers accept that the next frame, if any, lies elsewhere, and look up exact pcs.
FUNCTION sennit_enter_root
    .cfi_startproc
    .cfi_signal_frame
    .cfi_personality 0x9b, sennit_entry_personality_pointer
    .cfi_undefined x30
    LANDING
    blr x19
    brk #1                  // an entry function does not return
    .cfi_endproc
END sennit_enter_root

// First frame of a context with a resumer, whose handle is kept at [sp].
FUNCTION sennit_enter_linked
    .cfi_startproc
    .cfi_signal_frame
    .cfi_personality 0x9b, sennit_entry_personality_pointer
    CFI_CALLER_IS_CONTEXT_AT_SP
    LANDING
    blr x19
    brk #1
    .cfi_endproc
END sennit_enter_linked

// First frame of a context of rounds. It stands below the record it was entered by, which is so kept for the
// next time. In: sp = the 16-aligned top; the function is the second word there.
FUNCTION sennit_enter_rounds
    .cfi_startproc
    .cfi_signal_frame
    .cfi_personality 0x9b, sennit_entry_personality_pointer
    .cfi_undefined x30
    LANDING
    mov x0, sp
    sub sp, sp, #RECORD
    ldr x9, [x0, #8]
    blr x9
    mov x5, x0
    mov x0, xzr             // nobody left whom the target could resume
    ENTER
    .cfi_endproc
END sennit_enter_rounds

// First frame of a server: as of a context of rounds, with a resumer, whose handle is kept at the top. The
// exception globals are zero at the end of a request: all its handlers are left.
// DW_CFA_def_cfa_expression { DW_OP_breg31 (sp) 32; DW_OP_deref; DW_OP_plus_uconst 32 }
FUNCTION sennit_serve
    .cfi_startproc
    .cfi_signal_frame
    .cfi_personality 0x9b, sennit_entry_personality_pointer
    CFI_CALLER_IS_CONTEXT_AT_SP
    LANDING
    mov x0, sp
    sub sp, sp, #RECORD
    .cfi_escape 0x0f, 0x05, 0x8f, 0x20, 0x06, 0x23, 0x20
    ldr x9, [x0, #24]       // action
    blr x9
    ldr x5, [sp, #RECORD]   // resumer
    mov x9, sp
    str x9, [sp, #RECORD + 16]      // context
    mov x0, xzr             // told by this that the request is done
    ENTER
    .cfi_endproc
END sennit_serve

// Decide who runs next. In: sp = the leaver's record, x5 = decider, x1 = its argument, x2 = the stack to decide
// on. The decider's call and return are balanced; the way into the next context is a jump.
FUNCTION sennit_suspend_decide
    .cfi_startproc
    .cfi_signal_frame
    .cfi_personality 0x9b, sennit_entry_personality_pointer
    .cfi_def_cfa sp, RECORD
    CFI_CALLER_IN_RECORD    // the leaver, until we stand on the decider's stack
    LANDING
    mov x0, sp
    mov sp, x2
    CFI_CALLER_IS_CONTEXT_AT_SP
    blr x5
    mov x5, x0
    mov x0, xzr             // the leaver is filed somewhere: nobody left for the target to resume
    ENTER
    .cfi_endproc
END sennit_suspend_decide

// The exception globals are not zero, or this thread's address of them is not known yet. In: sp = our record,
// all registers but x1 to x5 free. If they are busy, two words and a second record go below the first one:
//
//      | first record                | <- sp + 16     its resume address is the user's
//      | uncaught                    |    sp + 8
//      | caught                      | <- sp = second handle + 32
//      | x19, x29: not used          |
//      | resume address: label 3     | <- second handle
.macro BUSY name
FUNCTION \name
    .cfi_startproc
    .cfi_signal_frame       // the caller's pc is a resume address, exactly
    .cfi_def_cfa sp, RECORD
    CFI_CALLER_IN_RECORD
    LANDING
    mov x20, x1
    mov x21, x2
    mov x22, x3
    mov x23, x4
    mov x24, x5
    bl sennit_exceptions_lookup
    ldp x10, x11, [x0]
    orr x9, x10, x11
    cbz x9, 4f              // only the address was missing
    str xzr, [x0]
    str wzr, [x0, #8]
    sub sp, sp, #RECORD + 16
    .cfi_def_cfa_offset 2 * RECORD + 16
    stp x10, x11, [sp, #RECORD]
    adr x9, 3f
    str x9, [sp]
4:  mov x1, x20
    mov x2, x21
    mov x3, x22
    mov x4, x23
    mov x5, x24
.endm

// The second half: resumed, the globals of the thread that we run on now get our pair; the values pass through.
.macro BUSY_RESUMED name
    .cfi_def_cfa sp, RECORD + 16
3:  LANDING
    mov x20, x1
    mov x21, x2
    mov x22, x3
    mov x23, x4
    mov x24, x0
    bl sennit_exceptions_lookup
    ldp x10, x11, [sp], #16
    .cfi_def_cfa_offset RECORD
    str x10, [x0]
    str w11, [x0, #8]
    mov x0, x24
    mov x1, x20
    mov x2, x21
    mov x3, x22
    mov x4, x23
    mov x5, sp
    .cfi_def_cfa x5, RECORD
    ENTER
    .cfi_endproc
END \name
.endm

BUSY sennit_swapstack_busy
    mov x0, sp
    ENTER
BUSY_RESUMED sennit_swapstack_busy

BUSY sennit_swapstack_linking_busy
    mov x0, sp
    str x0, [x2]
    ENTER
BUSY_RESUMED sennit_swapstack_linking_busy

BUSY sennit_swapstack_filed_busy
    mov x0, sp
    str x0, [x2]
    mov x0, xzr
    ENTER
BUSY_RESUMED sennit_swapstack_filed_busy

BUSY sennit_suspend_busy
    b sennit_suspend_decide
BUSY_RESUMED sennit_suspend_busy

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

.macro SAVE first, second, place
    stp \first, \second, [sp, #RECORD + \place]
    .cfi_offset \first, \place - SAVED
    .cfi_offset \second, \place + 8 - SAVED
.endm

.macro LOAD first, second, place
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
    SAVED_PAIRS SAVE
    mrs x10, tpidr_el0
    adrp x11, :gottprel:sennit_thread
    ldr x11, [x11, #:gottprel_lo12:sennit_thread]
    ldr x10, [x10, x11]
    ldp x10, x11, [x10]
    orr x10, x10, x11
    cbz x10, 2f
    b sennit_swapstack_busy
2:  mov x0, sp
    ENTER
    .cfi_def_cfa sp, SAVED
1:  LANDING
    SAVED_PAIRS LOAD
    add sp, sp, #SAVED
    .cfi_def_cfa_offset 0
    LEAVE_FOR_RETURN_ADDRESS
    .cfi_endproc
END sennit_swapstack_call

    .section .data.rel.ro, "aw", @progbits
    .p2align 4
// A record whose backtrace ends at once: what a linked context has before it was resumed.
    .globl sennit_no_resumer
    .type sennit_no_resumer, @object
sennit_no_resumer:
    .quad sennit_enter_root, 0, 0, 0
    .size sennit_no_resumer, . - sennit_no_resumer
sennit_entry_personality_pointer:
    .quad sennit_entry_personality

#if defined(__ARM_FEATURE_BTI_DEFAULT)
// The linker marks a program as checked for landings only when every object says that it has them.
    .section .note.gnu.property, "a", @note
    .p2align 3
    .word 4, 16, 5
    .asciz "GNU"
    .word 0xc0000000, 4, 1, 0   // GNU_PROPERTY_AARCH64_FEATURE_1_AND: BTI
#endif

    .section .note.GNU-stack, "", @progbits
