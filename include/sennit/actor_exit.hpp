// sennit::actor_exit: how an actor has ended.
// room: sync
//
//   worker.monitor(inbox.self(), [](sennit::actor_exit exit) { return message{worker_ended{exit}}; });
//
// Actors of both kinds of runtimes use it (actor.hpp).
#pragma once

#include <exception>

#include "sennit/detail/arch/exceptions.hpp"

namespace sennit::inline v0_1 {

/// Why an actor has ended.
enum class exit_reason : unsigned char {
  /// It ended by itself: its behaviour returned, or it called inbox::stop() and handled what was queued.
  normal,
  /// stop() was called, or the last reference was destroyed. It handled what was queued.
  stopped,
  /// cancel() was called, or its scope or its runtime ended it. Queued messages were destroyed.
  cancelled,
  /// An exception left its behaviour, or that of a linked actor. Queued messages were destroyed.
  failed
};

/// How an actor has ended: the notice that a monitor delivers, and the result of actor_ref::wait().
struct actor_exit {
  /// Why it has ended.
  exit_reason reason = exit_reason::normal;
  /// The exception of a failed actor. Null for all other reasons.
  std::exception_ptr error = nullptr;
};

}  // namespace sennit::inline v0_1
