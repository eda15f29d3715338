// Waiting for one of several things without a stack (become.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>

#include "sennit/detail/cont/become.hpp"
#include "sennit/detail/sync/select_case.hpp"

namespace sennit::inline v0_1::detail {

// All of it but the cases, which it is given. It waits in place: its cases are known to others.
class select_wait_base : public continuation_wait {
public:
  static constexpr const char* reason = "select";

protected:
  explicit select_wait_base(select_case::family among) noexcept : among_(among) {}
  select_wait_base(select_wait_base&& other) noexcept : among_(other.among_), chosen_(other.chosen_) {}
  ~select_wait_base() = default;

  bool file(fiber& f, select_case::list cases, token_watch* stop) noexcept;
  bool withdraw(select_case::list cases) noexcept;
  void leave(select_case::list cases, fiber_status why) noexcept;
  // Chooses now, if it is still to be done.
  void choose(select_case::list cases);
  // The number of the case that was done; or none.
  std::size_t chosen() const noexcept { return chosen_; }
  // No object refers to the cases any more.
  void forget(select_case::list cases) noexcept;

private:
  select_case::family among_;
  std::size_t chosen_ = select_case::none;
  std::optional<local_timer> timer_;  // of a local runtime
  std::optional<multi_wait> claim_;
};

template <class... Cases>
class select_wait : public select_wait_base {
public:
  explicit select_wait(select_case::family among, Cases&&... cases) noexcept
      : select_wait_base(among), cases_(std::move(cases)...) {}
  select_wait(select_wait&&) noexcept = default;
  ~select_wait() { forget(all()); }

  bool file(fiber& f, token_watch* stop = nullptr) noexcept { return select_wait_base::file(f, all(), stop); }
  bool withdraw(fiber&) noexcept { return select_wait_base::withdraw(all()); }
  void leave(fiber&, std::uintptr_t&, fiber_status& why) noexcept { select_wait_base::leave(all(), why); }
  void settle() { choose(all()); }
  std::size_t end(fiber&, std::uintptr_t, fiber_status why) {
    if (why != fiber_status::stopped)
      choose(all());
    std::apply([&](auto&... each) { finish_chosen(chosen(), each...); }, cases_);
    return chosen() != select_case::none ? chosen() : sizeof...(Cases);
  }

private:
  std::array<select_case*, sizeof...(Cases)> all() noexcept {
    return std::apply([](auto&... each) { return std::array<select_case*, sizeof...(Cases)>{&each...}; },
                      cases_);
  }

  std::tuple<Cases...> cases_;
};

}  // namespace sennit::inline v0_1::detail
