// What a wait has consumed when it was cancelled or timed out: the rows of docs/explanation/waits.md except
// those of I/O, also if the awaited thing comes at the same time.
#include "support/consumed.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sennit/select.hpp"
#include "sennit/wait_options.hpp"
#include "support/deadlines.hpp"

namespace sennit {
namespace {

using namespace std::chrono_literals;

const std::string text(50, 'a');
using support::generous;

template <class Kind>
std::vector<named_row<Kind>> lock_rows() {
  using row = consumed_row<Kind>;
  using handle = typename Kind::fiber*;
  std::vector<named_row<Kind>> all;
  const auto add = [&all](const char* name, std::function<row()> make) {
    all.push_back({name, takes::deadline, waiters::any, std::move(make)});
  };
  add("mutex", [] {
    auto m = std::make_shared<typename Kind::mutex>();
    m->lock();
    return row{[=](deadline_type d) { return d == detail::never ? (m->lock(), true) : m->try_lock_until(d); },
               [=](handle) { m->unlock(); },
               [=](wait_end end) {
                 EXPECT_EQ(m->try_lock(), end != wait_end::served);
                 m->unlock();
               }};
  });
  add("recursive mutex", [] {
    auto m = std::make_shared<typename Kind::recursive_mutex>();
    auto inside = std::make_shared<bool>(false);
    m->lock();
    return row{[=](deadline_type d) {
                 const bool locked = d == detail::never ? (m->lock(), true) : m->try_lock_until(d);
                 if (locked) {
                   *inside = true;
                   m->unlock();
                 }
                 return locked;
               },
               [=](handle) { m->unlock(); },
               [=](wait_end end) {
                 EXPECT_EQ(*inside, end == wait_end::served);
                 EXPECT_TRUE(m->try_lock());
                 m->unlock();
               }};
  });
  add("shared mutex, to write", [] {
    auto m = std::make_shared<typename Kind::shared_mutex>();
    m->lock_shared();
    row made{[=](deadline_type d) { return d == detail::never ? (m->lock(), true) : m->try_lock_until(d); },
             [=](handle) { m->unlock_shared(); },
             [=](wait_end end) {
               EXPECT_EQ(m->try_lock_shared(), end != wait_end::served);
               if (end == wait_end::served)
                 m->unlock();
               else
                 m->unlock_shared();
             }};
    // The writer kept readers out.
    auto reader = std::make_shared<typename Kind::fiber>();
    made.wait_behind = [=] {
      *reader = start<Kind>([m] {
        m->lock_shared();
        m->unlock_shared();
      });
    };
    made.before_give = [=] { reader->join(); };
    const auto check = made.check;
    made.check = [=](wait_end end) {
      check(end);
      if (reader->joinable())
        reader->join();
    };
    return made;
  });
  add("shared mutex, to read", [] {
    auto m = std::make_shared<typename Kind::shared_mutex>();
    m->lock();
    return row{[=](deadline_type d) {
                 return d == detail::never ? (m->lock_shared(), true) : m->try_lock_shared_until(d);
               },
               [=](handle) { m->unlock(); },
               [=](wait_end end) {
                 EXPECT_EQ(m->try_lock(), end != wait_end::served);
                 if (end == wait_end::served)
                   m->unlock_shared();
                 else
                   m->unlock();
               }};
  });
  add("semaphore", [] {
    auto permits = std::make_shared<typename Kind::counting_semaphore>(0);
    return row{[=](deadline_type d) {
                 return d == detail::never ? (permits->acquire(), true) : permits->try_acquire_until(d);
               },
               [=](handle) { permits->release(); },
               [=](wait_end end) { EXPECT_EQ(permits->try_acquire(), end != wait_end::served); }};
  });
  return all;
}

// One notification, and a waiter behind: it gets what the other does not.
template <class Kind, class Condition>
consumed_row<Kind> condition_row() {
  struct scene {
    typename Kind::mutex m;
    Condition changed;
    typename Kind::fiber behind;
    int begun = 0;
    bool notified = false;
  };
  auto s = std::make_shared<scene>();
  consumed_row<Kind> made{[s](deadline_type d) {
                            std::unique_lock lock(s->m);
                            ++s->begun;
                            struct locked {
                              scene& in;
                              std::unique_lock<typename Kind::mutex>& lock;
                              ~locked() {
                                EXPECT_TRUE(lock.owns_lock());
                                EXPECT_FALSE(in.m.try_lock());
                              }
                            } const however{*s, lock};
                            return s->changed.wait_until(lock, d) == std::cv_status::no_timeout;
                          },
                          [s](typename Kind::fiber*) {
                            const std::lock_guard lock(s->m);
                            s->changed.notify_one();
                          },
                          [s](wait_end end) {
                            if (end == wait_end::served) {
                              const std::lock_guard lock(s->m);
                              EXPECT_FALSE(s->notified) << "one notification, two waiters";
                              s->changed.notify_one();
                            }
                            s->behind.join();
                            EXPECT_TRUE(s->notified);
                          }};
  made.wait_behind = [s] {
    for (bool first_waits = false; !first_waits; Kind::yield()) {
      const std::lock_guard lock(s->m);
      first_waits = s->begun != 0;
    }
    s->behind = start<Kind>([s] {
      std::unique_lock lock(s->m);
      ++s->begun;
      s->changed.wait(lock);
      s->notified = true;
    });
    for (bool both_wait = false; !both_wait; Kind::yield()) {
      const std::lock_guard lock(s->m);
      both_wait = s->begun == 2;
    }
  };
  return made;
}

template <class Kind>
std::vector<named_row<Kind>> event_rows() {
  using row = consumed_row<Kind>;
  using handle = typename Kind::fiber*;
  std::vector<named_row<Kind>> all;
  const auto add = [&all](const char* name, std::function<row()> make, takes time = takes::deadline) {
    all.push_back({name, time, waiters::any, std::move(make)});
  };
  add("condition variable", condition_row<Kind, typename Kind::condition_variable>);
  add("condition variable, any lock", condition_row<Kind, typename Kind::condition_variable_any>);
  add("event", [] {
    auto e = std::make_shared<typename Kind::event>();
    return row{[=](deadline_type d) { return e->wait_until(d); }, [=](handle) { e->set(); },
               [=](wait_end) { EXPECT_TRUE(e->is_set()); }};
  });
  add("wait group, latch", [] {
    auto group = std::make_shared<typename Kind::wait_group>(1);
    row made{[=](deadline_type d) { return group->wait_until(d); }, [=](handle) { group->done(); },
             [=](wait_end) { EXPECT_TRUE(group->try_wait()); }};
    made.before_give = [=] { EXPECT_EQ(group->pending(), 1u); };
    return made;
  });
  add(
      "wait group, latch: arrive_and_wait",
      [] {
        auto group = std::make_shared<typename Kind::wait_group>(2);
        row made{[=](deadline_type) { return group->arrive_and_wait(), true; },
                 [=](handle) { group->done(); }, [=](wait_end) { group->wait(); }};
        made.before_give = [=] { EXPECT_EQ(group->pending(), 1u); };
        return made;
      },
      takes::nothing);
  add(
      "barrier",
      [] {
        auto b = std::make_shared<typename Kind::barrier>(2);
        return row{[=](deadline_type) { return b->arrive_and_wait(), true; },
                   [=, arrived = std::make_shared<std::optional<typename Kind::barrier::arrival_token>>()](
                       handle) { arrived->emplace(b->arrive()); },
                   [=](wait_end) {
                     // Two have arrived: a new phase has begun.
                     auto first = b->arrive();
                     static_cast<void>(b->arrive());
                     b->wait(std::move(first));
                   }};
      },
      takes::nothing);
  add(
      "call_once",
      [] {
        struct scene {
          typename Kind::once_flag flag;
          typename Kind::event end;
          typename Kind::fiber first;
        };
        auto s = std::make_shared<scene>();
        s->first = start<Kind>([s] { call_once(s->flag, [&] { s->end.wait(); }); });
        return row{[=](deadline_type) {
                     call_once(s->flag, [] { ADD_FAILURE() << "called twice"; });
                     return true;
                   },
                   [=](handle) { s->end.set(); },
                   [=](wait_end) {
                     s->first.join();
                     call_once(s->flag, [] { ADD_FAILURE() << "called twice"; });
                   }};
      },
      takes::nothing);
  add("future", [] {
    auto p = std::make_shared<typename Kind::template promise<int>>();
    auto f = std::make_shared<typename Kind::template future<int>>(p->get_future());
    return row{[=](deadline_type d) { return f->wait_until(d); }, [=](handle) { p->set_value(7); },
               [=](wait_end) { EXPECT_EQ(f->get(), 7); }};
  });
  return all;
}

template <class Kind>
std::vector<named_row<Kind>> channel_rows() {
  using row = consumed_row<Kind>;
  using handle = typename Kind::fiber*;
  using channel = typename Kind::template channel<std::string>;
  using received = std::optional<std::string>;
  std::vector<named_row<Kind>> all;
  const auto add = [&all](const char* name, std::function<row()> make) {
    all.push_back({name, takes::deadline, waiters::any, std::move(make)});
  };
  const auto send = [](const std::shared_ptr<channel>& to, deadline_type d) {
    std::string value = text;
    bool sent = false;
    struct unmoved {
      std::string& value;
      bool& sent;
      ~unmoved() { EXPECT_EQ(value, sent ? std::string() : text); }
    } const however{value, sent};
    return sent = bool(to->send_until(std::move(value), d));
  };
  add("channel send, no capacity", [send] {
    auto c = std::make_shared<channel>();
    auto got = std::make_shared<received>();
    return row{[=](deadline_type d) { return send(c, d); }, [=](handle) { *got = c->try_receive(); },
               [=](wait_end end) {
                 EXPECT_EQ(*got, end == wait_end::served ? received(text) : std::nullopt);
                 EXPECT_EQ(c->try_receive(), std::nullopt);
               }};
  });
  add("channel send, full", [send] {
    auto c = std::make_shared<channel>(1);
    c->send("first");
    return row{[=](deadline_type d) { return send(c, d); },
               [=](handle) { EXPECT_EQ(c->try_receive(), "first"); },
               [=](wait_end end) {
                 EXPECT_EQ(c->try_receive(), end == wait_end::served ? received(text) : std::nullopt);
               }};
  });
  for (const std::size_t capacity : {0u, 1u})
    add("channel receive", [capacity] {
      auto c = std::make_shared<channel>(capacity);
      auto offered = std::make_shared<std::string>(text);
      return row{[=](deadline_type d) {
                   const auto value = c->receive_until(d);
                   EXPECT_TRUE(!value || *value == text);
                   return bool(value);
                 },
                 [=](handle) { static_cast<void>(c->try_send(*offered)); },
                 [=](wait_end end) {
                   EXPECT_EQ(*offered, end == wait_end::served || capacity != 0 ? std::string() : text);
                   EXPECT_EQ(c->try_receive(),
                             end != wait_end::served && capacity != 0 ? received(text) : std::nullopt);
                 }};
    });
  add("select", [] {
    auto in = std::make_shared<channel>();
    auto out = std::make_shared<channel>();
    auto offered = std::make_shared<std::string>(text);
    return row{[=](deadline_type d) {
                 return select(on_receive(*in, [](received value) { EXPECT_EQ(value, text); }),
                               on_send(*out, std::string(text), [](bool) { ADD_FAILURE(); }),
                               on_timeout(d, [] {})) == 0;
               },
               [=](handle) { static_cast<void>(in->try_send(*offered)); },
               [=](wait_end end) {
                 EXPECT_EQ(*offered, end == wait_end::served ? std::string() : text);
                 EXPECT_EQ(out->try_receive(), std::nullopt);
                 EXPECT_EQ(in->try_receive(), std::nullopt);
               }};
  });
  add("select_list", [] {
    auto in = std::make_shared<channel>();
    auto out = std::make_shared<channel>();
    auto list = std::make_shared<typename Kind::select_list>();
    auto offered = std::make_shared<std::string>(text);
    list->add(on_receive(*in, [](received value) { EXPECT_EQ(value, text); }));
    list->add(on_send(*out, std::string(text), [](bool) { ADD_FAILURE(); }));
    return row{[=](deadline_type d) { return list->select_until(d) == 0u; },
               [=](handle) { static_cast<void>(in->try_send(*offered)); },
               [=](wait_end end) {
                 EXPECT_EQ(*offered, end == wait_end::served ? std::string() : text);
                 EXPECT_EQ(out->try_receive(), std::nullopt);
                 EXPECT_EQ(in->try_receive(), std::nullopt);
                 EXPECT_EQ(list->size(), 2u);
               }};
  });
  return all;
}

template <class Kind>
std::vector<named_row<Kind>> fiber_rows() {
  using row = consumed_row<Kind>;
  using handle = typename Kind::fiber*;
  std::vector<named_row<Kind>> all;
  const auto add = [&all](const char* name, waiters who, std::function<row()> make) {
    all.push_back({name, takes::deadline, who, std::move(make)});
  };
  add("join", waiters::any, [] {
    struct scene {
      typename Kind::event end;
      typename Kind::fiber joined;
    };
    auto s = std::make_shared<scene>();
    s->joined = start<Kind>([s] { s->end.wait(); });
    return row{[=](deadline_type d) { return s->joined.join_until(d); }, [=](handle) { s->end.set(); },
               [=](wait_end end) {
                 EXPECT_EQ(s->joined.joinable(), end != wait_end::served);
                 if (end != wait_end::served)
                   s->joined.join();
               }};
  });
  add("scope join", waiters::fibers, [] {
    struct scene {
      typename Kind::event end;
      bool child_stopped = false;
    };
    auto s = std::make_shared<scene>();
    return row{[=](deadline_type d) {
                 typename Kind::scope children;
                 children.spawn([s] {
                   try {
                     s->end.wait();
                   } catch (const cancelled&) {
                     s->child_stopped = true;
                     throw;
                   }
                 });
                 const bool joined = children.join_until(d);
                 EXPECT_FALSE(children.stop_requested());
                 if (!joined) {
                   children.request_stop();
                   children.join();
                 }
                 return joined;
               },
               [=](handle) { s->end.set(); },
               [=](wait_end end) {
                 if (end == wait_end::served) {
                   EXPECT_FALSE(s->child_stopped);
                 }
               }};
  });
  add("sleep", waiters::any, [] {
    return row{[](deadline_type d) {
                 if constexpr (Kind::threads(1) != 0)
                   this_fiber::sleep_until(d == detail::never ? generous() : d);
                 else
                   local::this_fiber::sleep_until(d == detail::never ? generous() : d);
                 return false;
               },
               [](handle) {}, [](wait_end end) { EXPECT_NE(end, wait_end::served); }};
  });
  add("park", waiters::fibers, [] {
    const auto park = [](deadline_type d) {
      if constexpr (Kind::threads(1) != 0)
        return this_fiber::park_until(d);
      else
        return local::this_fiber::park_until(d);
    };
    row made{park, [](handle waiter) { waiter->unpark(); }, [](wait_end) {}};
    made.waiter_after_give = [park] { EXPECT_TRUE(park(generous())); };  // it was kept
    return made;
  });
  return all;
}

template <class Kind>
class Consumed : public kind_test<Kind> {
protected:
  void check(const std::vector<named_row<Kind>>& rows) {
    for (const named_row<Kind>& each : rows)
      this->run([&] { check_consumed(each, 12); });
  }
};

KIND_TEST(Consumed, ByWaitsForLocks) {
  this->check(lock_rows<Kind>());
}
KIND_TEST(Consumed, ByWaitsForEvents) {
  this->check(event_rows<Kind>());
}
KIND_TEST(Consumed, ByWaitsInChannels) {
  this->check(channel_rows<Kind>());
}
KIND_TEST(Consumed, ByWaitsForFibers) {
  this->check(fiber_rows<Kind>());
}

}  // namespace
}  // namespace sennit
