// How references, inboxes and results of actors are made.
#pragma once

#include <type_traits>

#include "sennit/channel_result.hpp"
#include "sennit/detail/sync/actor_cell.hpp"
#include "sennit/detail/sync/basic_future.hpp"

namespace sennit::inline v0_1::detail {

template <class M, class Kind>
class basic_actor_ref;
template <class M, class Kind>
class basic_inbox;

struct actor_access {
  template <class M, class Kind>
  using cell = actor_cell<M, typename Kind::policy>;

  // The first reference.
  template <class M, class Kind>
  static basic_actor_ref<M, Kind> adopt(cell<M, Kind>& made) noexcept {
    made.add_holder();
    return basic_actor_ref<M, Kind>(made);
  }
  template <class M, class Kind>
  static basic_actor_ref<M, Kind> refer(cell<M, Kind>& to) noexcept {
    to.add_reference();
    return basic_actor_ref<M, Kind>(to);
  }
  template <class M, class Kind>
  static basic_inbox<M, Kind> inbox_of(cell<M, Kind>& of) noexcept {
    return basic_inbox<M, Kind>(of);
  }
};

// What ask() needs to know of a future, and to make of a result.
struct ask_access {
  template <class T, class Policy>
  static bool is_broken(const basic_future<T, Policy>& ready) noexcept {
    return ready.state_->result.index() == future_state<T, Policy>::nothing;
  }
  template <class T>
  static channel_result<T> unanswered(channel_status status) {
    if constexpr (std::is_void_v<T>) {
      return channel_result<T>(status);
    } else {
      channel_result<T> result;
      result.status_ = status;
      return result;
    }
  }
  template <class T, class Policy>
  static channel_result<T> take(basic_future<T, Policy>& ready) {
    if (is_broken(ready))
      return unanswered<T>(channel_status::closed);
    if constexpr (std::is_void_v<T>) {
      ready.get();
      return channel_result<T>(channel_status::success);
    } else {
      channel_result<T> result;
      result.emplace(ready.get());
      result.status_ = channel_status::success;
      return result;
    }
  }
};

}  // namespace sennit::inline v0_1::detail
