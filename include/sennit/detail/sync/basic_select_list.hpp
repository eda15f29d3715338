// Lists of the cases of a select, over either policy (basic_wait_queue.hpp).
#pragma once

#include <cstddef>
#include <optional>
#include <type_traits>
#include <utility>

#include "sennit/detail/sync/channel_cases.hpp"
#include "sennit/detail/sync/listed_case.hpp"
#include "sennit/detail/timer/chrono.hpp"

namespace sennit::inline v0_1::detail {

/// The members of sennit::select_list and sennit::local::select_list.
template <class Policy>
class basic_select_list {
public:
  /// An empty list.
  ///
  /// \throws std::bad_alloc if there is no memory
  basic_select_list() = default;
  basic_select_list(const basic_select_list&) = delete;
  basic_select_list& operator=(const basic_select_list&) = delete;
  /// Destroys the cases.
  ///
  /// \pre No fiber or thread selects with the list, and none of its functions is being called. Otherwise
  ///   fatal.
  ~basic_select_list() = default;

  /// Adds a case: `on_receive`, `on_send`, `on_readable` or `on_writable`, made in the call. The case stays
  /// in the list when it was chosen, except one that sends: its value is gone, so it is removed before its
  /// function is called.
  ///
  /// The case's channel or stream must exist whenever a select of the list runs. Values and functions must
  /// move without throwing.
  ///
  /// \returns the number of the case: the least one that no other case of the list has. It stays the same
  ///   until the case is removed.
  /// \throws std::bad_alloc if there is no memory; then the list is unchanged
  template <class Case>
  std::size_t add(Case added) {
    constexpr bool is_timeout = requires { Case::is_timeout; };
    constexpr bool waits = std::is_base_of_v<select_case, Case>;
    static_assert(is_made<Case>,
                  "sennit: add() takes a case: on_receive(), on_send(), on_readable() or on_writable()");
    static_assert(!is_made<Case> || waits, "sennit: a select_list has no otherwise(): call try_select()");
    static_assert(!is_timeout, "sennit: a select_list has no on_timeout(): call select_until()");
    if constexpr (waits && !is_timeout) {
      static_assert(Case::among == select_case::family::any ||
                        (Case::among == select_case::family::shared) == Policy::is_shared,
                    "sennit: a select_list of sennit:: has cases of channels of sennit::, and one of "
                    "sennit::local:: has cases of channels of sennit::local::");
      return cases_.add(new listed<typename channel_cases::kept<Case>::type>(std::move(added)));
    }
  }

  /// Takes a case out of the list and destroys it. A function that is being called may remove its own case:
  /// that is then destroyed after the call.
  ///
  /// \returns false if no case has this number
  bool remove(std::size_t number) noexcept { return cases_.remove(number); }
  /// Removes all cases.
  void clear() noexcept { cases_.clear(); }
  /// \returns the number of cases
  std::size_t size() const noexcept { return cases_.size(); }
  /// \returns whether there are no cases
  bool empty() const noexcept { return cases_.size() == 0; }

  /// Waits until one of the cases can be done, does it, and calls its function, as sennit::select() does.
  ///
  /// \returns the number of the chosen case; empty, at once, if the list is empty
  /// \throws sennit::cancelled if a stop_guard ends the wait
  /// \throws whatever the case's function or the move of a value throws
  std::optional<std::size_t> select() { return cases_.template select<Policy::is_shared>(never, true); }
  /// Like select(), but gives up at a deadline.
  ///
  /// \returns the number of the chosen case; empty if the deadline has passed, or the list is empty
  std::optional<std::size_t> select_until(std::chrono::steady_clock::time_point deadline) {
    return cases_.template select<Policy::is_shared>(deadline, true);
  }
  /// Like select(), but does not wait.
  ///
  /// \returns the number of the chosen case; empty if none can be done at once
  std::optional<std::size_t> try_select() { return cases_.template select<Policy::is_shared>(never, false); }

private:
  select_list_cases cases_;
};

}  // namespace sennit::inline v0_1::detail
