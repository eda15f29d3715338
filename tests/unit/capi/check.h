/* Tests in C: a test is a function that returns 0, or the line of what first went wrong. It is declared here
 * and called by capi_check_test.cpp. */
#ifndef TESTS_UNIT_CAPI_CHECK_H
#define TESTS_UNIT_CAPI_CHECK_H

#include <errno.h>

#include "sennit/sennit.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of runtimes and objects of both kinds. */
#define CAPI_KIND_TESTS(test)                                                                          \
  test(fibers_of_both_kinds) test(parallel_runtime_lives) test(locks_of_both_kinds)                    \
      test(channels_of_both_kinds) test(threads_use_shared_channels)                                   \
          test(local_objects_refuse_parallel_fibers) test(become_receiving_and_sending)                \
              test(become_locking_and_waiting) test(become_joining) test(become_by_sync_refuses)       \
                  test(ports_of_both_kinds) test(ports_refuse) test(ports_end_with_the_runtime)        \
                      test(selects_of_both_kinds) test(selects_refuse) test(upcalls_of_both_kinds)     \
                          test(transfers_of_both_kinds) test(exception_servers_of_both_kinds)          \
                              test(accepts_and_connects_of_both_kinds) test(streams_are_cancelled)     \
                                  test(async_files_of_both_kinds) test(pools_refuse)                   \
                                      test(async_operations_refuse) test(inline_channels_are_channels) \
                                          test(inline_semaphores_are_semaphores)                       \
                                              test(inline_operations_refuse)

/* Of waits that are inline. */
#define CAPI_INLINE_TESTS(test)                                                         \
  test(inline_sends_meet_each_kind_of_waiter) test(inline_waits_end_when_closed)        \
      test(inline_waits_end_with_the_runtime) test(inline_waits_keep_errno)             \
          test(inline_conditions_wake_in_order) test(inline_joins_give_the_handle_back) \
              test(inline_yields_go_round) test(inline_buffers_lose_nothing_between_workers)

#define CAPI_TESTS(test)                                                                                     \
  test(runtime_lives) test(runtime_has_limits) test(runtime_refuses) test(runtime_steps) test(runtime_posts) \
      test(fibers_join) test(fibers_take_turns) test(fibers_under_policies) test(fibers_park) test(          \
          fibers_sleep) test(fibers_have_names) test(errors_have_texts) test(mutex_excludes)                 \
          test(mutex_refuses) test(null_pointers_are_refused) test(second_joins_are_refused) test(           \
              blocking_outside_of_fibers_is_refused) test(condition_wakes) test(condition_times_out)         \
              test(channel_rendezvous) test(channel_buffers) test(channel_closes) test(channel_refuses)      \
                  test(coroutine_sums) test(coroutine_refuses) test(coroutine_in_fiber) test(tcp_echo)       \
                      test(tcp_times_out) test(tcp_closed_meanwhile) test(one_at_a_time) test(tcp_refuses)   \
                          test(signals_come) test(readiness_tells) test(offload_runs) test(files_work) test( \
                              unwind_fibers) test(unwind_condition) test(unwind_join) test(unwind_coroutine) \
                              test(unwind_without_cleanups) test(become_loops) test(become_takes_states)     \
                                  test(yields_go_on_elsewhere) test(slices_end) test(dumps_are_written)      \
                                      test(stacks_are_measured) test(stacks_may_be_small) test(              \
                                          calls_run_on_large_stacks) test(become_reading_holds_no_stack)     \
                                          test(become_reading_times_out) test(become_reading_until_closed)   \
                                              test(become_reading_until_the_end) test(become_writing_waits)  \
                                                  test(become_accepting_waits)                               \
                                                      test(become_waits_for_other_descriptors)               \
                                                          test(become_reading_refuses)                       \
                                                              test(waits_that_time_out_consume_nothing)      \
                                                                  test(tcp_releases) test(look_up_finds)     \
                                                                      test(become_waits)                     \
                                                                          CAPI_KIND_TESTS(test)              \
                                                                              CAPI_INLINE_TESTS(test)

#define CAPI_DECLARE(test) int test(void);
CAPI_TESTS(CAPI_DECLARE)

/* For files with fibers: the first failure in any of them. */
#define CHECK(condition) \
  do {                   \
    if (!(condition))    \
      return __LINE__;   \
  } while (0)

#define EXPECT(condition)                                                          \
  do {                                                                             \
    if (!(condition) && __atomic_load_n(&capi_failed_line, __ATOMIC_RELAXED) == 0) \
      __atomic_store_n(&capi_failed_line, __LINE__, __ATOMIC_RELAXED);             \
  } while (0)

extern int capi_failed_line;

/* Runs `function` in its own runtime; returns the line that EXPECT noted, or -1 if the runtime failed. */
int capi_run(sennit_function function, void* argument);
/* Like capi_run, in a runtime of four workers, and again in one whose fibers migrate at each switch. */
int capi_run_parallel(sennit_function function, void* argument);
/* Both. The argument points to a bool: whether the runtime is parallel, so that objects must be shared. */
int capi_run_both(sennit_function function);

/* Two streams that are connected with each other. Negative: there are none. */
int capi_make_pair(struct sennit_tcp_stream* ends[2]);

/* Of a variable that is to be cleaned up: as a failed EXPECT in its line. */
void capi_note_line(const int* line);

/* Called back from C: throws. */
void capi_throw_runtime_error(void* argument);
void capi_throw_no_space(void* argument);

/* Yields with a pthread mutex held. */
void yield_with_mutex(void* argument);

/* Would lose what they hold. */
void become_with_cleanup(void* argument);
void become_reading_with_cleanup(void* argument);
void become_in_coroutine(void* argument);

/* In plain_test.c, which is compiled without -fexceptions: parks, and counts in *argument if it is cleaned
 * up. */
void plain_park(void* argument);
/* In bare_test.c, which is compiled without unwind tables. */
void bare_park(void* argument);

#ifdef __cplusplus
}
#endif

#endif
