// The fiber front. One fiber accepts, one waits for SIGINT or SIGTERM, one destroys removed values, and each
// connection has its own. All run on one thread, or on several workers.
//
// A connection's fiber waits without a stack, except in a send to a client that does not read:
//
//   rest --readable--> receive --lock--> answer --unlock--> send --> rest
//                        ^                 ^                 |
//                        |                 +--lock, its turn-+  more to process
//                        +--readable-- look <----------------+  blocked or subscribed
//                                          news from another client, or the deadline: answer
//
// With --waker-reads the thread that hears of the first bytes of a request reads them in the fiber's place
// (recognition), into 64 bytes that each connection then has: rest --> take_read --lock--> answer.
//
// The fiber of a client that is blocked or has subscribed selects among three events: a message on a channel
// of capacity 1 from another client's fiber, bytes to read, and the deadline.
//
// `Kind` is one thread or several: one_worker, several_workers. A fiber holds the server's lock while it uses
// shared state, and not while it receives, sends or waits. Fibers of one thread need no lock: none of them
// waits or yields while it uses that state (computing/computing.hpp).
#include <algorithm>
#include <array>
#include <csignal>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <system_error>
#include <utility>

#include "sennit/become.hpp"
#include "sennit/channel.hpp"
#include "sennit/counting_semaphore.hpp"
#include "sennit/local/channel.hpp"
#include "sennit/local/counting_semaphore.hpp"
#include "sennit/local/runtime.hpp"
#include "sennit/mutex.hpp"
#include "sennit/runtime.hpp"
#include "sennit/select_io.hpp"
#include "sennit/signal_set.hpp"
#include "sennit/tcp_listener.hpp"
#include "sennit/tcp_stream.hpp"
#include "servers.hpp"
#include "session.hpp"

namespace kv {

namespace {

using clock = std::chrono::steady_clock;

struct one_worker {
  struct mutex {
    void lock() {}
    void unlock() {}
  };
  using channel = sennit::local::channel<bool>;
  using semaphore = sennit::local::counting_semaphore;

  // The workspace of a session while it receives, processes and sends. No other fiber of the thread runs
  // between receiving and processing, so all sessions share one.
  class space {
  public:
    explicit space(server_state& server) : shared_(server.shared) {}
    workspace& take() { return shared_; }
    void give_back() {}

  private:
    workspace& shared_;
  };

  // Calls next(state) with the lock held.
  template <class State>
  static sennit::continuation locked(mutex&, sennit::continuation (*next)(State), State state) {
    return next(std::move(state));
  }

  template <class Function>
  static void spawn(Function&& function, std::size_t) {
    sennit::local::spawn(std::forward<Function>(function));
  }
};

struct several_workers {
  using mutex = sennit::mutex;
  using channel = sennit::channel<bool>;
  using semaphore = sennit::counting_semaphore;

  class space {
  public:
    explicit space(server_state&) {}
    // Returns the same workspace until it is given back. Throws std::bad_alloc.
    workspace& take() {
      if (own_ == nullptr) {
        own_ = std::make_unique_for_overwrite<workspace>();
      }
      return *own_;
    }
    void give_back() { own_.reset(); }

  private:
    std::unique_ptr<workspace> own_;
  };

  // Waits for the lock without a stack: many connections may wait while the fiber that holds it does not run.
  template <class State>
  static sennit::continuation locked(mutex& guard, sennit::continuation (*next)(State), State state) {
    if (guard.try_lock()) {
      return next(std::move(state));
    }
    return sennit::become(guard.locking(), next, std::move(state));
  }

  // The number spreads connections over the workers. A connection's events arrive at the worker where it
  // first waits.
  template <class Function>
  static void spawn(Function&& function, std::size_t number) {
    sennit::spawn(std::forward<Function>(function), {.near = static_cast<unsigned>(number)}).detach();
  }
};

// Returns false if the stream has failed, or if there is no memory to use it.
template <class Transfer>
bool is_done(Transfer transfer) {
  try {
    transfer();
    return true;
  } catch (const std::system_error&) {
    // The peer reset the connection, or break_off() closed it.
  } catch (const std::bad_alloc&) {
  }
  return false;
}

// Must outlive the runtime, which ends the fibers that use it.
template <class Kind>
class fiber_server {
public:
  explicit fiber_server(server_state& server) : server_(server) {}

  void serve() {
    sennit::signal_set signals({SIGINT, SIGTERM});
    listener_ = sennit::tcp_listener(server_.config.bind, server_.config.port);
    say_serving(server_.config);
    Kind::spawn([this] { return await_client(); }, 0);
    Kind::spawn([this] { return destroy_garbage_later(); }, 0);
    signals.wait();
  }

private:
  class connection;
  using mutex = typename Kind::mutex;
  using channel = typename Kind::channel;
  static constexpr int most_beginners = 16;

  sennit::continuation destroy_garbage_later() {
    std::unique_lock hold(guard_);
    const clock::time_point next = destroy_garbage(server_);
    hold.unlock();
    return sennit::become(sennit::this_fiber::sleeping_until(next), &fiber_server::destroy_garbage_later,
                          this);
  }
  // When many clients arrive at once, few of their fibers have a stack at a time: this one yields between
  // two, and waits while a worker has not begun those that it was given.
  sennit::continuation await_client() {
    return sennit::become(listener_.accepting(), &fiber_server::accept, this);
  }
  // Without descriptors or memory, clients wait to be accepted until another one leaves.
  sennit::continuation accept() {
    constexpr std::chrono::milliseconds pause{20};
    bool begun = false;
    if (!listener_.is_open()) {
      return {};
    }
    if (!is_done([&] { begun = accept_one(); })) {
      return sennit::become(sennit::this_fiber::sleeping_for(pause), &fiber_server::await_client, this);
    }
    return begun ? sennit::become(beginners_.acquiring(), &fiber_server::await_client, this) : await_client();
  }
  // Whether a connection has begun.
  bool accept_one() {
    sennit::tcp_stream stream = listener_.accept();
    const std::lock_guard hold(guard_);
    if (refuse_if_full(server_.config, server_.connected_clients, stream.native_handle())) {
      return false;
    }
    const std::size_t number = server_.connections;
    auto arrived = std::make_unique<connection>(std::move(stream), *this);
    Kind::spawn([arrived = std::move(arrived)]() mutable { return connection::begin(std::move(arrived)); },
                number);
    return true;
  }
  server_state& server_;
  sennit::tcp_listener listener_;
  mutex guard_;                                         // protects the server's state
  typename Kind::semaphore beginners_{most_beginners};  // fibers that have a stack and have not run yet
};

// Made and destroyed with the lock held. The fiber owns it, and passes it from one function to the next.
template <class Kind>
class fiber_server<Kind>::connection final : public front {
public:
  using owned = std::unique_ptr<connection>;

  connection(sennit::tcp_stream stream, fiber_server& of)
      : of_(of),
        stream_(std::move(stream)),
        space_(of.server_),
        session_(of.server_, of.server_.shared, *this) {}
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  static sennit::continuation begin(owned its) {
    its->of_.beginners_.release();
    return rest(std::move(its));
  }

  void wake() override {
    bool message = true;
    if (news_ != nullptr) {
      news_->try_send(message);
    }
  }
  // Ends any wait for the stream, for news, or for both.
  void break_off() override {
    stream_.close();
    wake();
  }
  bool is_gone() override { return !stream_.is_open() || peer_is_gone(stream_.native_handle()); }

private:
  // The steps of the fiber. Those without the lock:
  static sennit::continuation rest(owned its) {
    if (its->of_.server_.config.waker_reads && its->session_.is_between_requests()) {
      return sennit::become(&connection::reading_first, take_read, std::move(its));
    }
    return sennit::become(&connection::reading, receive, std::move(its));
  }
  static sennit::continuation take_read(owned its, sennit::io_result got) {
    const bool received = !got.error && got.size != 0 && is_done([&] {
      its->session_.use(its->space_.take());
      std::copy_n(its->first_.begin(), got.size, its->session_.receive_space().begin());
      its->session_.received(got.size);
      its->more_has_come_ = got.size == its->first_.size();
    });
    return locked(received ? answer : close, std::move(its));
  }
  static sennit::continuation receive(owned its) {
    std::size_t count = 0;
    const bool received = is_done([&] {
      its->session_.use(its->space_.take());
      const std::span<char> space = its->session_.receive_space();
      count = its->stream_.read_some(space);
      its->session_.received(count);
      its->more_has_come_ = count == space.size();  // perhaps
    });
    return locked(received && count != 0 ? answer : close, std::move(its));
  }
  static sennit::continuation lock_to_answer(owned its) { return locked(answer, std::move(its)); }
  static sennit::continuation hear(owned its, std::size_t event) {
    return event == 1 ? receive(std::move(its)) : locked(event == 0 ? look : time_out, std::move(its));
  }
  // Those with the lock held, which they unlock:
  // Yields between requests, so that a client that always has more does not keep the others waiting.
  static sennit::continuation answer(owned its) {
    auto outcome = session::outcome::close;
    bool sent = is_done([&] {
      its->session_.use(its->space_.take());
      outcome = its->session_.process();
    });
    // A client that awaits no others begins nothing while it sends, so the lock is not needed to look again.
    const bool look_again = its->session_.has_news() || its->session_.awaits_other_clients();
    its->of_.guard_.unlock();
    sent = sent && is_done([&] {
             if (!its->session_.output().empty()) {
               its->stream_.write_all(its->session_.output());
             }
             its->session_.output_sent();
             its->space_.give_back();
           });
    if (!sent || outcome == session::outcome::close) {
      return locked(close, std::move(its));
    }
    if (outcome != session::outcome::wait) {
      if (outcome == session::outcome::compute) {
        its->session_.compute();
      }
      return sennit::become(sennit::this_fiber::yielding(), lock_to_answer, std::move(its));
    }
    if (look_again) {
      return locked(look, std::move(its));
    }
    if (its->more_has_come_) {
      return sennit::become(sennit::this_fiber::yielding(), receive, std::move(its));
    }
    return rest(std::move(its));
  }
  // Waits for the client and for other clients at once.
  static sennit::continuation look(owned its) {
    if (its->session_.has_news()) {
      return answer(std::move(its));
    }
    const std::lock_guard hold(its->of_.guard_, std::adopt_lock);
    auto here = std::move(its);  // destroyed with the lock held
    connection& self = *here;
    try {
      if (self.news_ == nullptr) {
        self.news_ = std::make_unique<channel>(1);
      }
      return sennit::become(sennit::selecting(sennit::on_receive(*self.news_, [](auto) {}),
                                              sennit::on_readable(self.stream_, [] {}),
                                              sennit::on_timeout(self.session_.deadline(), [] {})),
                            hear, std::move(here));
    } catch (const std::bad_alloc&) {
      // No memory to wait in.
    }
    return {};
  }
  // A blocked client's deadline has passed.
  static sennit::continuation time_out(owned its) {
    its->session_.time_out();
    return its->session_.has_news() ? answer(std::move(its)) : close(std::move(its));
  }
  static sennit::continuation close(owned its) {
    const std::lock_guard hold(its->of_.guard_, std::adopt_lock);
    const auto closed = std::move(its);
    return {};
  }

  static sennit::continuation locked(sennit::continuation (*next)(owned), owned its) {
    mutex& guard = its->of_.guard_;
    return Kind::locked(guard, next, std::move(its));
  }

  auto reading() const { return stream_.reading(); }
  auto reading_first() { return stream_.reading_some(first_); }

  fiber_server& of_;
  sennit::tcp_stream stream_;
  typename Kind::space space_;
  session session_;
  bool more_has_come_ = false;
  std::array<char, 64> first_;     // with --waker-reads: what it reads into
  std::unique_ptr<channel> news_;  // made when the client first blocks or subscribes
};

}  // namespace

void serve_with_fibers(server_state& server, unsigned workers) {
  if (workers == 1) {
    fiber_server<one_worker> front(server);
    sennit::local::runtime runtime({.time_slice = server.config.time_slice});
    runtime.run([&] { front.serve(); });
  } else {
    fiber_server<several_workers> front(server);
    sennit::runtime runtime({.workers = workers, .time_slice = server.config.time_slice});
    runtime.run([&] { front.serve(); });
  }
}

}  // namespace kv
