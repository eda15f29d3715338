// sennit::local::select_list: a select over as many cases of one local runtime as a program has at run time.
// room: sync
//
//   sennit::local::select_list list;
//   for (sennit::local::channel<job>& each : sources)
//     list.add(sennit::on_receive(each, [&](std::optional<job> next) { ... }));
//   while (list.select()) {
//   }
#pragma once

#include "sennit/detail/sync/basic_select_list.hpp"
#include "sennit/detail/sync/one_thread.hpp"
#include "sennit/select.hpp"

namespace sennit::inline v0_1::local {

/// Like sennit::select_list, with the same members and results, without locks, for the fibers of one local
/// runtime. Its cases are of sennit::local channels and of streams.
class select_list final : public detail::basic_select_list<detail::one_thread> {};

}  // namespace sennit::inline v0_1::local
