// Code that looks where there may be no memory.
#pragma once

namespace sennit::inline v0_1::detail {

// Calls look(argument). Returns false if it accessed missing memory; it was left at that point, so it must
// hold no lock and own nothing. On threads that fault_watch_thread() knows; async-signal-safe.
bool fault_survived(void (*look)(void* argument), void* argument) noexcept;

// The fault handler's: goes back to the caller of fault_survived, if the thread is in one.
void fault_escape() noexcept;

}  // namespace sennit::inline v0_1::detail
