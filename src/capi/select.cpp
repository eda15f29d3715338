// Select: waits for one of several channels.
#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <span>

#include "become.hpp"
#include "channel.hpp"
#include "sennit/detail/sync/select_case.hpp"
#include "sennit/detail/sync/select_wait.hpp"

using namespace sennit;
using capi::guarded;
using capi::time_of;

namespace {

constexpr std::size_t most_cases = 64;
constexpr std::size_t most_kept_cases = 8;  // without a stack

template <class Channel>
constexpr auto family_of =
    Channel::is_shared ? detail::select_case::family::shared : detail::select_case::family::local;

template <class Channel>
Channel& channel_of(const sennit_case& of) noexcept {
  if constexpr (Channel::is_shared)
    return of.channel->channel.shared();
  else
    return of.channel->channel.local();
}

template <class Channel>
class c_case final : public detail::select_case {
public:
  static constexpr family among = family_of<Channel>;
  explicit c_case(sennit_case& of) noexcept : of_(of), channel_(channel_of<Channel>(of)) {}
  const void* object() const noexcept { return &channel_; }
  detail::any_lock lock() const noexcept { return channel_.any(); }
  bool looks_ready() const noexcept { return channel_.may_be_done(of_.sends); }
  bool attempt(detail::later_wake& later) {
    int result = 0;
    const bool done = channel_.attempt(of_.sends, of_.element, result, later);
    if (done)
      of_.result = result;
    return done;
  }
  void enter(detail::select_node& me) noexcept { channel_.enter(of_.sends, me, of_.element); }
  void leave(detail::select_node& me) noexcept { detail::leave_list(me); }
  bool complete(const detail::select_node& me) noexcept {
    of_.result = me.word == Channel::done ? 0 : -EPIPE;
    return true;
  }

private:
  sennit_case& of_;
  Channel& channel_;
};

// What a select needs for so many cases: memory of its caller.
struct c_places {
  detail::any_lock* locks;
  void* nodes;
};

// The set of the cases (select_one.hpp). At the deadline none of them is done, and size() takes its place.
template <class Channel>
class c_cases {
public:
  static constexpr auto among = family_of<Channel>;
  static constexpr bool watches = false;
  static constexpr std::size_t most = most_cases;

  c_cases(std::span<sennit_case> cases, int64_t deadline, c_places places) noexcept
      : cases_(cases), deadline_(time_of(deadline)), places_(places) {}
  std::size_t size() const noexcept { return cases_.size(); }
  template <class Visit>
  auto visit(std::size_t number, Visit visit) {
    c_case<Channel> one(cases_[number]);
    return visit(one);
  }
  template <class Visit>
  void each(Visit visit) {
    for (std::size_t i = 0; i != size(); ++i) {
      c_case<Channel> one(cases_[i]);
      visit(one, i);
    }
  }
  detail::time_point deadline() const noexcept { return deadline_; }
  std::size_t due() const noexcept { return size(); }
  detail::any_lock* lock_places() const noexcept { return places_.locks; }
  using nodes = std::span<detail::select_node>;
  nodes make_nodes() noexcept {
    auto* const first = static_cast<detail::select_node*>(places_.nodes);
    for (std::size_t i = 0; i != size(); ++i)
      ::new (static_cast<void*>(first + i)) detail::select_node;
    return {first, size()};
  }

private:
  std::span<sennit_case> cases_;
  detail::time_point deadline_;
  c_places places_;
};

// Whether the cases may be waited for, and are of one kind.
bool are_valid(const sennit_case* cases, std::size_t count, std::size_t most) noexcept {
  if (cases == nullptr || count == 0 || count > most)
    return false;
  for (std::size_t i = 0; i != count; ++i)
    if (cases[i].channel == nullptr || cases[i].element == nullptr ||
        cases[i].channel->channel.is_shared() != cases[0].channel->channel.is_shared())
      return false;
  return true;
}

template <class Channel>
int select_among(std::span<sennit_case> cases, int64_t deadline) {
  const c_places places{
      static_cast<detail::any_lock*>(__builtin_alloca(sizeof(detail::any_lock) * cases.size())),
      __builtin_alloca(sizeof(detail::select_node) * cases.size())};
  c_cases<Channel> all(cases, deadline, places);
  const std::size_t chosen = detail::select_one(all, deadline > 0);
  return chosen < cases.size() ? static_cast<int>(chosen) : -ETIMEDOUT;
}

}  // namespace

int sennit_select(sennit_case* cases, size_t count, int64_t deadline) {
  if (!are_valid(cases, count, most_cases) || !cases[0].channel->channel.may_wait())
    return -EINVAL;
  const std::span all(cases, count);
  return guarded([&] {
    return cases[0].channel->channel.is_shared() ? select_among<sennit_channel::shared_one>(all, deadline)
                                                 : select_among<sennit_channel::local_one>(all, deadline);
  });
}

namespace {

// A select without a stack keeps the state, and an element for each case. The cases themselves refer to the
// elements in place: they are completed anew where it waits, and where it ends.
template <class Channel, std::size_t Room>
class c_select_wait : public detail::select_wait_base {
public:
  c_select_wait(std::span<const sennit_case> cases, const void* state, std::size_t size,
                int64_t deadline) noexcept
      : count_(cases.size()), deadline_(deadline) {
    std::memcpy(bytes_, state, size);
    std::size_t at = rounded(size);
    for (std::size_t i = 0; i != count_; ++i) {
      const std::size_t element_size = channel_of<Channel>(cases[i]).element_size();
      cases_[i] = cases[i];
      element_at_[i] = at;
      if (cases[i].sends)
        std::memcpy(bytes_ + at, cases[i].element, element_size);
      at += rounded(element_size);
    }
  }
  c_select_wait(c_select_wait&& other) noexcept
      : select_wait_base(std::move(other)), count_(other.count_), deadline_(other.deadline_) {
    std::memcpy(cases_, other.cases_, sizeof cases_);
    std::memcpy(element_at_, other.element_at_, sizeof element_at_);
    std::memcpy(bytes_, other.bytes_, sizeof bytes_);
  }
  ~c_select_wait() {
    c_cases<Channel> cases = all();
    forget(cases, nodes_);
  }

  static std::size_t room_for(std::span<const sennit_case> cases, std::size_t size) noexcept {
    std::size_t room = rounded(size);
    for (const sennit_case& each : cases)
      room += rounded(channel_of<Channel>(each).element_size());
    return room;
  }

  bool file(detail::fiber& f, detail::token_watch* stop = nullptr) noexcept {
    c_cases<Channel> cases = all();
    nodes_ = cases.make_nodes();
    return select_wait_base::file(f, cases, nodes_, stop);
  }
  bool withdraw(detail::fiber&) noexcept {
    c_cases<Channel> cases = all();
    return select_wait_base::withdraw(cases, nodes_);
  }
  void leave(detail::fiber&, std::uintptr_t&, detail::fiber_status& why) noexcept {
    c_cases<Channel> cases = all();
    select_wait_base::leave(cases, nodes_, why);
  }

  struct ended {
    alignas(16) std::byte bytes[Room];
    int number;
    sennit_case chosen;
  };
  ended end(detail::fiber&, std::uintptr_t, detail::fiber_status why) {
    if (why != detail::fiber_status::stopped) {
      c_cases<Channel> cases = all();
      choose(cases);
    }
    ended result;
    std::memcpy(result.bytes, bytes_, sizeof bytes_);
    const std::size_t number = chosen();
    result.number = number < count_ ? static_cast<int>(number) : -ETIMEDOUT;
    if (number < count_) {
      result.chosen = cases_[number];
      // An offset, because the result may move.
      result.chosen.element = reinterpret_cast<void*>(element_at_[number]);
    }
    return result;
  }

private:
  static std::size_t rounded(std::size_t size) noexcept { return (size + 15) & ~std::size_t{15}; }
  c_cases<Channel> all() noexcept {
    for (std::size_t i = 0; i != count_; ++i)
      cases_[i].element = bytes_ + element_at_[i];
    return c_cases<Channel>(std::span(cases_, count_), deadline_, {locks_, node_places_});
  }

  std::size_t count_;
  int64_t deadline_;
  sennit_case cases_[most_kept_cases];
  std::size_t element_at_[most_kept_cases];
  detail::any_lock locks_[most_kept_cases];
  std::span<detail::select_node> nodes_;
  alignas(detail::select_node) std::byte node_places_[most_kept_cases * sizeof(detail::select_node)];
  alignas(16) std::byte bytes_[Room];
};

struct c_select_continuation {
  sennit_value_function function;
  template <class Ended>
  void operator()(Ended&& ended) const {
    if (ended.number < 0)
      return function(ended.bytes, ended.number, nullptr);
    ended.chosen.element = ended.bytes + reinterpret_cast<std::uintptr_t>(ended.chosen.element);
    function(ended.bytes, ended.number, &ended.chosen);
  }
};

template <class Channel>
int become_selecting(const void* frame, std::span<const sennit_case> cases, sennit_value_function function,
                     const void* state, size_t size, int64_t deadline) {
  const auto with = [&]<std::size_t Room>(std::integral_constant<std::size_t, Room>) {
    return guarded([&] {
      c_select_wait<Channel, Room> wait(cases, state, size, deadline);
      detail::may_leave_frames("sennit_select_become", frame);
      detail::leave_frames(
          detail::block(std::move(wait), c_select_continuation{function}, detail::no_state{}));
      return 0;
    });
  };
  const std::size_t room = c_select_wait<Channel, 1>::room_for(cases, size);
  if (room <= 256)
    return with(std::integral_constant<std::size_t, 256>());
  if (room <= 2 * capi::most_state)
    return with(std::integral_constant<std::size_t, 2 * capi::most_state>());
  return -EINVAL;
}

}  // namespace

int sennit_select_become(const sennit_case* cases, size_t count, sennit_value_function function,
                         const void* state, size_t size, int64_t deadline) {
  if (!are_valid(cases, count, most_kept_cases) || function == nullptr || !capi::is_state(state, size) ||
      !cases[0].channel->channel.may_become())
    return -EINVAL;
  const void* const frame = __builtin_dwarf_cfa();
  const std::span all(cases, count);
  return cases[0].channel->channel.is_shared()
             ? become_selecting<sennit_channel::shared_one>(frame, all, function, state, size, deadline)
             : become_selecting<sennit_channel::local_one>(frame, all, function, state, size, deadline);
}
