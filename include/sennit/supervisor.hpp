// sennit::supervisor: a scope whose actors begin again when they fail.
// room: sync
//
//   {
//     sennit::supervisor workers({.restarts = 10, .period = 1min});
//     sennit::actor_ref<job> first = workers.spawn<job>(work);
//     sennit::actor_ref<job> second = workers.spawn<job>(work);
//     first.send(job(1));  // if it throws, the worker begins again, with the next job
//     ...
//   }  // the references are gone, so the workers end after what is queued
#pragma once

#include <utility>

#include "sennit/actor.hpp"
#include "sennit/condition_variable.hpp"
#include "sennit/detail/sync/basic_supervisor.hpp"
#include "sennit/mutex.hpp"

namespace sennit::inline v0_1 {

namespace detail {
struct shared_supervisor {
  using actors = shared_actors;
  using actor_options = sennit::actor_options;
  using scope = sennit::scope;
  using mutex = sennit::mutex;
  using condition_variable = sennit::condition_variable;
  template <class M, class Behaviour>
  static auto spawn_actor(scope& in, Behaviour behaviour, const actor_options& options) {
    return sennit::spawn_actor<M>(in, std::move(behaviour), options);
  }
  static void yield() { this_fiber::yield(); }
};
}  // namespace detail

/// A scope whose actors begin again when an exception leaves their behaviour.
///
/// \code
///   supervisor s({.policy = restart_policy::one_for_one, .restarts = 3, .period = 5s});
///   actor_ref<M> s.spawn<M>(behaviour, options);  // the owner; the behaviour must be copyable
///   void s.join();                                // the owner; throws the error that was one too many
///   bool s.join_until(deadline), s.join_for(duration);
///   void s.request_stop();                        // any thread; cancels all actors
///   size_t s.restarts();                          // any thread; failures after which
///                                                 // actors began again
///   ~supervisor();                                // joins, as a scope
/// \endcode
///
/// - Restart: the actor gets a copy of its behaviour as it was when it was started. References stay valid,
///   and what is queued in its mailbox is kept. The message that it was handling is lost, and an ask() that
///   sent it gets status() closed. Monitors and links do not see a restart. Other fibers run before an
///   actor with a stack begins again. If copying throws, that is a failure, too.
/// - Policy: one_for_one restarts the actor that failed. rest_for_one also restarts the actors that were
///   started after it, and one_for_all restarts all. Waits of the others throw sennit::cancelled. None
///   begins again before all of them have left their behaviours. What they were handling is lost, too, and
///   an exception with which one leaves is part of the restart: it is no failure of its own. An actor without
///   a stack first handles its current message.
/// - Limit: if there are more failures than `restarts` within a `period`, the last one is not handled. Its
///   exception fails the scope: all actors are cancelled, and the owner's wait, join() or the destructor
///   throws it. If the owner is itself an actor of another supervisor, that one restarts it with all of its
///   actors.
/// - End: an actor whose behaviour returns, or that is stopped or cancelled, does not begin again. Declare
///   references after the supervisor: they are destroyed first, which stops the actors.
/// - Owner and threads: as for sennit::scope. References may be used as elsewhere.
class supervisor final : public detail::basic_supervisor<detail::shared_supervisor> {
public:
  using detail::basic_supervisor<detail::shared_supervisor>::basic_supervisor;
};

}  // namespace sennit::inline v0_1
