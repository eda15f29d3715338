// In the runtime's place: every check calls the scheduler, which goes on at once. What the checks and their
// stubs cost without a time slice.
__thread volatile unsigned char sennit_yield_requested = 1;
void sennit_forced_yield(void);
void sennit_forced_yield(void) {}
// What src/sched/no_yield_calls.cpp calls.
void sennit_no_yield_begin(void);
void sennit_no_yield_begin(void) {}
void sennit_no_yield_end(void);
void sennit_no_yield_end(void) {}
