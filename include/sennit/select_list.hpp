// sennit::select_list: a select over as many cases as a program has at run time.
// room: sync
//
//   sennit::select_list list;
//   for (sennit::channel<job>& each : sources)
//     list.add(sennit::on_receive(each, [&](std::optional<job> next) { ... }));
//   while (list.select()) {
//   }
//
// If the number of cases is known when the program is compiled, sennit::select (select.hpp) is quicker.
#pragma once

#include "sennit/detail/sync/any_thread.hpp"
#include "sennit/detail/sync/basic_select_list.hpp"
#include "sennit/select.hpp"

namespace sennit::inline v0_1 {

/// The cases of a select, which may be added and removed between selects.
///
/// \code
///   select_list l;                        // empty
///   size_t l.add(on_receive(c, f));       // the number of the case; also on_send, on_readable, on_writable
///   bool l.remove(number);                // false: there is no such case
///   void l.clear();
///   size_t l.size();
///   bool l.empty();
///   optional<size_t> l.select();          // waits, and calls f; the number of the case; empty: no cases
///   optional<size_t> l.select_until(at);  // empty: the deadline has passed, or there are no cases
///   optional<size_t> l.try_select();      // empty: no case can be done at once
/// \endcode
///
/// A function may change the list, so that a case can remove itself when its channel is closed:
///
/// \code
///   std::size_t mine = 0;
///   mine = list.add(on_receive(numbers, [&](std::optional<int> n) {
///     if (n)
///       sum += *n;
///     else
///       list.remove(mine);  // otherwise a closed channel is chosen again and again
///   }));
/// \endcode
///
/// - One fiber or thread at a time uses a list. Use by another one while a select waits is fatal where it is
///   detected.
/// - Functions may add and remove cases, and select with the list. They must not destroy it.
/// - A case that sends is removed when it was chosen.
/// - Order: if several cases can be done, a select does one of them, each with the same probability.
/// - Lifetime: the channel or stream of each case must exist whenever a select of the list runs.
/// - Callers: fibers of parallel runtimes, and OS threads if all cases are of channels.
/// - Cost of changes: add() allocates memory for the case. Both add() and remove() find its place in
///   logarithmic time, and move at most one pointer for each other case. clear() takes the time to destroy
///   the cases.
/// - Cost of a select: it allocates nothing. It takes two virtual calls for each case that it tries. A select
///   that waits also locks all channels, enters all of them, and leaves them: its time grows with the number
///   of cases.
class select_list final : public detail::basic_select_list<detail::any_thread> {};

}  // namespace sennit::inline v0_1
