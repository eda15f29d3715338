// Waiting for one of several things without a stack (become.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>

#include "sennit/detail/cont/become.hpp"
#include "sennit/detail/sync/select_one.hpp"

namespace sennit::inline v0_1::detail {

// All of it but the cases and their nodes, which it is given. It waits in place: its nodes are known to
// others.
class select_wait_base : public continuation_wait {
public:
  static constexpr const char* reason = "select";

protected:
  select_wait_base() noexcept = default;
  select_wait_base(select_wait_base&& other) noexcept : chosen_(other.chosen_) {}
  ~select_wait_base();  // not inline: gcc 12 would warn that the optional members may be used uninitialized

  template <class Set>
  bool file(fiber& f, Set& cases, typename Set::nodes& nodes, token_watch* stop) noexcept {
    if (Set::among != select_case::family::any)
      must_be_of_kind(f, Set::among == select_case::family::shared, reason);
    for (;;) {
      look_at_each(cases);
      chosen_ = attempt_ready(cases);
      if (chosen_ != select_case::none)
        return false;
      {
        select_round round(cases.lock_places());
        if (Set::among == select_case::family::shared)
          chosen_ = attempt_locked(cases, round);
        if (chosen_ != select_case::none)
          return false;
        enter_each(cases, nodes, claim_.emplace(reason, cases.deadline(), f));
      }
      if (watch_each(cases, nodes)) {
        add_timer(f, cases.deadline());
        return claim_->file(stop);
      }
      if (!claim_->cancel())
        return false;
      leave_each(cases, nodes, *claim_);
    }
  }
  template <class Set>
  bool withdraw(Set& cases, typename Set::nodes& nodes) noexcept {
    const bool withdrawn = claim_->withdraw();
    if (withdrawn)
      forget(cases, nodes);
    return withdrawn;
  }
  // If the cases must be tried again, none is chosen yet; nor if a stop has ended the wait.
  template <class Set>
  void leave(Set& cases, typename Set::nodes& nodes, fiber_status why) noexcept {
    timer_.reset();
    if (!claim_)
      return;
    leave_each(cases, nodes, *claim_);
    if (claim_->was_served()) {
      const std::size_t number = claim_->place();
      if (cases.visit(number, [&](auto& of) { return of.complete(nodes[number]); }))
        chosen_ = number;
    } else if (why != fiber_status::stopped) {
      chosen_ = cases.due();
    }
    claim_.reset();
  }
  // Chooses now, if it is still to be done.
  template <class Set>
  void choose(Set& cases) {
    if (chosen_ == select_case::none)
      chosen_ = select_one(cases, true);
  }
  // The number of the case that was done; or none.
  std::size_t chosen() const noexcept { return chosen_; }
  // No object refers to the nodes any more.
  template <class Set>
  void forget(Set& cases, typename Set::nodes& nodes) noexcept {
    if (!claim_)
      return;
    leave_each(cases, nodes, *claim_);
    claim_.reset();
  }

private:
  void add_timer(fiber& f, time_point deadline) noexcept {
    if (f.home->is_local() && deadline != never)
      timer_.emplace(f.home->deadlines, f, deadline);
  }

  std::size_t chosen_ = select_case::none;
  std::optional<local_timer> timer_;  // of a local runtime
  std::optional<multi_wait> claim_;
};

template <class... Cases>
class select_wait : public select_wait_base {
  using set = case_pack<sizeof...(Cases), Cases...>;

public:
  explicit select_wait(Cases&&... cases) noexcept : cases_(std::move(cases)...) {}
  select_wait(select_wait&& other) noexcept
      : select_wait_base(std::move(other)), cases_(std::move(other.cases_)) {}
  ~select_wait() {
    set cases = all();
    forget(cases, nodes_);
  }

  bool file(fiber& f, token_watch* stop = nullptr) noexcept {
    set cases = all();
    return select_wait_base::file(f, cases, nodes_, stop);
  }
  bool withdraw(fiber&) noexcept {
    set cases = all();
    return select_wait_base::withdraw(cases, nodes_);
  }
  void leave(fiber&, std::uintptr_t&, fiber_status& why) noexcept {
    set cases = all();
    select_wait_base::leave(cases, nodes_, why);
  }
  void settle() {
    set cases = all();
    choose(cases);
  }
  std::size_t end(fiber&, std::uintptr_t, fiber_status why) {
    if (why != fiber_status::stopped)
      settle();
    std::apply([&](auto&... each) { finish_chosen(chosen(), each...); }, cases_);
    return chosen() != select_case::none ? chosen() : sizeof...(Cases);
  }

private:
  set all() noexcept {
    return std::apply([](auto&... each) { return set(each...); }, cases_);
  }

  std::tuple<Cases...> cases_;
  typename set::nodes nodes_;
};

}  // namespace sennit::inline v0_1::detail
