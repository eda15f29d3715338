/* The inline switch of C's call of a local port. Included by sennit.h only.
 *
 * A call that returns after a switch costs more than the switch. So the call is filed by one function, and
 * ended by another one.
 */
#ifndef SENNIT_DETAIL_CAPI_PORT_H
#define SENNIT_DETAIL_CAPI_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sennit/detail/capi/park.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sennit_port;
int sennit_port_call(struct sennit_port* port, const void* request, void* reply, int64_t deadline);

struct __attribute__((may_alias)) sennit_port_front {
  bool shared;
};
/* Of a call, from its beginning to its end. */
struct sennit_call_record {
  uintptr_t room[12];
};

/* `worker`: of sennit_may_park(). Returns what sennit_prepare_park() does, or, with 1 as the value: it has
 * not begun. */
sennit_decision sennit_port_begin_call(struct sennit_port* port, const void* request, void* reply,
                                       struct sennit_worker* worker, struct sennit_call_record* record);
/* `word`: of the switch. */
int sennit_port_end_call(struct sennit_port* port, struct sennit_call_record* record, uintptr_t word);

#if !defined(SENNIT_YIELD_BY_CALL)

SENNIT_ALWAYS_INLINE int sennit_port_call_inline(struct sennit_port* port, const void* request, void* reply,
                                                 int64_t deadline) {
  const struct sennit_port_front* const front = (const struct sennit_port_front*)port;
  struct sennit_call_record record;
  struct sennit_worker_front* worker = NULL;
  if (__builtin_expect(deadline == INT64_MAX && port != NULL && !front->shared, 1))
    worker = sennit_may_park();
  if (worker != NULL) {
    struct sennit_fiber_front* const self = worker->current;
    sennit_decision to;
    sennit_should_hold_no_lock("waits", "port call");
    to = sennit_port_begin_call(port, request, reply, (struct sennit_worker*)worker, &record);
    if (__builtin_expect(to.target != NULL || to.value != 1, 1))
      return sennit_port_end_call(port, &record, sennit_park_by(to, worker, self));
  }
  return sennit_port_call(port, request, reply, deadline);
}

#endif

#ifdef __cplusplus
}
#endif

#endif
