// The cases of a select that receive from channels and send to them.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include "sennit/detail/sync/basic_channel.hpp"
#include "sennit/detail/sync/select_case.hpp"

namespace sennit::inline v0_1::detail {

struct channel_cases {
  // What both have in common.
  template <class T, class Policy>
  class of_channel : public select_case {
  public:
    static constexpr family among = Policy::is_shared ? family::shared : family::local;
    const void* object() const noexcept { return at_; }
    any_lock lock() const noexcept {
      if constexpr (Policy::is_shared)
        return any_lock(at_->waits_.mutual_exclusion());
      else
        return any_lock{};
    }
    void leave(select_node& me) noexcept { leave_list(me); }

  protected:
    using channel = basic_channel<T, Policy>;
    explicit of_channel(channel& at) noexcept : at_(&at) {}
    ~of_channel() = default;
    static void enter_list(waiter_list& list, select_node& me, void* offered) noexcept {
      me.word = reinterpret_cast<std::uintptr_t>(offered);
      list_push_back(list, me);
    }
    channel* const at_;
  };

  template <class T, class Policy, class Then>
  class receive : public of_channel<T, Policy> {
    using base = of_channel<T, Policy>;
    using typename base::channel;

  public:
    receive(channel& from, Then&& then) : base(from), then_(std::move(then)) {}
    receive(receive&& other) noexcept
        : base(*other.at_), value_(std::move(other.value_)), then_(std::move(other.then_)) {
      must_move_without_throwing<T, Then>();
    }
    SENNIT_INLINE bool looks_ready() const noexcept { return this->at_->may_receive(); }
    SENNIT_INLINE bool attempt(later_wake& later) {
      return this->at_->take(value_, wake_later<Policy>(later)) || this->at_->closed_;
    }
    void enter(select_node& me) noexcept {
      place_ = {};
      this->enter_list(this->at_->receivers_, me, place_.at(value_));
    }
    bool complete(const select_node& me) {
      if constexpr (channel::in_register)
        if (place_.filled)
          value_.emplace(from_word<T>(me.word));
      return !channel::may_throw || value_ || me.word != channel::again;
    }
    // The function may select with the case again, if it is in a list: then moves do not throw.
    SENNIT_INLINE void finish() {
      if constexpr (channel::may_throw)
        then_(std::move(value_));
      else
        then_(taken());
    }

  private:
    SENNIT_INLINE std::optional<T> taken() {
      if constexpr (channel::in_register) {
        const auto value = std::exchange(value_, {});
        return value ? std::optional<T>(from_word<T>(value.word)) : std::nullopt;
      } else {
        std::optional<T> value(std::move(value_));
        value_.reset();
        return value;
      }
    }

    std::conditional_t<channel::in_register, typename channel::received_word, std::optional<T>> value_;
    [[no_unique_address]] typename channel::landing place_;
    [[no_unique_address]] Then then_;
  };

  // `Kept`: T, or T& of a value that stays with the caller of select() unless it is sent.
  template <class T, class Policy, class Then, class Kept>
  class send : public of_channel<T, Policy> {
    using base = of_channel<T, Policy>;
    using typename base::channel;

  public:
    static constexpr bool is_done_once = true;  // its value is gone then
    send(channel& to, Kept&& value, Then&& then)
        : base(to), value_(static_cast<Kept&&>(value)), then_(std::move(then)) {}
    send(send&& other) noexcept
        : send(*other.at_, static_cast<Kept&&>(other.value_), std::move(other.then_)) {
      must_move_without_throwing<T, Then>();
      sent_ = other.sent_;
    }
    // Takes the value over: the case is used after the call that it is made in.
    send(send<T, Policy, Then, T&>&& other) noexcept
      requires(!std::is_reference_v<Kept>)
        : send(*other.at_, std::move(other.value_), std::move(other.then_)) {
      must_move_without_throwing<T, Then>();
    }
    SENNIT_INLINE bool looks_ready() const noexcept { return this->at_->may_send(); }
    SENNIT_INLINE bool attempt(later_wake& later) {
      sent_ = this->at_->offer(value_, wake_later<Policy>(later));
      return sent_ || this->at_->closed_;
    }
    void enter(select_node& me) noexcept {
      this->enter_list(this->at_->senders_, me, __builtin_addressof(offer_));
    }
    bool complete(const select_node& me) {
      if constexpr (channel::may_throw)
        if (offer_.failure)
          std::rethrow_exception(std::exchange(offer_.failure, nullptr));
      sent_ = me.word == channel::taken;
      return !channel::may_throw || me.word != channel::again;
    }
    SENNIT_INLINE void finish() { then_(sent_); }

  private:
    template <class, class, class, class>
    friend class send;
    using offer = std::conditional_t<channel::may_throw, typename channel::throwing_offer, T&>;
    Kept value_;
    offer offer_{value_};
    bool sent_ = false;
    [[no_unique_address]] Then then_;
  };

  // What selecting() and a select_list keep of a case.
  template <class Case>
  struct kept {
    using type = Case;
  };
  template <class T, class Policy, class Then, class Kept>
  struct kept<send<T, Policy, Then, Kept>> {
    using type = send<T, Policy, Then, T>;
  };
  template <class Case>
  struct kept<made<Case>> : kept<Case> {};
};

}  // namespace sennit::inline v0_1::detail
