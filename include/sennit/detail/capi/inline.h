/* Names of functions that C has inline as well. Included by sennit.h only, after their declarations. */
#ifndef SENNIT_DETAIL_CAPI_INLINE_H
#define SENNIT_DETAIL_CAPI_INLINE_H

#include "sennit/detail/capi/mutex.h"
#include "sennit/detail/capi/wait.h"

#if !defined(SENNIT_YIELD_BY_CALL)
#define sennit_mutex_lock(mutex) sennit_mutex_lock_inline(mutex)
#define sennit_mutex_unlock(mutex) sennit_mutex_unlock_inline(mutex)
#define sennit_channel_send(channel, element) sennit_channel_send_inline(channel, element)
#define sennit_channel_receive(channel, element) sennit_channel_receive_inline(channel, element)
#endif

#endif
