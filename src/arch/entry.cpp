// What happens to an exception that would leave an entry function.
#include <cxxabi.h>
#include <unwind.h>

#include <exception>

// The personality of the frames below entry functions and scheduler steps. An exception gets here only if no
// frame above catches it. It must not propagate into the frames of a resumer, which belong to another
// context. Called in the search phase, before any frame is unwound, so that a core dump shows the throw.
#if defined(__ARM_EABI_UNWINDER__)
extern "C" _Unwind_Reason_Code __gnu_unwind_frame(_Unwind_Control_Block*, _Unwind_Context*);

extern "C" _Unwind_Reason_Code sennit_entry_personality(_Unwind_State state, _Unwind_Control_Block* exception,
                                                        _Unwind_Context* context) noexcept {
  // ARM's backtraces ask personalities, too, for the next frame.
  if (state == (_US_VIRTUAL_UNWIND_FRAME | _US_FORCE_UNWIND))
    return __gnu_unwind_frame(exception, context) == _URC_OK ? _URC_CONTINUE_UNWIND : _URC_FAILURE;
  const bool forced = state & _US_FORCE_UNWIND;
#else
extern "C" [[noreturn]] _Unwind_Reason_Code sennit_entry_personality(int, _Unwind_Action actions,
                                                                     _Unwind_Exception_Class,
                                                                     _Unwind_Exception* exception,
                                                                     _Unwind_Context*) noexcept {
  const bool forced = actions & _UA_FORCE_UNWIND;
#endif
  // std::terminate's handler prints the exception being handled.
  if (!forced)
    abi::__cxa_begin_catch(exception);
  std::terminate();
}
