// Selects over lists of cases.
#include "sennit/detail/sync/listed_case.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <vector>

#include "sennit/detail/sched/misuse.hpp"
#include "sennit/detail/sync/select_one.hpp"

namespace sennit::inline v0_1::detail {

namespace {

bool comes_before(const listed_case* left, const listed_case* right) noexcept {
  const auto address = [](const void* of) { return reinterpret_cast<std::uintptr_t>(of); };
  return left->place.lock != right->place.lock ? address(left->place.lock) < address(right->place.lock)
                                               : address(left->place.object) < address(right->place.object);
}

constexpr const char* removes_while_selected =
    "removes a case of a select_list in which another fiber or thread waits: a list is for one fiber at a "
    "time";

void check(const std::atomic<bool>& selects, const char* misuse) noexcept {
  if (selects.load(std::memory_order_relaxed)) [[unlikely]]
    fatal_misuse(misuse);
}

}  // namespace

struct select_list_cases::state {
  using cases = std::vector<listed_case*>;
  cases in_order;                       // by comes_before()
  cases by_number;                      // null: there is no case of this number
  std::vector<std::size_t> free;        // the numbers without a case: a heap, the least one first
  std::vector<std::uint32_t> shuffled;  // for order()
  std::vector<any_lock> locks;
  std::size_t watching = 0;
  std::size_t calls = 0;              // of functions that have not ended
  std::atomic<bool> selects = false;  // a select tries its cases or waits

  // For one more case. After that, no change of the list allocates memory, up to the next one that is added.
  void make_room() {
    const std::size_t count = in_order.size() + 1;
    if (count <= locks.size())
      return;
    const std::size_t room = 2 * count;
    in_order.reserve(room);
    by_number.reserve(room);
    free.reserve(room);
    shuffled.reserve(room);
    locks.resize(room);
  }
  std::size_t take_number(listed_case* of) noexcept {
    if (free.empty()) {
      by_number.push_back(of);
      return by_number.size() - 1;
    }
    std::ranges::pop_heap(free, std::greater());
    const std::size_t number = free.back();
    free.pop_back();
    by_number[number] = of;
    return number;
  }
  void release_number(std::size_t number) noexcept {
    by_number[number] = nullptr;
    free.push_back(number);
    std::ranges::push_heap(free, std::greater());
  }
  void put_in(listed_case& in) noexcept {
    in.number = take_number(&in);
    in_order.insert(std::ranges::upper_bound(in_order, &in, comes_before), &in);
    watching += in.watches ? 1 : 0;
  }
  // The case is in the list no longer.
  void take_out(listed_case& out) noexcept {
    const auto [first, last] = std::equal_range(in_order.begin(), in_order.end(), &out, comes_before);
    in_order.erase(std::find(first, last, &out));
    release_number(out.number);
    watching -= out.watches ? 1 : 0;
    destroy(out);
  }
  void take_out_all() noexcept {
    cases out;
    out.swap(in_order);
    by_number.clear();
    free.clear();
    locks.clear();  // the next case makes room again
    watching = 0;
    for (listed_case* each : out)
      destroy(*each);
  }
  // If its function is being called, the end of the call destroys it. Its destructor may use the list.
  static void destroy(listed_case& out) noexcept {
    out.is_listed = false;
    if (out.calls == 0)
      delete &out;
  }
  // Each place in in_order once.
  std::uint32_t* order() noexcept {
    if (shuffled.size() != in_order.size()) {
      shuffled.resize(in_order.size());
      std::iota(shuffled.begin(), shuffled.end(), 0);
    }
    return shuffled.data();
  }

  void release_sources() noexcept {
    if (watching != 0)
      for (listed_case* each : in_order)
        each->release_source();
  }

  // Its function may change the list and select with it.
  void call(listed_case& chosen) {
    struct calling {
      state& list;
      listed_case& of;
      calling(state& in, listed_case& calls) noexcept : list(in), of(calls) {
        ++list.calls;
        ++of.calls;
        if (of.is_done_once)
          list.take_out(of);
      }
      ~calling() {
        --list.calls;
        if (--of.calls == 0 && !of.is_listed)
          delete &of;
      }
    } const meanwhile(*this, chosen);
    chosen.finish();
  }
};

void destroy_owned(select_list_cases::state* object) noexcept {
  delete object;
}

// The cases of a list, as a set of cases (select_one.hpp).
template <bool is_shared>
class select_list_cases::set {
public:
  static constexpr auto among = is_shared ? select_case::family::shared : select_case::family::local;
  static constexpr bool watches = true;
  // The nodes are in the cases.
  class nodes {
  public:
    explicit nodes(state::cases& of) noexcept : of_(&of) {}
    select_node& operator[](std::size_t number) const noexcept { return (*of_)[number]->node; }

  private:
    state::cases* of_;
  };

  set(state& list, time_point deadline) noexcept : list_(list), deadline_(deadline) {}
  std::size_t size() const noexcept { return list_.in_order.size(); }
  std::uint32_t* order() const noexcept { return list_.order(); }
  template <class Visit>
  auto visit(std::size_t number, Visit visit) {
    return visit(*list_.in_order[number]);
  }
  template <class Visit>
  void each(Visit visit) {
    for (std::size_t i = 0; i != size(); ++i)
      visit(*list_.in_order[i], i);
  }
  time_point deadline() const noexcept { return deadline_; }
  std::size_t due() const noexcept { return size(); }
  any_lock* lock_places() const noexcept { return list_.locks.data(); }
  nodes make_nodes() noexcept { return nodes(list_.in_order); }
  // Cases of one object are side by side.
  void link_same_objects() noexcept {
    const auto& cases = list_.in_order;
    for (std::size_t first = 0, last = 0; first != size(); first = last) {
      const void* const object = cases[first]->object();
      while (++last != size() && object != nullptr && cases[last]->object() == object)
        cases[last - 1]->node.beside = &cases[last]->node;
      if (last - first > 1)
        cases[last - 1]->node.beside = &cases[first]->node;
    }
  }

private:
  state& list_;
  time_point deadline_;
};

select_list_cases::select_list_cases() : state_(new state) {}

select_list_cases::~select_list_cases() {
  check(state_->selects,
        "destroys a select_list in which another fiber or thread waits: join that one first");
  if (state_->calls != 0)
    fatal_misuse("destroys a select_list while a function of one of its cases is called: do it afterwards");
  clear();
}

std::size_t select_list_cases::size() const noexcept {
  return state_->in_order.size();
}

std::size_t select_list_cases::add(listed_case* added) {
  std::unique_ptr<listed_case> owned(added);
  state& list = *state_;
  check(list.selects,
        "adds a case to a select_list in which another fiber or thread waits: a list is for one "
        "fiber at a time");
  list.make_room();
  list.put_in(*owned.release());
  return added->number;
}

bool select_list_cases::remove(std::size_t number) noexcept {
  state& list = *state_;
  check(list.selects, removes_while_selected);
  if (number >= list.by_number.size() || list.by_number[number] == nullptr)
    return false;
  list.take_out(*list.by_number[number]);
  return true;
}

void select_list_cases::clear() noexcept {
  check(state_->selects, removes_while_selected);
  while (!state_->in_order.empty())
    state_->take_out_all();
}

template <bool is_shared>
std::optional<std::size_t> select_list_cases::select(time_point deadline, bool waits) {
  state& list = *state_;
  check(list.selects,
        "selects with a select_list in which another fiber or thread waits: a list is for one "
        "fiber at a time");
  if (list.in_order.empty())
    return std::nullopt;
  std::size_t chosen = 0;
  {
    struct selecting {
      state& list;
      explicit selecting(state& with) noexcept : list(with) {
        list.selects.store(true, std::memory_order_relaxed);
      }
      ~selecting() {
        list.selects.store(false, std::memory_order_relaxed);
        list.release_sources();
      }
    } const meanwhile(list);
    set<is_shared> all(list, deadline);
    chosen = select_one(all, waits);
  }
  if (chosen == list.in_order.size())
    return std::nullopt;
  listed_case& of = *list.in_order[chosen];
  const std::size_t number = of.number;
  list.call(of);
  return number;
}

template std::optional<std::size_t> select_list_cases::select<true>(time_point, bool);
template std::optional<std::size_t> select_list_cases::select<false>(time_point, bool);

}  // namespace sennit::inline v0_1::detail
