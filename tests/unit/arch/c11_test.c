/* The verbs from strict C11. Checked by c11_check_test.cpp. */
#include "sennit/detail/arch/context.h"
#include "sennit/swapstack.h"

static _Alignas(16) char stack[1 << 16];
static _Alignas(16) char base[1 << 16];
static _Alignas(16) char larger[1 << 16]; /* frames that were left for good lie on the others */

#define TOP(memory) ((void*)((memory) + sizeof(memory) - 64))

static void body(sennit_context from, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d) {
  sennit_transfer4 in = sennit_swapstack4(from, a + b, c + d, 0, 0);
  sennit_transfer out = sennit_swapstack(in.from, in.value[3]);
  out = sennit_swapstack_call(out.from, out.value + 1);
  out = sennit_swapstack_raw(out.from, out.value + 2);
  sennit_leave(out.from, out.value + 3);
}

static sennit_decision step(sennit_context self, void* argument) {
  sennit_decision decision;
  decision.target = self;
  decision.value = *(uintptr_t*)argument + 1;
  return decision;
}

struct large {
  char text[200];
  uintptr_t number;
};

SENNIT_SWAPSTACK(give_large, struct large, struct large)

SENNIT_SWAPSTACK_ENTRY(increment, struct large) {
  for (;;) {
    give_large_transfer got;
    ++value.number;
    value.text[199] = value.text[0];
    got = give_large(from, value);
    from = got.from;
    value = got.value;
  }
}

static int large_values(void) {
  struct large sent = {"abc", 7};
  give_large_transfer got = give_large(sennit_newstack(TOP(larger), increment), sent);
  int wrong = got.value.number != 8 || got.value.text[199] != 'a' || got.value.text[2] != 'c';
  sent.text[0] = 'x';
  got = give_large(got.from, sent);
  return wrong || got.value.number != 8 || got.value.text[199] != 'x' || sent.number != 7;
}

struct eight {
  uintptr_t word[8];
};
struct five {
  uintptr_t word[5];
};

SENNIT_SWAPSTACK(ask_eight, struct five, struct eight)
SENNIT_SWAPSTACK(give_five, struct eight, struct five)

SENNIT_SWAPSTACK_ENTRY(sums, struct eight) {
  for (;;) {
    struct five out = {{0}};
    give_five_transfer got;
    int i;
    for (i = 0; i < 8; ++i)
      out.word[i % 5] += (uintptr_t)(i + 1) * value.word[i];
    got = give_five(from, out);
    from = got.from;
    value = got.value;
  }
}

int c11_eight_words(void* top);

/* 0, or which round was wrong. */
int c11_eight_words(void* top) {
  sennit_context context = sennit_newstack(top, sums);
  int round, i;
  for (round = 1; round < 10; ++round) {
    struct eight sent;
    struct five wanted = {{0}};
    ask_eight_transfer got;
    for (i = 0; i < 8; ++i) {
      sent.word[i] = (uintptr_t)(round * 100 + i);
      wanted.word[i % 5] += (uintptr_t)(i + 1) * sent.word[i];
    }
    got = ask_eight(context, sent);
    context = got.from;
    if (memcmp(&got.value, &wanted, sizeof wanted) != 0)
      return round;
  }
  return 0;
}

void c11_newstack_at(void* top);

void c11_newstack_at(void* top) {
  (void)sennit_newstack(top, body);
}

int c11_first_wrong_step(void);

int c11_first_wrong_step(void) {
  uintptr_t word = 41;
  sennit_transfer4 four = sennit_swapstack4(sennit_newstack(TOP(stack), body), 1, 2, 3, 4);
  sennit_transfer one;
  if (four.value[0] != 3 || four.value[1] != 7)
    return 1;
  four = sennit_swapstack4(four.from, 0, 0, 0, 9);
  if (four.value[0] != 9)
    return 2;
  one = sennit_swapstack(four.from, 10);
  if (one.value != 11)
    return 3;
  one = sennit_swapstack_raw(one.from, 20);
  if (one.value != 22)
    return 4;
  one = sennit_swapstack_call(one.from, 30);
  if (one.value != 33 || one.from != NULL)
    return 5;
  *(sennit_context*)TOP(base) = NULL;
  if (sennit_suspend(TOP(base), step, &word) != 42)
    return 6;
  if (sennit_thread_self() == NULL)
    return 7;
  if (large_values())
    return 8;
  return 0;
}
