// The cases of a select, and sets of them. How one is chosen: select_one.hpp.
//
// A case is a class that is derived from select_case. It hides those members that do something for it, so
// that all calls of a select are bound when it is compiled. (A select_list calls them by a virtual function.)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

#include "sennit/detail/arch/inline.hpp"
#include "sennit/detail/sync/biased_lock.hpp"
#include "sennit/detail/sync/lock_set.hpp"
#include "sennit/detail/wait/wait.hpp"

namespace sennit::inline v0_1::detail {

using lock_set = basic_lock_set<any_lock>;

// A peer whose wait an attempt has ended. It is woken after the locks are released.
class later_wake {
public:
  SENNIT_INLINE void keep(fiber* who) noexcept {
    who_ = who;
    any_ = true;
  }
  SENNIT_INLINE void now() noexcept {
    if (any_)
      make_ready(who_);
  }

private:
  fiber* who_ = nullptr;
  bool any_ = false;
};

// What an attempt does with such a peer. In a local runtime there is no lock to be released before.
template <class Policy>
SENNIT_INLINE auto wake_later([[maybe_unused]] later_wake& later) noexcept {
  if constexpr (Policy::is_shared)
    return [&later](fiber* who) { later.keep(who); };
  else
    return [](fiber* who) { Policy::make_ready(who); };
}

// What waits for a case in its object, as any waiter does. A waker that takes it takes the select's other
// nodes out of the same object, too: the object may be gone once the select has been served.
struct select_node : multi_wait_node {
  const void* object = nullptr;  // in which the case waits; null: in none
  bool watches = false;          // is in the word of a side of a file descriptor (select_io.hpp)
};

// The members that a case may hide, as they are for a case that waits for nothing.
class select_case {
public:
  // Where the peers may be.
  enum class family : std::uint8_t { any, shared, local };
  static constexpr family among = family::any;

  static constexpr std::size_t none = ~std::size_t{0};  // no case's number

  select_case() noexcept = default;
  select_case(const select_case&) = delete;
  select_case& operator=(const select_case&) = delete;

  // The object in whose lists or words the case waits.
  const void* object() const noexcept { return nullptr; }
  time_point deadline() const noexcept { return never; }
  any_lock lock() const noexcept { return any_lock{}; }
  // If it has a lock; without it: returns false if there was a moment since the call at which the case could
  // not be done.
  bool looks_ready() const noexcept { return true; }
  // Under the lock. Returns true if the case could be done, and is. Throws what moving a value throws; then
  // nothing has happened, and a peer that was taken is woken to wait again.
  bool attempt(later_wake&) { return false; }
  // Under the lock. leave(): if the node was taken out before, nothing happens.
  void enter(select_node&) noexcept {}
  void leave(select_node&) noexcept {}
  // Taken by a peer. Returns false if the select must look again. Throws what moving a value threw.
  bool complete(const select_node&) { return true; }

  // An object without a lock cannot hand anything over. Cases of such objects also have:
  //   void look();                 before every round, without locks. May throw.
  //   bool watch(select_node&);    without locks, after all others have entered. False: look again.
  //   void served(select_node&);   in place of leave(), of the case that was taken

protected:
  ~select_case() = default;
};

template <class Case>
concept watching_case = requires(Case& of, select_node& me) {
  of.look();
  of.watch(me);
  of.served(me);
};

template <class... Moved>
constexpr void must_move_without_throwing() noexcept {
  static_assert((... && std::is_nothrow_move_constructible_v<Moved>),
                "sennit: values and functions of a select_list and of selecting() move without throwing; a "
                "function that captures a const object copies it instead: capture it as [x = x]");
}

// A case as on_receive() and others return it. The case may refer to temporaries of the call that it is made
// in. So it is never moved: functions take it as a parameter, and as a parameter of its own type it is
// constructed in place.
template <class Case>
class made final : public Case {
public:
  using Case::Case;
  made(const made& other) : Case(static_cast<Case&&>(const_cast<made&>(other))) {
    static_assert(sizeof(Case) == 0,
                  "sennit: a case is made in the call of select(), selecting() or add(): write "
                  "select(on_receive(...), ...), and keep no case in a variable");
  }
  made& operator=(const made&) = delete;
};
template <class Case>
inline constexpr bool is_made = false;
template <class Case>
inline constexpr bool is_made<made<Case>> = true;

// Makes the nodes of each object a ring.
void link_same_objects(std::span<select_node> nodes) noexcept;

// The cases of one call, of a set (select_one.hpp) whose size the compiler knows. More arguments may follow
// them.
template <std::size_t Count, class... Cases>
class case_pack {
  template <std::size_t I>
  using type_of = std::tuple_element_t<I, std::tuple<Cases...>>;

  template <class Test>
  static constexpr bool any_of(Test test) noexcept {
    return [test]<std::size_t... I>(std::index_sequence<I...>) {
      return (false || ... || test.template operator()<type_of<I>>());
    }(std::make_index_sequence<Count>());
  }
  template <select_case::family is>
  static constexpr bool has_family = any_of([]<class Case> { return Case::among == is; });

public:
  using family = select_case::family;
  static_assert(!has_family<family::local> || !has_family<family::shared>,
                "a select is over channels of sennit:: or over those of sennit::local::");
  static constexpr family among = has_family<family::local>    ? family::local
                                  : has_family<family::shared> ? family::shared
                                                               : family::any;
  static constexpr bool watches = any_of([]<class Case> { return watching_case<Case>; });

  SENNIT_INLINE explicit case_pack(Cases&... cases) noexcept : cases_(cases...) {}

  static constexpr std::size_t size() noexcept { return Count; }
  static constexpr std::size_t most = Count;
  // Returns visit(case), of the case with this number.
  template <std::size_t I = 0, class Visit>
  SENNIT_INLINE auto visit(std::size_t number, Visit visit) {
    if constexpr (I + 1 == Count)
      return visit(std::get<I>(cases_));
    else
      return number == I ? visit(std::get<I>(cases_)) : this->visit<I + 1>(number, visit);
  }
  // Calls visit(case, number) for each case.
  template <class Visit>
  SENNIT_INLINE void each(Visit visit) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (visit(std::get<I>(cases_), I), ...);
    }(std::make_index_sequence<Count>());
  }

  time_point deadline() noexcept { return earliest().second; }
  // The case whose deadline has passed.
  std::size_t due() noexcept { return earliest().first; }

  any_lock* lock_places() noexcept { return locks_.data(); }
  using nodes = std::array<select_node, Count>;
  static nodes make_nodes() noexcept { return {}; }

private:
  std::pair<std::size_t, time_point> earliest() noexcept {
    std::pair<std::size_t, time_point> first(0, never);
    each([&first](auto& of, std::size_t number) {
      if (const time_point its = of.deadline(); its < first.second)
        first = {number, its};
    });
    return first;
  }

  std::tuple<Cases&...> cases_;
  std::array<any_lock, among == family::shared ? Count : 0> locks_;  // not initialized
};

// Calls the function of the chosen case; `chosen` is its number, and none means no case. All cases release
// what they hold before that, so the function may use them.
template <class... Cases>
SENNIT_INLINE void finish_chosen(std::size_t chosen, Cases&... cases) {
  const auto release = []<class Case>(Case& each) {
    if constexpr (requires { each.release_source(); })
      each.release_source();
  };
  (release(cases), ...);
  std::size_t number = 0;
  ((number++ == chosen ? cases.finish() : void()), ...);
}

}  // namespace sennit::inline v0_1::detail
