/* Names of functions that C has inline as well. Included by sennit.h only, after their declarations. */
#ifndef SENNIT_DETAIL_CAPI_INLINE_H
#define SENNIT_DETAIL_CAPI_INLINE_H

#include "sennit/detail/capi/channel.h"
#include "sennit/detail/capi/condition.h"
#include "sennit/detail/capi/join.h"
#include "sennit/detail/capi/mutex.h"
#include "sennit/detail/capi/port.h"
#include "sennit/detail/capi/semaphore.h"

#if !defined(SENNIT_YIELD_BY_CALL)
#define sennit_mutex_lock(mutex) sennit_mutex_lock_inline(mutex)
#define sennit_mutex_unlock(mutex) sennit_mutex_unlock_inline(mutex)
#define sennit_semaphore_acquire(semaphore) sennit_semaphore_acquire_inline(semaphore)
#define sennit_semaphore_release(semaphore, permits) sennit_semaphore_release_inline(semaphore, permits)
#define sennit_condition_wait(condition, mutex) sennit_condition_wait_inline(condition, mutex)
#define sennit_condition_notify_one(condition) sennit_condition_notify_one_inline(condition)
#define sennit_fiber_join(fiber, deadline) sennit_fiber_join_inline(fiber, deadline)
#define sennit_port_call(port, request, reply, deadline) \
  sennit_port_call_inline(port, request, reply, deadline)
#define sennit_channel_send(channel, element) sennit_channel_send_inline(channel, element)
#define sennit_channel_receive(channel, element) sennit_channel_receive_inline(channel, element)
#endif

#endif
