// What the cases of a select_list are behind its members (basic_select_list.hpp).
//
// Each case lies in memory of its own, behind virtual functions. The list keeps them in the order of their
// locks' addresses, so that a select that must lock all objects finds the locks in order, and the cases of
// one object side by side.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>

#include "sennit/detail/arch/owner.hpp"
#include "sennit/detail/sync/select_case.hpp"

namespace sennit::inline v0_1::detail {

// A case of a list. Its members are those of a watching_case, whether it watches or not.
class listed_case {
public:
  listed_case(const void* lock_at, const void* waits_in, bool watching, bool done_once) noexcept
      : place{lock_at, waits_in}, watches(watching), is_done_once(done_once) {}
  listed_case(const listed_case&) = delete;
  listed_case& operator=(const listed_case&) = delete;
  virtual ~listed_case() = default;

  const void* object() const noexcept { return place.object; }
  virtual any_lock lock() const noexcept = 0;
  virtual bool looks_ready() const noexcept = 0;
  virtual bool attempt(later_wake& later) = 0;
  virtual void enter(select_node& me) noexcept = 0;
  virtual void leave(select_node& me) noexcept = 0;
  virtual bool complete(const select_node& me) = 0;
  virtual void look() = 0;
  virtual bool watch(select_node& me) = 0;
  virtual void served(select_node& me) noexcept = 0;
  virtual void release_source() noexcept = 0;
  virtual void finish() = 0;

  struct {
    const void* lock;
    const void* object;
  } const place;  // in the list's order
  const bool watches;
  const bool is_done_once;
  bool is_listed = true;
  unsigned calls = 0;  // of its function that have not ended
  std::size_t number = 0;
  select_node node;
};

template <class Case>
class listed final : public listed_case {
  static constexpr bool watching = watching_case<Case>;
  static constexpr bool done_once = requires { Case::is_done_once; };

public:
  template <class Made>
  explicit listed(Made&& made)
      : listed_case(made.lock().at(), made.object(), watching, done_once), case_(std::forward<Made>(made)) {
    listed::release_source();
  }
  any_lock lock() const noexcept override { return case_.lock(); }
  bool looks_ready() const noexcept override { return case_.looks_ready(); }
  bool attempt(later_wake& later) override { return case_.attempt(later); }
  void enter(select_node& me) noexcept override { case_.enter(me); }
  void leave(select_node& me) noexcept override { case_.leave(me); }
  bool complete(const select_node& me) override { return case_.complete(me); }
  void look() override {
    if constexpr (watching)
      case_.look();
  }
  bool watch([[maybe_unused]] select_node& me) override {
    if constexpr (watching)
      return case_.watch(me);
    else
      return true;
  }
  void served([[maybe_unused]] select_node& me) noexcept override {
    if constexpr (watching)
      case_.served(me);
  }
  void release_source() noexcept override {
    if constexpr (watching)
      case_.release_source();
  }
  void finish() override { case_.finish(); }

private:
  Case case_;
};

// What a list of either policy consists of.
class select_list_cases {
public:
  select_list_cases();  // throws std::bad_alloc
  select_list_cases(const select_list_cases&) = delete;
  select_list_cases& operator=(const select_list_cases&) = delete;
  ~select_list_cases();

  // Owns the case from then on. Throws std::bad_alloc.
  std::size_t add(listed_case* added);
  bool remove(std::size_t number) noexcept;
  void clear() noexcept;
  std::size_t size() const noexcept;
  // Chooses a case, does it, and calls its function. Returns its number.
  template <bool is_shared>
  std::optional<std::size_t> select(time_point deadline, bool waits);

private:
  struct state;
  template <bool is_shared>
  class set;
  friend void destroy_owned(state* object) noexcept;
  owner<state> state_;
};
extern template std::optional<std::size_t> select_list_cases::select<true>(time_point, bool);
extern template std::optional<std::size_t> select_list_cases::select<false>(time_point, bool);

}  // namespace sennit::inline v0_1::detail
