// sennit::local::wait_list: waits of one's own, for the fibers of one local runtime.
// room: sync
//
//   sennit::local::wait_list<int> readers;
//   int number = 0;
//   readers.wait(number, [](int&) { return true; });  // until another fiber has stored one
//
//   readers.locked([](auto& waiting) { waiting.wake_first([](int& place) { place = 7; }); });
//
// Source: Draves et al. 1991, sections 2.3 and 2.4 (stack handoff and continuation recognition).
#pragma once

#include "sennit/detail/sync/basic_wait_list.hpp"
#include "sennit/detail/sync/one_thread.hpp"

namespace sennit::inline v0_1::local {

/// Like sennit::wait_list, with the same members, without atomic operations and without a lock: only one
/// fiber runs at a time. Only fibers of one local runtime may use it.
template <class Offer>
class wait_list final : public detail::basic_wait_list<detail::one_thread, Offer> {};

}  // namespace sennit::inline v0_1::local
