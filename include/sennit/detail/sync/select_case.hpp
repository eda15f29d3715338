// The cases of a select, and how one of them is chosen.
//
// Two selects may be each other's peers. So a case is not simply tried again after a change: it waits in its
// object's list like any waiter, and one claim decides which case was taken. No two cases may be taken. So
// the locks of all objects are held, in address order, while the cases are tried and then entered. Once they
// are entered, only other fibers and threads take them.
//
// An object without such a lock (a file descriptor) cannot hand anything over. The select looks at it before
// and after, and tries all cases again if that object takes the claim.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sennit/detail/sync/biased_lock.hpp"
#include "sennit/detail/wait/wait.hpp"

namespace sennit::inline v0_1::detail {

// A peer whose wait an attempt has ended. It is woken after the locks are released.
struct later_wake {
  void (*wake)(fiber* who) = nullptr;
  fiber* who = nullptr;
};

// The case is the waiter of its object. A waker that takes it takes the select's other cases out of the same
// object, too: the object may be gone once the select has been served.
class select_case : public multi_wait_node {
public:
  // Where the peers may be.
  enum class family : std::uint8_t { any, shared, local };

  using list = std::span<select_case* const>;
  static constexpr std::size_t none = ~std::size_t{0};  // no case's number

  // `waits_in`: the object in whose lists the case waits; null: in none.
  explicit select_case(const void* waits_in = nullptr) noexcept : object(waits_in) {}
  select_case(const select_case&) = delete;
  select_case& operator=(const select_case&) = delete;

  virtual time_point deadline() const noexcept { return never; }
  // Without locks, before every round. May throw.
  virtual void look() {}
  virtual any_lock lock() const noexcept { return {}; }
  // Under the lock. Returns true if the case could be done, and is. Throws what moving a value throws; then
  // nothing has happened, and a peer that was taken is woken to wait again.
  virtual bool attempt(later_wake&) { return false; }
  // Under the lock.
  virtual void enter() noexcept {}
  virtual void leave() noexcept {}
  // In place of leave(), of the case that was taken: its object may be gone.
  virtual void served() noexcept {}
  // Without locks, after all others have entered. False: look again.
  virtual bool watch() { return true; }
  // Taken by a peer. Returns false if the select must look again. Throws what moving a value threw.
  virtual bool complete() { return true; }

  const void* const object;

protected:
  ~select_case() = default;
};

// Calls the function of the chosen case; `chosen` is its number, and none means no case. All cases release
// what they hold before that, so the function may use them.
template <class... Cases>
void finish_chosen(std::size_t chosen, Cases&... cases) {
  const auto release = []<class Case>(Case& each) {
    if constexpr (requires { each.release_source(); })
      each.release_source();
  };
  (release(cases), ...);
  std::size_t number = 0;
  ((number++ == chosen ? cases.finish() : void()), ...);
}

// Waits until a case can be done, does it, and returns its number. With `otherwise` it does not wait:
// cases.size(), if none can be done. Throws as any wait, and what attempts throw.
std::size_t select_one(select_case::list cases, select_case::family among, bool otherwise);

}  // namespace sennit::inline v0_1::detail
