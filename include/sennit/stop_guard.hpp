// sennit::stop_guard: ends what a fiber waits for when somebody requests a stop.
// room: sched
//
//   std::stop_source stop;
//   auto fiber = sennit::spawn([token = stop.get_token()] {
//     sennit::stop_guard guard(token);
//     requests.receive();  // throws sennit::cancelled once stop is requested
//   });
//   stop.request_stop();
//   fiber.join();
//
// Any number of waits, of any kind, end by one guard: of locks, channels, joins, sleep, I/O, ... So they need
// no stop token each. sennit::scope has guards for its fibers, which count where those have no stack, too;
// the failure of one of them also ends the waits of the scope's owner. A fiber that gives up its stack cannot
// hold one of its own: its waits are sennit::stoppable() (become.hpp).
#pragma once

#include <stop_token>
#include <utility>

#include "sennit/detail/sched/stop.hpp"

namespace sennit {

// What a wait throws when stop was requested; no std::exception, so that handlers of errors let it pass.
// Where a fiber's function is left by it, the fiber just ends: its join() returns. A handler that catches
// everything must rethrow it, as it must what a fiber is unwound by when its runtime ends; who catches it on
// purpose goes on, but the next wait throws again.
struct cancelled : detail::forced_unwind {};

// While it lives, waits of the calling fiber or OS thread throw sennit::cancelled once the token's stop was
// requested: those that go on then, on whichever worker, and those that begin later; a wait that need not
// wait (a free mutex, bytes that are there) does not throw. What is waited for stays as if it had not been
// waited for; a condition variable's lock is held again. Waits in destructors that run because of an
// exception do not throw (but those of a generator or coroutine that such a destructor resumes: it needs a
// stop_shield). Destructors that run otherwise need one, too, if they wait: what is thrown in them ends the
// program by std::terminate(), as in any noexcept function. A yield is no wait.
//
// Guards of one fiber are nested, and all of them count, up to the innermost stop_shield. They are used by
// the fiber or thread that makes them, which is not to hold one in a generator or coroutine across its
// yields. Works in fibers of every runtime and in OS threads (which waits of sennit:: types block). Throws
// std::bad_alloc in a fiber of a local runtime.
class stop_guard {
public:
  explicit stop_guard(std::stop_token token)
      : link_(detail::stop_link::kind::guard), callback_(std::move(token), notify{link_}) {}

private:
  struct notify {
    detail::stop_link& link;
    void operator()() const noexcept { link.tell(); }
  };

  detail::stop_link link_;
  std::stop_callback<notify> callback_;  // gone before the link
};

// While it lives, the calling fiber's or thread's waits do not end by guards that were made before it: for
// what must be finished in any case.
class stop_shield {
private:
  detail::stop_link link_{detail::stop_link::kind::shield};
};

// Whether a wait of the caller would throw sennit::cancelled, or the error of a fiber of its scope
// (scope.hpp). For loops that do not wait.
bool stop_requested() noexcept;

}  // namespace sennit
