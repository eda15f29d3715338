// sennit::local::wait_list: waits of one's own, for the fibers of one local runtime.
// room: sync
//
//   sennit::local::wait_list<int> readers;
//   int number = 0;
//   readers.wait(number);                // until another fiber has stored one
//
//   if (auto reader = readers.take_first()) {
//     *reader = 7;
//     readers.wake(std::move(reader));
//   }
//
// Source: Draves et al. 1991, sections 2.3 and 2.4 (stack handoff and continuation recognition).
#pragma once

#include "sennit/detail/sync/basic_wait_list.hpp"
#include "sennit/detail/sync/one_thread.hpp"

namespace sennit::inline v0_1::local {

/// Like sennit::wait_list, with the same members, without atomic operations. lock() and unlock() do nothing:
/// only one fiber runs at a time. Only fibers of one local runtime may use it.
template <class Offer>
class wait_list final : public detail::basic_wait_list<detail::one_thread, Offer> {
public:
  using detail::basic_wait_list<detail::one_thread, Offer>::basic_wait_list;
};

}  // namespace sennit::inline v0_1::local
