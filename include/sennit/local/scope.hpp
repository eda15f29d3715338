// sennit::local::scope: fibers of a local runtime that end before a block does.
// room: sync
//
//   {
//     sennit::local::scope scope;
//     for (const std::string& host : hosts)
//       scope.spawn([&] { fetch(host); });
//   }  // all have ended; if one threw, the others were stopped, and its exception comes out here
#pragma once

#include <utility>

#include "sennit/detail/sync/basic_scope.hpp"
#include "sennit/local/fiber.hpp"
#include "sennit/local/wait_group.hpp"

namespace sennit::inline v0_1::detail {
struct local_scope {
  static constexpr auto notifier = stop_link::thread::own;
  using spawn_options = local::spawn_options;
  using wait_group = local::wait_group;
  template <class Function>
  static auto spawn(Function&& function, const spawn_options& options) {
    return local::spawn(std::forward<Function>(function), options);
  }
  static auto spawn(continuation begins) { return local::spawn(std::move(begins)); }
};
}  // namespace sennit::inline v0_1::detail

namespace sennit::inline v0_1::local {

class exception_server;

/// Like sennit::scope, with the same members and results, for fibers of one local runtime: its owner and all
/// its fibers belong to it. request_stop(), stop_requested() and get_token() may be called from any thread
/// here, too.
class scope final : public detail::basic_scope<detail::local_scope> {
public:
  /// A scope without fibers. If the owner is a fiber of a scope that has an exception server, the new scope
  /// has it as well.
  ///
  /// \throws std::bad_alloc if there is no memory
  scope() = default;
  /// A scope whose fibers' faults go to a server. See sennit::scope.
  ///
  /// \throws std::bad_alloc if there is no memory
  explicit scope(exception_server& faults);
};

}  // namespace sennit::inline v0_1::local
