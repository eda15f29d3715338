// How a select chooses one of its cases.
//
// It looks at them without locks, in a random order, and does the first one that can be done, under the lock
// of its object. If there is none, it locks all objects and tries all cases again. Now if none can be done,
// that is so for all of them at one moment. Then all are entered into the lists of their objects, before the
// locks are released.
//
// Two selects may be each other's peers. So a case is not simply tried again after a change: it waits in its
// object's list like any waiter, and one claim decides which case was taken. No two cases may be taken. Once
// they are entered, only other fibers and threads take them.
//
// An object without such a lock (a file descriptor) cannot hand anything over. The select looks at it before
// and after, and tries all cases again if that object takes the claim.
//
// In a local runtime there are no locks, and the waker takes the nodes of all cases out of their lists.
//
// A set of cases has:
//
//   among, watches          the cases' family; whether a case is a watching_case
//   size()                  the number of cases
//   most                    what size() is at most, up to 256; or order(): places that have each number below
//                           size() once, in any order
//   visit(number, visit)    returns visit(case)
//   each(visit)             calls visit(case, number) for each
//   deadline(), due()       the earliest deadline, and the number of its case
//   lock_places()           memory for a lock for each case, if they have locks
//   nodes, make_nodes()     a container of a select_node for each case
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sennit/detail/sync/select_case.hpp"
#include "sennit/detail/sync/try_order.hpp"

namespace sennit::inline v0_1::detail {

// What a round of attempts holds. At its end the locks are released, then the peer is woken, also where an
// attempt throws.
struct select_round {
  explicit select_round(any_lock* places) noexcept : locks(places) {}
  select_round(const select_round&) = delete;
  select_round& operator=(const select_round&) = delete;
  ~select_round() {
    locks.release();
    woken.now();
  }
  lock_set locks;
  later_wake woken;
};

// Calls attempt(case) for each case, in a random order, until it returns true. Returns the number of that
// case, or none.
template <class Set, class Attempt>
SENNIT_INLINE std::size_t attempt_in_turn(Set& cases, Attempt attempt) {
  const auto visit = [&](std::size_t number)
                         __attribute__((always_inline)) { return cases.visit(number, attempt); };
  if constexpr (requires { cases.order(); }) {
    return try_many(cases.order(), cases.size(), select_case::none, visit);
  } else if constexpr (Set::most <= 3) {
    return try_few<Set::most>(select_case::none, visit);
  } else {
    auto order = numbers_below<Set::most>();
    return try_many(order.data(), cases.size(), select_case::none, visit);
  }
}

// Under the lock of its object.
template <class Case>
SENNIT_INLINE bool attempt_one(Case& of, any_lock its) SENNIT_NOT_ANALYZED {
  struct attempting {
    SENNIT_INLINE explicit attempting(any_lock at) noexcept SENNIT_NOT_ANALYZED : lock(at) { lock.lock(); }
    SENNIT_INLINE ~attempting() SENNIT_NOT_ANALYZED {
      lock.unlock();
      woken.now();
    }
    const any_lock lock;
    later_wake woken;
  } now(its);
  return of.attempt(now.woken);
}

// Tries the cases that look ready. The result `none` is exact if there are no locks, or only one case.
template <class Set>
SENNIT_INLINE std::size_t attempt_ready(Set& cases) {
  return attempt_in_turn(cases, [](auto& of) __attribute__((always_inline)) {
    later_wake woken;  // without a lock, it is woken at once
    const any_lock its = of.lock();
    return its.at() == nullptr ? of.attempt(woken) : of.looks_ready() && attempt_one(of, its);
  });
}

// Tries all cases, with all locks. If the result is none, they are held.
template <class Set>
std::size_t attempt_locked(Set& cases, select_round& round) {
  cases.each([&round](auto& of, std::size_t) {
    if (const any_lock its = of.lock(); its.at() != nullptr)
      round.locks.add(its);
  });
  round.locks.lock();
  return attempt_in_turn(cases, [&round](auto& of) { return of.attempt(round.woken); });
}

template <class Set>
void look_at_each(Set& cases) {
  if constexpr (Set::watches)
    cases.each([]<class Case>(Case& of, std::size_t) {
      if constexpr (watching_case<Case>)
        of.look();
    });
}

template <class Set>
bool watch_each(Set& cases, typename Set::nodes& nodes) {
  bool all = true;
  if constexpr (Set::watches)
    cases.each([&]<class Case>(Case& of, std::size_t number) {
      if constexpr (watching_case<Case>)
        all = all && of.watch(nodes[number]);
    });
  return all;
}

// With all locks held.
template <class Set>
void enter_each(Set& cases, typename Set::nodes& nodes, multi_wait& wait) noexcept {
  cases.each([&](auto& of, std::size_t number) {
    select_node& me = nodes[number];
    wait.own(me, static_cast<std::uint32_t>(number));
    me.object = of.object();
    me.watches = false;
    if (wait.is_local())
      me.beside = &nodes[number + 1 != cases.size() ? number + 1 : 0];
  });
  if (!wait.is_local() && cases.size() > 1) {
    if constexpr (requires { cases.link_same_objects(); })
      cases.link_same_objects();
    else
      link_same_objects(std::span(nodes.data(), cases.size()));
  }
  cases.each([&](auto& of, std::size_t number) { of.enter(nodes[number]); });
}

// Takes the nodes of all cases out of their lists. The one that was served has been taken out, as have others
// of its object, which may be gone.
template <class Set>
void leave_each(Set& cases, typename Set::nodes& nodes, const multi_wait& wait) noexcept {
  const bool was_served = wait.was_served();
  if (was_served && wait.is_local() && !Set::watches)
    return;  // its waker has taken out all of them
  const std::size_t served = was_served ? wait.place() : select_case::none;
  const void* const gone = was_served ? nodes[served].object : nullptr;
  cases.each([&]<class Case>(Case& of, std::size_t number) {
    select_node& me = nodes[number];
    if (number == served) {
      if constexpr (watching_case<Case>)
        of.served(me);
    } else if (const any_lock its = of.lock(); its.at() == nullptr) {
      of.leave(me);
    } else if (me.object != gone) {
      its.lock();
      of.leave(me);
      its.unlock();
    }
  });
}

// Whether a wait of these cases is on the thread of its wakers. Fatal if they are local, and the caller is no
// fiber of a local runtime.
multi_wait::kind kind_of_select(select_case::family among) noexcept;

// Enters the cases, releases the locks, and waits. Returns the number of the case that was done; none: try
// again.
template <class Set>
std::size_t wait_for_one(Set& cases, lock_set& locks) {
  typename Set::nodes nodes = cases.make_nodes();
  multi_wait wait("select", cases.deadline(), kind_of_select(Set::among));
  enter_each(cases, nodes, wait);
  locks.release();
  bool watched = false;
  bool taken = false;
  {
    struct entered {
      Set& cases;
      typename Set::nodes& nodes;
      const multi_wait& wait;
      ~entered() { leave_each(cases, nodes, wait); }
    } const however{cases, nodes, wait};
    watched = watch_each(cases, nodes);
    taken = watched ? wait.wait() : !wait.cancel();
  }
  if (taken) {
    const std::size_t number = wait.place();
    const bool complete = cases.visit(number, [&](auto& of) { return of.complete(nodes[number]); });
    return complete ? number : select_case::none;
  }
  if (!watched)
    return select_case::none;
  wait.throw_if_interrupted();
  return cases.due();
}

// The part of select_one() after attempt_ready() was in vain.
template <class Set>
[[gnu::noinline]] std::size_t select_slowly(Set& cases, bool waits) {
  constexpr bool locks = Set::among == select_case::family::shared;
  for (bool again = false;; again = true) {
    std::size_t done = select_case::none;
    if (again) {
      look_at_each(cases);
      done = attempt_ready(cases);
    }
    if (done == select_case::none) {
      select_round round(cases.lock_places());
      if (locks)
        done = attempt_locked(cases, round);
      if (done == select_case::none)
        done = waits ? wait_for_one(cases, round.locks) : cases.size();
    }
    if (done != select_case::none)
      return done;
  }
}

// Waits until a case can be done, does it, and returns its number. Without `waits`: cases.size(), if none can
// be done at once. Throws as any wait, and what attempts throw.
template <class Set>
SENNIT_INLINE std::size_t select_one(Set& cases, bool waits) {
  look_at_each(cases);
  const std::size_t done = attempt_ready(cases);
  if (done != select_case::none)
    return done;
  if (!waits && (Set::among != select_case::family::shared || cases.size() == 1))
    return cases.size();
  return select_slowly(cases, waits);
}

}  // namespace sennit::inline v0_1::detail
