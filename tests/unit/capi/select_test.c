/* Select, with a stack and without, in runtimes of both kinds. */
#include <stdatomic.h>
#include <string.h>

#include "check.h"

struct pair {
  struct sennit_channel* numbers;
  struct sennit_channel* letters;
  long sum;
  int count;
  int result;
};

struct letter {
  char bytes[40];
};

static void make(struct pair* pair, bool shared, size_t capacity) {
  memset(pair, 0, sizeof *pair);
  if (shared) {
    EXPECT(sennit_channel_create_shared(&pair->numbers, sizeof(long), capacity) == 0);
    EXPECT(sennit_channel_create_shared(&pair->letters, sizeof(struct letter), capacity) == 0);
  } else {
    EXPECT(sennit_channel_create(&pair->numbers, sizeof(long), capacity) == 0);
    EXPECT(sennit_channel_create(&pair->letters, sizeof(struct letter), capacity) == 0);
  }
}

static void destroy(const struct pair* pair) {
  EXPECT(sennit_channel_destroy(pair->numbers) == 0);
  EXPECT(sennit_channel_destroy(pair->letters) == 0);
}

enum { rounds = 500 };

static void send_numbers(void* argument) {
  struct pair* pair = argument;
  long number;
  for (number = 1; number <= rounds; ++number)
    EXPECT(sennit_channel_send(pair->numbers, &number) == 0);
  EXPECT(sennit_channel_close(pair->numbers) == 0);
}

/* By selects, too, so that both peers are selects. */
static void send_letters(void* argument) {
  struct pair* pair = argument;
  struct letter letter;
  int i;
  memset(&letter, 'a', sizeof letter);
  for (i = 0; i < rounds; ++i) {
    struct sennit_case one = {pair->letters, &letter, true, 1};
    EXPECT(sennit_select(&one, 1, SENNIT_NEVER) == 0 && one.result == 0);
  }
  EXPECT(sennit_channel_close(pair->letters) == 0);
}

static void receive_both(struct pair* pair) {
  long number = 0;
  struct letter letter = {""};
  struct sennit_case cases[] = {{pair->numbers, &number, false, 1}, {pair->letters, &letter, false, 1}};
  size_t open = 2;
  while (open != 0) {
    const int chosen = sennit_select(cases, open, SENNIT_NEVER);
    EXPECT(chosen >= 0);
    if (chosen < 0)
      return;
    if (cases[chosen].result != 0) {
      EXPECT(cases[chosen].result == -EPIPE);
      cases[chosen] = cases[--open];
    } else if (cases[chosen].channel == pair->numbers) {
      pair->sum += number;
    } else {
      pair->count += letter.bytes[39] == 'a';
    }
  }
}

struct chooser {
  struct pair* pair;
  int open;
};

static void choose(void* state, int result, void* value) {
  struct chooser chooser = *(struct chooser*)state;
  struct pair* pair = chooser.pair;
  const struct sennit_case* chosen = value;
  long unused;
  struct sennit_case cases[] = {{pair->numbers, &unused, false, 0}, {pair->letters, &unused, false, 0}};
  EXPECT(((uintptr_t)state & 15) == 0);
  if (result >= 0) {
    if (chosen->result != 0) {
      EXPECT(chosen->result == -EPIPE);
      chooser.open &= ~(chosen->channel == pair->numbers ? 1 : 2);
    } else if (chosen->channel == pair->numbers) {
      pair->sum += *(long*)chosen->element;
    } else {
      pair->count += ((struct letter*)chosen->element)->bytes[39] == 'a';
    }
  }
  if (chooser.open == 0)
    return;
  if (chooser.open == 3)
    EXPECT(sennit_select_become(cases, 2, choose, &chooser, sizeof chooser, SENNIT_NEVER) == 0);
  EXPECT(sennit_select_become(&cases[chooser.open - 1], 1, choose, &chooser, sizeof chooser,
                              sennit_now() + 60000000000) == 0);
}

static void begin_choosing(void* argument) {
  struct pair* pair = argument;
  struct chooser chooser = {pair, 3};
  long number = 1000;
  struct sennit_case cases[] = {{pair->numbers, &number, false, 0}, {pair->letters, &number, false, 0}};
  EXPECT(sennit_select_become(cases, 2, choose, &chooser, sizeof chooser, SENNIT_NEVER) == 0);
}

static void note(void* state, int result, void* value) {
  struct pair* pair = *(struct pair**)state;
  pair->result = result;
  pair->sum = value == NULL ? -1 : ((struct sennit_case*)value)->result;
}

static void send_one(void* argument) {
  struct pair* pair = argument;
  long number = 9;
  struct sennit_case one = {pair->numbers, &number, true, 0};
  EXPECT(sennit_select_become(&one, 1, note, &pair, sizeof pair, sennit_now() + 1000000) == 0);
}

static void run_pairs(bool shared, size_t capacity, bool stackless) {
  struct pair pair;
  struct sennit_fiber* fibers[2];
  struct sennit_fiber* chooser = NULL;
  make(&pair, shared, capacity);
  EXPECT(sennit_fiber_spawn(&fibers[0], send_numbers, &pair, NULL) == 0);
  EXPECT(sennit_fiber_spawn(&fibers[1], send_letters, &pair, NULL) == 0);
  if (stackless) {
    EXPECT(sennit_fiber_spawn(&chooser, begin_choosing, &pair, NULL) == 0);
    EXPECT(sennit_fiber_join(chooser, SENNIT_NEVER) == 0);
  } else {
    receive_both(&pair);
  }
  EXPECT(sennit_fiber_join(fibers[0], SENNIT_NEVER) == 0);
  EXPECT(sennit_fiber_join(fibers[1], SENNIT_NEVER) == 0);
  EXPECT(pair.sum == rounds * (rounds + 1L) / 2 && pair.count == rounds);
  destroy(&pair);
}

/* Also if the cases before them cannot be done. */
static void choose_equally_often(bool shared) {
  enum { selects = 1000 };
  struct pair full;
  struct pair empty;
  long number = 1;
  struct letter letter = {""};
  int chosen[4] = {0, 0, 0, 0};
  int i;
  make(&full, shared, 1);
  make(&empty, shared, 1);
  for (i = 0; i < selects; ++i) {
    struct sennit_case cases[] = {{empty.numbers, &number, false, 0},
                                  {full.numbers, &number, false, 0},
                                  {full.letters, &letter, false, 0},
                                  {empty.letters, &letter, false, 0}};
    int one;
    (void)sennit_channel_trysend(full.numbers, &number);
    (void)sennit_channel_trysend(full.letters, &letter);
    one = sennit_select(cases, 4, SENNIT_NEVER);
    EXPECT(one == 1 || one == 2);
    if (one >= 0)
      ++chosen[one];
  }
  /* Six standard deviations are 95. */
  EXPECT(chosen[1] > selects / 2 - 95 && chosen[1] < selects / 2 + 95);
  destroy(&full);
  destroy(&empty);
}

static void use_selects(void* argument) {
  const bool shared = *(bool*)argument;
  struct pair pair;
  struct sennit_fiber* fiber = NULL;
  long number = 4;
  struct sennit_case cases[2];
  run_pairs(shared, 0, false);
  run_pairs(shared, 3, false);
  run_pairs(shared, 0, true);
  run_pairs(shared, 3, true);
  choose_equally_often(shared);

  make(&pair, shared, 1);
  cases[0] = cases[1] = (struct sennit_case){pair.numbers, &number, false, 0};
  EXPECT(sennit_select(cases, 2, 0) == -ETIMEDOUT);
  EXPECT(sennit_select(cases, 2, sennit_now() + 1000000) == -ETIMEDOUT);
  cases[1].sends = true;
  EXPECT(sennit_select(cases, 2, 0) == 1 && cases[1].result == 0);
  number = 0;
  EXPECT(sennit_select(cases, 2, SENNIT_NEVER) == 0 && number == 4);
  EXPECT(sennit_fiber_spawn(&fiber, send_one, &pair, NULL) == 0);
  EXPECT(sennit_fiber_join(fiber, SENNIT_NEVER) == 0);
  EXPECT(pair.result == 0 && pair.sum == 0);
  EXPECT(sennit_fiber_spawn(&fiber, send_one, &pair, NULL) == 0);
  EXPECT(sennit_fiber_join(fiber, SENNIT_NEVER) == 0);
  EXPECT(pair.result == -ETIMEDOUT && pair.sum == -1);
  EXPECT(sennit_channel_close(pair.numbers) == 0);
  EXPECT(sennit_fiber_spawn(&fiber, send_one, &pair, NULL) == 0);
  EXPECT(sennit_fiber_join(fiber, SENNIT_NEVER) == 0);
  EXPECT(pair.result == 0 && pair.sum == -EPIPE);
  destroy(&pair);
}

int selects_of_both_kinds(void) {
  return capi_run_both(use_selects);
}

static void refuse(void* argument) {
  const bool shared = *(bool*)argument;
  struct pair pair;
  struct pair other;
  long number = 0;
  struct sennit_case cases[2];
  struct sennit_case many[65];
  size_t i;
  make(&pair, shared, 1);
  make(&other, !shared, 1);
  cases[0] = (struct sennit_case){pair.numbers, &number, false, 0};
  cases[1] = (struct sennit_case){other.numbers, &number, false, 0};
  for (i = 0; i < 65; ++i)
    many[i] = cases[0];
  EXPECT(sennit_select(NULL, 1, 0) == -EINVAL);
  EXPECT(sennit_select(cases, 0, 0) == -EINVAL);
  EXPECT(sennit_select(cases, 2, 0) == -EINVAL);
  EXPECT(sennit_select(many, 65, 0) == -EINVAL);
  EXPECT(sennit_select(many, 64, 0) == -ETIMEDOUT);
  EXPECT(sennit_select_become(cases, 2, note, NULL, 0, 0) == -EINVAL);
  EXPECT(sennit_select_become(cases + 1, 1, note, NULL, 0, 0) == -EINVAL);
  EXPECT(sennit_select_become(cases, 1, NULL, NULL, 0, 0) == -EINVAL);
  EXPECT(sennit_select_become(cases, 1, note, NULL, 1, 0) == -EINVAL);
  EXPECT(sennit_select_become(many, 9, note, NULL, 0, 0) == -EINVAL);
  cases[0].element = NULL;
  EXPECT(sennit_select(cases, 1, 0) == -EINVAL);
  cases[0].channel = NULL;
  EXPECT(sennit_select(cases, 1, 0) == -EINVAL);
  destroy(&pair);
  destroy(&other);
}

int selects_refuse(void) {
  return capi_run_both(refuse);
}
