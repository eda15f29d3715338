/* A C program outside of the tree: built by ./check against an installed Sennit. */
#include <stdio.h>

#include "sennit/sennit.h"

_Static_assert(SENNIT_VERSION >= 100, "the header's version");

static struct sennit_channel* numbers;

static void produce(void* argument) {
  for (long i = 0; i < 10; ++i)
    if (sennit_channel_send(numbers, &i) != 0)
      return;
  sennit_self_sleep(1000);
  sennit_channel_close(numbers);
  *(int*)argument = 1;
}

static void run(void* argument) {
  struct sennit_fiber* producer;
  int produced = 0;
  long sum = 0, each;
  (void)argument;
  if (sennit_channel_create(&numbers, sizeof each, 0) != 0 ||
      sennit_fiber_spawn(&producer, produce, &produced, NULL) != 0)
    return;
  while (sennit_channel_receive(numbers, &each) == 0)
    sum += each;
  if (sennit_fiber_join(producer, SENNIT_NEVER) == 0 && produced)
    printf("%ld it works!\n", sum);
  sennit_channel_destroy(numbers);
}

int main(void) {
  struct sennit_runtime* runtime;
  int error = sennit_runtime_create(&runtime, NULL);
  if (error == 0)
    error = sennit_runtime_run(runtime, run, NULL);
  if (error != 0)
    fprintf(stderr, "%s\n", sennit_error_text(error));
  sennit_runtime_destroy(runtime);
  return error != 0;
}
