// The parts of a select that are the same for all cases.
#include "sennit/detail/sync/select_one.hpp"

#include <cassert>

#include "sennit/detail/sync/select_wait.hpp"

namespace sennit::inline v0_1::detail {

void link_same_objects(std::span<select_node> nodes) noexcept {
  for (std::size_t joins = 1; joins < nodes.size(); ++joins)
    for (select_node& earlier : nodes.first(joins))
      if (nodes[joins].object != nullptr && earlier.object == nodes[joins].object) {
        nodes[joins].beside = earlier.beside != nullptr ? earlier.beside : &earlier;
        earlier.beside = &nodes[joins];
        break;
      }
}

multi_wait::kind kind_of_select(select_case::family among) noexcept {
  if (among == select_case::family::shared)
    return multi_wait::kind::any;
  if (among == select_case::family::local) {
    [[maybe_unused]] const worker& w = running_worker_for("select");
    assert(w.is_local() && "sennit: a fiber of a parallel runtime selects among local channels");
    return multi_wait::kind::local;
  }
  const worker* const w = this_worker();
  return w != nullptr && w->is_local() && w->ready.running() ? multi_wait::kind::local
                                                             : multi_wait::kind::any;
}

select_wait_base::~select_wait_base() = default;

}  // namespace sennit::inline v0_1::detail
