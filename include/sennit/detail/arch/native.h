/* The verbs on an instruction set that has its own switch. Included by context.h only.
 *
 * Each instruction set's header defines struct sennit_context_record {resume, frame, base, ...},
 * SENNIT_RECORD_SIZE and the inline verbs
 *
 *   sennit_transfer  sennit_swapstack(target, value)
 *   sennit_transfer  sennit_swapstack_raw(target, value)
 *   sennit_transfer4 sennit_swapstack4(target, value0, value1, value2, value3)
 *   sennit_transfer8 sennit_swapstack8(target, value0, ..., value7)
 *       only where SENNIT_HAS_SWAPSTACK8 is defined
 *   sennit_transfer  sennit_swapstack_linking(target, value, self)
 *       also stores our own context at *self, so that any later resumer finds it there. Only if no other code
 *       can read *self before we have left.
 *   sennit_transfer  sennit_swapstack_filed(target, value, self)
 *       like sennit_swapstack_linking, and the target does not get our context: `from` is null there.
 *   uintptr_t        sennit_suspend(stack, step, argument)
 *       suspends us and calls step(self, argument) on `stack` (16-aligned, growing down; *stack holds the
 *       context in which backtraces of the scheduler step continue), then enters the context that it returns.
 *       Returns our resumer's word.
 *   void             sennit_leave(target, value)
 *       leaves for good: our stack is not kept, and the target gets no context to resume. The C++ exception
 *       globals must be zero.
 */
#ifndef SENNIT_DETAIL_ARCH_NATIVE_H
#define SENNIT_DETAIL_ARCH_NATIVE_H

/* By this the compiler plugin knows the switches of x86-64 and AArch64: it follows the resume label.
 * compiler/asm_marks.hpp says why it is a comment. */
#define SENNIT_ASM_MARK "/* sennit: a switch */ "

/* Unwinders must survive a signal at any instruction of a switch. So its assembly has unwind rules where the
 * compiler makes rules for the code around it; elsewhere the assembler would refuse them. The macro tells the
 * two apart, but clang also defines it where it makes rules for some functions only: on 32-bit ARM and s390x
 * no rules here with -fno-asynchronous-unwind-tables and exceptions   compile with -DSENNIT_NO_CFI */
#if defined(__GCC_HAVE_DWARF2_CFI_ASM) && !defined(SENNIT_NO_CFI) && \
    !(defined(__clang__) && (defined(__arm__) || defined(__s390x__)))
#define SENNIT_CFI(rules) ".cfi_escape " rules " /* if this is refused, compile with -DSENNIT_NO_CFI */"
#else
#define SENNIT_CFI(rules) ""
#endif

#if defined(__x86_64__)
#include "sennit/detail/arch/x86_64.h"
#elif defined(__aarch64__)
#include "sennit/detail/arch/aarch64.h"
#elif defined(__riscv)
#include "sennit/detail/arch/riscv64.h"
#elif defined(__powerpc64__)
#include "sennit/detail/arch/ppc64le.h"
#elif defined(__arm__)
#include "sennit/detail/arch/arm.h"
#else
#include "sennit/detail/arch/s390x.h"
#endif

/* Bytes below a suspended context's record that are still in use. On x86-64 there lies, written once, the
 * return address of what a context of rounds or a server runs: for backtraces, and for what returns (it may
 * leave). */
#if defined(__x86_64__)
#define SENNIT_BELOW_RECORD 16
#define SENNIT_SET_RETURN(context, label) \
  (*(const char**)(void*)((char*)(context) - SENNIT_BELOW_RECORD) = (label))
#else
#define SENNIT_BELOW_RECORD 0
#define SENNIT_SET_RETURN(context, label) ((void)0)
#endif

/* In src/arch/switch_<isa>.S. */
void sennit_enter_root(void);          /* a stack's first frame; backtraces stop here */
void sennit_enter_root8(void);         /* the same, for an entry function of eight words */
void sennit_enter_linked(void);        /* a stack's first frame; backtraces continue in *top */
void sennit_enter_rounds(void);        /* a first frame that is entered again and again */
void sennit_serve(void);               /* a first frame of rounds, for a server */
extern const char sennit_no_resumer[]; /* a record whose backtrace ends at once */
#if defined(__x86_64__)
extern const char sennit_went_round[], sennit_served[]; /* where a round and an action return to */
#endif

sennit_transfer sennit_swapstack_call(sennit_context target, uintptr_t value);

/* Like sennit_swapstack_linking, for callers that do not need their resumer's context. */
SENNIT_ALWAYS_INLINE uintptr_t sennit_swapstack_saving(sennit_context target, uintptr_t value,
                                                       sennit_context* self) {
#if defined(SENNIT_HAS_SWAPSTACK_SCHEDULING) /* like the code below, except for its alignment */
  return sennit_swapstack_scheduling(target, value, self).value;
#else
  return sennit_swapstack_linking(target, value, self).value;
#endif
}

SENNIT_ALWAYS_INLINE sennit_context sennit_make_context(void* top, uintptr_t base, void (*first)(void)) {
  struct sennit_context_record* record;
  sennit_should_be_top(top);
  record = (struct sennit_context_record*)((char*)top - SENNIT_RECORD_SIZE);
  record->resume = first;
  record->frame = 0; /* a frame-pointer walk stops here */
  record->base = base;
  return record;
}

/* `top`: 16-aligned, the stack grows down from it; memory at and above it belongs to the caller. The stack
 * needs SENNIT_RECORD_SIZE bytes below top at once, and more to run. This function cannot check that;
 * sennit_mctx_create, which gets the size, does. Null or misaligned: asserted in debug builds. */
SENNIT_ALWAYS_INLINE sennit_context sennit_newstack(void* top, sennit_entry entry) {
  return sennit_make_context(top, (uintptr_t)entry, sennit_enter_root);
}

#if defined(SENNIT_HAS_SWAPSTACK8)
/* The same, for a context that is first resumed by sennit_swapstack8. */
SENNIT_ALWAYS_INLINE sennit_context sennit_newstack8(void* top, sennit_entry8 entry) {
  return sennit_make_context(top, (uintptr_t)entry, sennit_enter_root8);
}
#endif

/* Ends the backtraces that would continue in the context at `top`, until one is stored there. A scheduler
 * step's stack needs this before its first use, and again when the context there was resumed. */
SENNIT_ALWAYS_INLINE void sennit_end_backtraces(void* top) {
  *(sennit_context*)top = (sennit_context)(uintptr_t)sennit_no_resumer;
}

/* Makes a context with a resumer: `*top` belongs to the backtrace. The entered function must keep the context
 * that resumed it last in it. */
SENNIT_ALWAYS_INLINE sennit_context sennit_newlinked(sennit_context* top, sennit_entry entry) {
  sennit_should_be_top(top);
  sennit_end_backtraces(top);
  return sennit_make_context(top, (uintptr_t)entry, sennit_enter_linked);
}

/* Makes a context of rounds. When entered, it calls the sennit_round in the second word at `top`, with top,
 * and then enters the context that the round returns. It is then as it was made, and its handle stays valid.
 * It saves nothing: the record is never written again. The first word at top is the caller's. */
SENNIT_ALWAYS_INLINE sennit_context sennit_newrounds(void* top) {
  const sennit_context made = sennit_make_context(top, 0, sennit_enter_rounds);
  SENNIT_SET_RETURN(made, sennit_went_round);
  return made;
}

/* The last action of a round, at any depth in it, with its answer; its frames are not used any more. On
 * x86-64 it enters the target, and does not return: a call and a return between two switches would take two
 * to three cycles more. (It is not declared noreturn: compilers treat code before a noreturn call as rare,
 * and so the body that was inlined into it.) */
SENNIT_ALWAYS_INLINE sennit_decision sennit_round_leave(sennit_decision answer) {
#if defined(__x86_64__)
  __asm__ volatile("jmpq *(%%rax)" : : "a"(answer.target), "D"(0L), "S"(answer.value) : "memory");
#endif
  return answer;
}

/* A server is a context of rounds with a resumer; this lies at the top of its stack. Each resume runs
 * `action`. When the action has ended, `context` gets the server's handle, and `resumer` is entered, with
 * null as the leaver and no value. */
struct sennit_server {
  sennit_context resumer; /* the resumer stores its own context here (sennit_swapstack_linking) */
  sennit_round round;     /* not used */
  sennit_context context;
  void (*action)(struct sennit_server* self); /* must not let an exception out */
};

SENNIT_ALWAYS_INLINE sennit_context sennit_newserver(struct sennit_server* top) {
  const sennit_context made = sennit_make_context(top, 0, sennit_serve);
  sennit_end_backtraces(&top->resumer);
  SENNIT_SET_RETURN(made, sennit_served);
  return made;
}

/* Ends an action from anywhere in it: enters the resumer. */
SENNIT_ALWAYS_INLINE void sennit_server_leave(struct sennit_server* self) {
#if defined(__x86_64__)
  self->context = (sennit_context)(void*)((char*)self - SENNIT_RECORD_SIZE);
  __asm__ volatile("jmpq *(%%rax)" : : "a"(self->resumer), "D"(0L) : "memory");
#else
  (void)self;
#endif
}

#endif
