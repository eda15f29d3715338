/* Reports about all fibers. */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

static void park(void* argument) {
  (void)argument;
  EXPECT(sennit_self_park() == 0);
}

static void dump_one(void* argument) {
  const struct sennit_fiber_options options = {.name = "parks here"};
  struct sennit_fiber* fiber = NULL;
  int pipes[2];
  char text[16 * 1024];
  ssize_t size;
  (void)argument;
  EXPECT(pipe(pipes) == 0);
  EXPECT(sennit_fiber_spawn(&fiber, park, NULL, &options) == 0);
  EXPECT(sennit_self_yield() == 0);
  sennit_dump(pipes[1]);
  size = read(pipes[0], text, sizeof text - 1);
  EXPECT(size > 0);
  text[size > 0 ? size : 0] = 0;
  EXPECT(strstr(text, "\"parks here\": parked: park") != NULL);
  EXPECT(sennit_fiber_unpark(fiber) == 0);
  EXPECT(sennit_fiber_join(fiber, SENNIT_NEVER) == 0);
  EXPECT(close(pipes[0]) == 0 && close(pipes[1]) == 0);
}

int dumps_are_written(void) {
  CHECK(capi_run(dump_one, NULL) == 0);
  CHECK(sennit_dump_on_signal(SIGKILL) == -EINVAL);
  CHECK(sennit_dump_on_signal(-1) == -EINVAL);
  return 0;
}
