// The parts of the x86-64 switch that cannot be inline: a stack's first frame, the out-of-line switch, the slow
// path for non-zero exception globals, and the call of a scheduler step. include/sennit/detail/arch/x86_64.h draws
// the record and lists the registers.

#define RECORD 152          // SENNIT_RECORD_SIZE
#define RED_ZONE 128
#define SLOW_STATE 32       // struct sennit_slow_state, and the alignment of stacks

#if defined(__CET__) && (__CET__ & 1)
#define LANDING endbr64
#define LEAVE_FOR_RETURN_ADDRESS notrack jmpq   // a return address holds no endbr64
#else
#define LANDING
#define LEAVE_FOR_RETURN_ADDRESS jmpq
#endif

.macro FUNCTION name
    .globl \name
    .type \name, @function
    .p2align 4
\name:
.endm

.macro END name
    .size \name, . - \name
.endm

// Leave for the context in rax; rsp is ours until it has arrived. As SENNIT_ASM_ENTER.
.macro ENTER
    jmpq *(%rax)
.endm

// The caller's registers are in the record that ends at the frame's CFA. It is suspended with the handle in rax, as
// its landing's unwind rules want it: DW_CFA_val_expression rax { CFA; DW_OP_const1u 152; DW_OP_minus }. (libunwind
// knows no DW_CFA_val_offset.)
.macro CFI_CALLER_IN_RECORD
    .cfi_offset rip, -RECORD
    .cfi_offset rbp, -RECORD + 8
    .cfi_offset rbx, -RECORD + 16
    .cfi_escape 0x16, 0, 3, 0x08, RECORD, 0x1c
.endm

// The frame's caller is the context whose handle lies at (rsp): its registers are in that context's record.
// DW_CFA_def_cfa_expression { DW_OP_breg7 (rsp) 0; DW_OP_deref; DW_OP_plus_uconst 152 }
.macro CFI_CALLER_IS_CONTEXT_AT_RSP
    .cfi_escape 0x0f, 0x06, 0x77, 0x00, 0x06, 0x23, 0x98, 0x01
    CFI_CALLER_IN_RECORD
    .cfi_undefined r12
    .cfi_undefined r13
    .cfi_undefined r14
    .cfi_undefined r15
.endm

// Like the rule above, before the frame is entered: that handle lies above the record in rax.
// DW_CFA_def_cfa_expression { DW_OP_breg0 (rax) 152; DW_OP_deref; DW_OP_plus_uconst 152 }
.macro CFI_CALLER_IS_CONTEXT_ABOVE_RAX
    .cfi_escape 0x0f, 0x07, 0x70, 0x98, 0x01, 0x06, 0x23, 0x98, 0x01
    CFI_CALLER_IN_RECORD
.endm

    .text

// First frame of a context without a resumer. In: rax = its record, which holds the entry function in rbx's
// place, rdi, rsi, rdx, rcx, r8 = that one's arguments. A backtrace ends here: the return address is undefined.
// Marked as a signal frame so that debuggers accept that the next frame, if any, lies elsewhere, and look up
// exact pcs.
FUNCTION sennit_enter_root
    .cfi_startproc
    .cfi_signal_frame
    .cfi_personality 0x9b, sennit_entry_personality_pointer
    .cfi_undefined rip
    LANDING
    movq 8(%rax), %rbp
    movq 16(%rax), %r11
    leaq RECORD(%rax), %rsp // last: a signal handler may write where the record was
    callq *%r11
    .globl sennit_entered_root
sennit_entered_root:        // the return address for a jump to a known entry function
    ud2                     // an entry function does not return
    .cfi_endproc
END sennit_enter_root

// The same for an entry function with eight words, the others in r12 to r15.
FUNCTION sennit_enter_root8
    .cfi_startproc
    .cfi_signal_frame
    .cfi_personality 0x9b, sennit_entry_personality_pointer
    .cfi_undefined rip
    LANDING
    movq 8(%rax), %rbp
    movq 16(%rax), %r11
    leaq RECORD - 8(%rax), %rsp     // last, too
    movq %r12, %r9
    pushq %r15
    pushq %r14
    pushq %r13
    callq *%r11
    ud2
    .cfi_endproc
END sennit_enter_root8

// First frame of a context with a resumer, whose handle is kept at (rsp).
FUNCTION sennit_enter_linked
    .cfi_startproc
    .cfi_signal_frame
    .cfi_personality 0x9b, sennit_entry_personality_pointer
    CFI_CALLER_IS_CONTEXT_ABOVE_RAX
    LANDING
    movq 8(%rax), %rbp
    movq 16(%rax), %r11
    leaq RECORD(%rax), %rsp // last, too
    CFI_CALLER_IS_CONTEXT_AT_RSP
    callq *%r11
    ud2
    .cfi_endproc
END sennit_enter_linked

// First frame of a context of rounds. It stands below the record it was entered by, which is so kept for the
// next time. In: rax = the record; the 16-aligned top is its end, and the function is the second word there.
FUNCTION sennit_enter_rounds
    .cfi_startproc
    .cfi_signal_frame
    .cfi_personality 0x9b, sennit_entry_personality_pointer
    .cfi_undefined rip
    LANDING
    leaq RECORD(%rax), %rdi
    leaq -16(%rax), %rsp    // the return address lies there (sennit_newrounds)
    jmpq *8(%rdi)           // no call, for it leaves (sennit_round_leave)
    .globl sennit_went_round
sennit_went_round:          // or returns
    movq %rdx, %rsi
    xorl %edi, %edi         // the target gets no context to resume
    ENTER
    .cfi_endproc
END sennit_enter_rounds

// First frame of a server: as of a context of rounds, with a resumer, whose handle is kept at the top. The
// exception globals are zero at the end of a request: all its handlers are left.
// DW_CFA_def_cfa_expression { DW_OP_breg7 (rsp) 160; DW_OP_deref; DW_OP_plus_uconst 152 }
FUNCTION sennit_serve
    .cfi_startproc
    .cfi_signal_frame
    .cfi_personality 0x9b, sennit_entry_personality_pointer
    CFI_CALLER_IS_CONTEXT_ABOVE_RAX
    LANDING
    leaq -16(%rax), %rsp    // the return address lies there (sennit_newserver)
    .cfi_escape 0x0f, 0x07, 0x77, 0xa8, 0x01, 0x06, 0x23, 0x98, 0x01
    leaq RECORD(%rax), %rdi
    xorl %ebp, %ebp         // a frame-pointer walk stops here
    jmpq *24(%rdi)          // action: no call, for it leaves (sennit_server_leave)
    .cfi_escape 0x0f, 0x07, 0x77, 0xa0, 0x01, 0x06, 0x23, 0x98, 0x01
    ud2                     // unwinders look up what is before a return address
    .globl sennit_served
sennit_served:              // or returns
    leaq 8(%rsp), %rdi
    movq RECORD + 8(%rsp), %rax     // resumer
    movq %rdi, RECORD + 24(%rsp)    // context
    xorl %edi, %edi         // null tells the resumer that the request is done
    ENTER
    .cfi_endproc
END sennit_serve

// A scheduler step chooses the next context. In: rsp = the leaver's record, rax = the step, rsi = its argument,
// rdx = the step's stack. The step's call and return are balanced; the way into the next context is a jump.
FUNCTION sennit_suspend_dispatch
    .cfi_startproc
    .cfi_signal_frame
    .cfi_personality 0x9b, sennit_entry_personality_pointer
    .cfi_def_cfa rsp, RECORD
    CFI_CALLER_IN_RECORD    // the leaver, until we stand on the scheduler step's stack
    LANDING
    movq sennit_thread@gottpoff(%rip), %r10
    movq %fs:(%r10), %r10
    movq (%r10), %r11
    addq 8(%r10), %r11
    jnz sennit_suspend_busy@PLT
    movq %rdx, %rsp
    CFI_CALLER_IS_CONTEXT_AT_RSP
    callq *%rax
    movq %rdx, %rsi
    xorl %edi, %edi         // the leaver is filed somewhere: the target gets no context to resume
    ENTER
    .cfi_endproc
END sennit_suspend_dispatch

// Four of a switch's values, below what is put aside while the slow path calls C.
.macro PUSH_VALUES
    pushq %rsi
    pushq %rdx
    pushq %rcx
    pushq %r8
.endm

.macro POP_VALUES
    popq %r8
    popq %rcx
    popq %rdx
    popq %rsi
.endm

// The exception globals are not zero, or this thread's address of them is not known yet, or we have control state
// of our own. In: rsp = our record, all registers but rax, rsi, rdx, rcx, r8 and r12 to r15 free. What is put aside and
// a second record go below the first one, unless it is nothing:
//
//      | first record                | <- rsp + SLOW_STATE    its resume address is the user's
//      | struct sennit_slow_state    | <- rsp = second handle + 152
//      | ... red zone, unused        |
//      | rbx, rbp: not used          |
//      | resume address: label 3     | <- second handle
.macro BUSY name, leave
FUNCTION \name
    .cfi_startproc
    .cfi_signal_frame       // the caller's pc is a resume address, exactly
    .cfi_def_cfa rsp, RECORD
    CFI_CALLER_IN_RECORD
    LANDING
    movq %rsp, %rbp
    .cfi_def_cfa_register rbp
    leaq -SLOW_STATE(%rsp), %rsp
    movq %rsp, %rdi
    pushq %rax
    PUSH_VALUES
    andq $-16, %rsp
    callq sennit_slow_state_save@PLT
    movq %rax, %r9
    leaq -SLOW_STATE - 40(%rbp), %rsp
    POP_VALUES
    popq %rax
    movq %rbp, %rsp
    testq %r9, %r9
    jz 2f
    leaq -RECORD - SLOW_STATE(%rsp), %rsp
    leaq 3f(%rip), %r9
    movq %r9, (%rsp)
2:  \leave
    // Resumed: this restores what was put aside into the thread that we run on now; the values pass through. The
    // handle is in rax, while suspended, too.
    .cfi_def_cfa rax, 2 * RECORD + SLOW_STATE
3:  LANDING
    leaq RECORD(%rax), %rsp
    .cfi_def_cfa rsp, RECORD + SLOW_STATE
    movq %rsp, %rbp
    .cfi_def_cfa_register rbp
    pushq %rdi
    PUSH_VALUES
    movq %rbp, %rdi
    andq $-16, %rsp
    callq sennit_slow_state_restore@PLT
    leaq -40(%rbp), %rsp
    POP_VALUES
    popq %rdi
    leaq SLOW_STATE(%rbp), %rax
    .cfi_def_cfa rax, RECORD
    ENTER
    .cfi_endproc
END \name
.endm

.macro LEAVE_FOR_TARGET
    movq %rsp, %rdi
    ENTER
.endm

.macro LEAVE_FOR_TARGET_LINKING
    movq %rsp, (%rdx)
    LEAVE_FOR_TARGET
.endm

.macro LEAVE_FOR_TARGET_FILED
    movq %rsp, (%rdx)
    xorl %edi, %edi
    ENTER
.endm

.macro LEAVE_FOR_DECIDER
    movq %rsp, %rdi
    jmp sennit_suspend_dispatch@PLT
.endm

BUSY sennit_swapstack_busy, LEAVE_FOR_TARGET
BUSY sennit_swapstack_linking_busy, LEAVE_FOR_TARGET_LINKING
BUSY sennit_swapstack_filed_busy, LEAVE_FOR_TARGET_FILED
BUSY sennit_suspend_busy, LEAVE_FOR_DECIDER

// sennit_transfer sennit_swapstack_call(sennit_context target, uintptr_t value): the C ABI's form. What a
// call must preserve and the record does not hold goes between the two:
//
//      | return address              | <- rsp on entry
//      | r15, r14, r13, r12          |
//      +-----------------------------+ <- handle + 152
//      | (gap where the inline form has a red zone; a signal handler may use it: nothing is there)
//      | record                      | <- handle
FUNCTION sennit_swapstack_call
    .cfi_startproc
    LANDING
    movq %rdi, %rax
    leaq -RECORD - 32(%rsp), %rsp
    .cfi_def_cfa_offset RECORD + 40
    movq %r12, RECORD(%rsp)
    movq %r13, RECORD + 8(%rsp)
    movq %r14, RECORD + 16(%rsp)
    movq %r15, RECORD + 24(%rsp)
    .cfi_offset r12, -40
    .cfi_offset r13, -32
    .cfi_offset r14, -24
    .cfi_offset r15, -16
    leaq 1f(%rip), %r9
    movq %r9, (%rsp)
    movq %rbp, 8(%rsp)
    movq %rbx, 16(%rsp)
    movq sennit_thread@gottpoff(%rip), %r10
    movq %fs:(%r10), %r10
    movq (%r10), %r11
    addq 8(%r10), %r11
    jnz sennit_swapstack_busy@PLT
    movq %rsp, %rdi
    ENTER
    .cfi_def_cfa rax, RECORD + 40   // suspended, too, the handle is there
    .cfi_offset rbp, -RECORD - 32
    .cfi_offset rbx, -RECORD - 24
1:  LANDING
    movq 8(%rax), %rbp
    movq 16(%rax), %rbx
    leaq RECORD(%rax), %rsp
    .cfi_def_cfa rsp, 40
    .cfi_restore rbp
    .cfi_restore rbx
    movq (%rsp), %r12
    movq 8(%rsp), %r13
    movq 16(%rsp), %r14
    movq 24(%rsp), %r15
    movq %rdi, %rax
    movq %rsi, %rdx
    movq 32(%rsp), %r9
    leaq 40(%rsp), %rsp
    .cfi_def_cfa_offset 0
    .cfi_register rip, r9
    .irp register, r12, r13, r14, r15
    .cfi_restore \register
    .endr
    LEAVE_FOR_RETURN_ADDRESS *%r9
    .cfi_endproc
END sennit_swapstack_call

    .section .data.rel.ro, "aw", @progbits
    .p2align 4
// A record whose backtrace ends at once: what a linked context has before it was resumed.
    .globl sennit_no_resumer
    .type sennit_no_resumer, @object
sennit_no_resumer:
    .quad sennit_enter_root, 0, 0
    .size sennit_no_resumer, . - sennit_no_resumer
sennit_entry_personality_pointer:
    .quad sennit_entry_personality

    .text
// A call on another stack (call_on_stack.hpp). In: rdi = its top, 16-aligned; rsi = the function; rdx = its argument.
// The frame pointer leads from there to the caller, for exceptions and debuggers. No signal frame: the caller is left at a
// call, and its cleanups are looked up there.
FUNCTION sennit_call_on_stack
    .cfi_startproc
    LANDING
    pushq %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset rbp, -16
    movq %rsp, %rbp
    .cfi_def_cfa_register rbp
    movq %rdi, %rsp
    movq %rdx, %rdi
    callq *%rsi
    leave
    .cfi_def_cfa rsp, 8
    .cfi_restore rbp
    ret
    .cfi_endproc
END sennit_call_on_stack

#if defined(__CET__) && (__CET__ & 1)
// The linker marks a program as checked for landings, and for shadow stacks, only if every object is marked so. The
// mark for shadow stacks is omitted where the switch does not change their pointer: a program with us must then not
// have them.
    .section .note.gnu.property, "a", @note
    .p2align 3
    .long 4, 16, 5
    .asciz "GNU"
#if defined(SENNIT_SHADOW_STACK)
    .long 0xc0000002, 4, __CET__, 0 // GNU_PROPERTY_X86_FEATURE_1_AND: IBT, SHSTK
#else
    .long 0xc0000002, 4, 1, 0   // IBT
#endif
#endif

    .section .note.GNU-stack, "", @progbits
