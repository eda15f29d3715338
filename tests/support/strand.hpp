// A context with a resumer, directly on the arch verbs: only the needs of tests below the coro room. The
// switches are inlined into the callers of resume and yield, and the sanitizers are notified of each.
#pragma once

#include <functional>
#include <utility>

#include "sennit/detail/arch/context.h"
#include "support/sanitizers.hpp"
#include "support/stack.hpp"

namespace support {

class strand {
public:
  enum class kind { root, linked };
  // Returns the last word handed to the resumer.
  using function = std::function<uintptr_t(strand&, uintptr_t first)>;

  explicit strand(function body, kind k = kind::root, size_t stack_size = stack::default_size)
      : body_(std::move(body)), stack_(stack_size) {
#if defined(SUPPORT_TSAN)
    own_fiber_ = __tsan_create_fiber(0);
#endif
    auto* link = static_cast<sennit_context*>(stack_.top());
    if (k == kind::linked) {
      link_ = link;
      other_ = sennit_newlinked(link, enter);
    } else {
      other_ = sennit_newstack(link, enter);
    }
    resume(reinterpret_cast<uintptr_t>(this));
  }
  ~strand() {
#if defined(SUPPORT_TSAN)
    __tsan_destroy_fiber(own_fiber_);
#endif
  }
  strand(const strand&) = delete;
  strand& operator=(const strand&) = delete;

  bool done() const { return done_; }
  const stack& memory() const { return stack_; }
  sennit_context& other() { return other_; }

  // From outside: until the body's next yield or its end.
  [[gnu::always_inline]] uintptr_t resume(uintptr_t value = 0) {
    before_resume();
    const sennit_transfer in = sennit_swapstack(other_, value);
    after_resume(in.from);
    return in.value;
  }
  [[gnu::always_inline]] uintptr_t resume_call(uintptr_t value = 0) {
    before_resume();
    const sennit_transfer in = sennit_swapstack_call(other_, value);
    after_resume(in.from);
    return in.value;
  }

  // From inside.
  [[gnu::always_inline]] uintptr_t yield(uintptr_t value = 0) {
    before_yield();
    const sennit_transfer in = sennit_swapstack(other_, value);
    after_yield(in.from);
    return in.value;
  }
  [[gnu::always_inline]] uintptr_t yield_call(uintptr_t value = 0) {
    before_yield();
    const sennit_transfer in = sennit_swapstack_call(other_, value);
    after_yield(in.from);
    return in.value;
  }

private:
  static void enter(sennit_context from, uintptr_t value, uintptr_t, uintptr_t, uintptr_t) noexcept {
    auto* self = reinterpret_cast<strand*>(value);
    self->arrived();
    self->set_other(from);
    self->run(self->yield());
  }
  void run(uintptr_t first) noexcept {
    const uintptr_t last = body_(*this, first);
    done_ = true;
#if defined(SUPPORT_ASAN)
    __sanitizer_start_switch_fiber(nullptr, host_bottom_, host_size_);
#endif
#if defined(SUPPORT_TSAN)
    __tsan_switch_to_fiber(host_fiber_, 0);
#endif
    sennit_leave(other_, last);
  }

  void set_other(sennit_context from) {
    other_ = from;
    if (link_)
      *link_ = from;
  }
  void before_resume() {
#if defined(SUPPORT_ASAN)
    __sanitizer_start_switch_fiber(&host_frames_, stack_.bottom(), stack_.size());
#endif
#if defined(SUPPORT_TSAN)
    host_fiber_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(own_fiber_, 0);
#endif
  }
  void after_resume(sennit_context from) {
    other_ = from;
#if defined(SUPPORT_ASAN)
    __sanitizer_finish_switch_fiber(host_frames_, nullptr, nullptr);
#endif
  }
  void before_yield() {
#if defined(SUPPORT_ASAN)
    __sanitizer_start_switch_fiber(&own_frames_, host_bottom_, host_size_);
#endif
#if defined(SUPPORT_TSAN)
    __tsan_switch_to_fiber(host_fiber_, 0);
#endif
  }
  void after_yield(sennit_context from) {
    arrived();
    set_other(from);
  }
  void arrived() {
#if defined(SUPPORT_ASAN)
    __sanitizer_finish_switch_fiber(own_frames_, &host_bottom_, &host_size_);
#endif
  }

  function body_;
  stack stack_;
  sennit_context other_ = nullptr;  // the suspended side
  sennit_context* link_ = nullptr;
  bool done_ = false;
#if defined(SUPPORT_ASAN)
  void* own_frames_ = nullptr;
  void* host_frames_ = nullptr;
  const void* host_bottom_ = nullptr;
  size_t host_size_ = 0;
#endif
#if defined(SUPPORT_TSAN)
  void* own_fiber_ = nullptr;
  void* host_fiber_ = nullptr;
#endif
};

}  // namespace support
