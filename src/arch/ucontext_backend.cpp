// The switch on <ucontext.h>.
#include "sennit/detail/arch/ucontext_backend.h"

#include <ucontext.h>

#include <cassert>
#include <cstdlib>
#include <new>

#include "sennit/detail/arch/thread.h"

namespace {

// In the frame of the function that switches, or on top of a new stack. Whoever resumes us fills in the
// transfer.
struct alignas(16) record {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"  // in glibc's for RISC-V lies an array of no elements
  ucontext_t context;
#pragma GCC diagnostic pop
  sennit_transfer4 transfer;
  sennit_entry entry;
  void* top;
};

static_assert(sizeof(record) + 256 <= SENNIT_UCONTEXT_RECORD_SIZE);

SENNIT_UNSANITIZED record* record_of(sennit_context handle) {
  return reinterpret_cast<record*>(handle);
}
SENNIT_UNSANITIZED sennit_context handle_of(record* r) {
  return reinterpret_cast<sennit_context>(r);
}

// The entry of a context of rounds, whose record is `self`. The next round's context is made over it: our
// frames lie below.
SENNIT_UNSANITIZED void go_a_round(record& self) noexcept {
  void* const top = self.top;
  const sennit_decision decision = static_cast<sennit_round*>(top)[1](top);
  sennit_ucontext_newrounds(top);
  sennit_ucontext_leave(decision.target, decision.value);
}

// A context's first frame. makecontext passes nothing wider than int.
SENNIT_UNSANITIZED void enter(unsigned high, unsigned low) noexcept {
  auto* self = reinterpret_cast<record*>(static_cast<uintptr_t>(uint64_t{high} << 32 | low));
  if (self->entry == nullptr)
    go_a_round(*self);
  const sennit_transfer4 in = self->transfer;
  self->entry(in.from, in.value[0], in.value[1], in.value[2], in.value[3]);
  std::abort();  // an entry function does not return
}

// The record lies at the top even where the stack grows up to it: it is read once, before that.
sennit_context make(char* lowest, void* top, sennit_entry entry) noexcept {
  char* const place = static_cast<char*>(top) - sizeof(record);
  auto* self = new (place) record;
  if (getcontext(&self->context) != 0)
    std::abort();
  self->entry = entry;
  self->top = top;
  self->context.uc_stack.ss_sp = lowest;
  self->context.uc_stack.ss_size = static_cast<size_t>(place - lowest);
  self->context.uc_link = nullptr;
  const uint64_t address = reinterpret_cast<uintptr_t>(self);
  makecontext(&self->context, reinterpret_cast<void (*)()>(enter), 2, static_cast<unsigned>(address >> 32),
              static_cast<unsigned>(address));
  return handle_of(self);
}

SENNIT_UNSANITIZED const sennit_transfer4& swap(record& self, sennit_context target,
                                                const uintptr_t (&value)[4], bool passes_self = true) {
  record* const to = record_of(target);
  to->transfer = {passes_self ? handle_of(&self) : nullptr, {value[0], value[1], value[2], value[3]}};
  if (swapcontext(&self.context, &to->context) != 0)
    std::abort();
  return self.transfer;
}

// Stores our context at `place` unless that is null. `passes_self`: whether the target gets our context.
SENNIT_UNSANITIZED sennit_transfer4 swap_with_exceptions(sennit_context target, const uintptr_t (&value)[4],
                                                         sennit_context* place = nullptr,
                                                         bool passes_self = true) {
  record self;
  if (place)
    *place = handle_of(&self);
  sennit_slow_state saved;
  sennit_slow_state_save(&saved);
  swap(self, target, value, passes_self);
  sennit_slow_state_restore(&saved);
  return self.transfer;
}

}  // namespace

extern "C" {

sennit_context sennit_ucontext_make(void* stack, size_t size, sennit_entry entry) {
  assert(stack != nullptr && size >= sizeof(record) + 256 && "sennit: a new stack is null or too small");
  const uintptr_t top = (reinterpret_cast<uintptr_t>(stack) + size) & ~uintptr_t{15};
  return make(static_cast<char*>(stack), reinterpret_cast<void*>(top), entry);
}

sennit_context sennit_ucontext_newstack(void* top, sennit_entry entry) {
  // makecontext adds the size to the start and looks at nothing else: where the stack begins is not ours to
  // know.
  constexpr size_t nominal_size = 256;
  return make(static_cast<char*>(top) - sizeof(record) - nominal_size, top, entry);
}

sennit_context sennit_ucontext_newlinked(sennit_context* top, sennit_entry entry) {
  *top = nullptr;
  return sennit_ucontext_newstack(top, entry);
}

sennit_context sennit_ucontext_newrounds(void* top) {
  return sennit_ucontext_newstack(top, nullptr);
}

SENNIT_UNSANITIZED sennit_transfer sennit_ucontext_swapstack(sennit_context target, uintptr_t value) {
  const sennit_transfer4 in = swap_with_exceptions(target, {value, 0, 0, 0});
  return {in.from, in.value[0]};
}

SENNIT_UNSANITIZED sennit_transfer4 sennit_ucontext_swapstack4(sennit_context target, uintptr_t value0,
                                                               uintptr_t value1, uintptr_t value2,
                                                               uintptr_t value3) {
  return swap_with_exceptions(target, {value0, value1, value2, value3});
}

SENNIT_UNSANITIZED sennit_transfer sennit_ucontext_swapstack_raw(sennit_context target, uintptr_t value) {
  record self;
  const sennit_transfer4 in = swap(self, target, {value, 0, 0, 0});
  return {in.from, in.value[0]};
}

SENNIT_UNSANITIZED sennit_transfer sennit_ucontext_swapstack_linking(sennit_context target, uintptr_t value,
                                                                     sennit_context* self) {
  const sennit_transfer4 in = swap_with_exceptions(target, {value, 0, 0, 0}, self);
  return {in.from, in.value[0]};
}

SENNIT_UNSANITIZED sennit_transfer sennit_ucontext_swapstack_filed(sennit_context target, uintptr_t value,
                                                                   sennit_context* self) {
  const sennit_transfer4 in = swap_with_exceptions(target, {value, 0, 0, 0}, self, false);
  return {in.from, in.value[0]};
}

SENNIT_UNSANITIZED void sennit_ucontext_leave(sennit_context target, uintptr_t value) {
  record* const to = record_of(target);
  to->transfer = {nullptr, {value, 0, 0, 0}};
  setcontext(&to->context);
  std::abort();
}

}  // extern "C"
