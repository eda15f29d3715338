// What the tests of backtraces have in common. With RUNTIME, the runtime's part: a yield looks whether its
// backtrace names who was stopped, `caller` and main.
#include <stdint.h>
#include <stdio.h>

typedef long function(volatile int* end);
extern __thread volatile unsigned char sennit_yield_requested;
extern __attribute__((visibility("hidden"))) volatile int stop, right;
extern function* volatile wanted;
long caller(function* called);
int main(void);

#if defined(RUNTIME)
#include <unwind.h>

__thread volatile unsigned char sennit_yield_requested;
volatile int stop, right;
function* volatile wanted;

enum { most = 8 };
struct trace {
  uintptr_t functions[most];
  int count;
};

static _Unwind_Reason_Code note(struct _Unwind_Context* frame, void* into) {
  struct trace* trace = into;
  if (trace->count == most)
    return _URC_END_OF_STACK;
  trace->functions[trace->count++] = _Unwind_GetRegionStart(frame);
  return _URC_NO_REASON;
}

void sennit_forced_yield(void) {
  struct trace trace = {.count = 0};
  _Unwind_Backtrace(note, &trace);
  sennit_yield_requested = 0;
  stop = 1;
  right = trace.count >= 5 && trace.functions[2] == (uintptr_t)wanted &&
          trace.functions[3] == (uintptr_t)caller && trace.functions[4] == (uintptr_t)main;
}
#endif
