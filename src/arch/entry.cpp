// What happens to an exception that would leave an entry function.
#include <cxxabi.h>
#include <unwind.h>

#include <exception>

// The personality of the frames below entry functions and deciders. An exception gets here only when nothing
// above catches it; it must not go on into the frames of a resumer, which are of another context. Called in
// the search phase, before anything is unwound, so that a core dump shows where it was thrown.
extern "C" [[noreturn]] _Unwind_Reason_Code sennit_entry_personality(int, _Unwind_Action actions,
                                                                     _Unwind_Exception_Class,
                                                                     _Unwind_Exception* exception,
                                                                     _Unwind_Context*) noexcept {
  // std::terminate's handler prints the exception being handled.
  if (!(actions & _UA_FORCE_UNWIND))
    abi::__cxa_begin_catch(exception);
  std::terminate();
}
