// Boost.Fiber: unbuffered_channel is its rendezvous, buffered_channel its bounded queue.
#include <boost/fiber/buffered_channel.hpp>
#include <boost/fiber/unbuffered_channel.hpp>

#include "../peers/boost-fiber.hpp"
#include "channel.hpp"

namespace {

template <class T>
class rendezvous {
public:
  using value_type = T;
  explicit rendezvous(std::size_t) {}
  void send(const T& message) { channel_.push(message); }
  T receive() {
    T message{};
    channel_.pop(message);
    return message;
  }

private:
  boost::fibers::unbuffered_channel<T> channel_;
};

template <class T>
class buffered {
public:
  using value_type = T;
  explicit buffered(std::size_t capacity) : channel_(capacity) {}
  void send(const T& message) { channel_.push(message); }
  T receive() {
    T message{};
    channel_.pop(message);
    return message;
  }

private:
  boost::fibers::buffered_channel<T> channel_;  // the capacity must be a power of two; one place stays empty
};

}  // namespace

int main(int argc, char** argv) {
  using library = bench::boost_fibers<>;
  bench::program program(argc, argv, library::version(), "unbuffered_channel, buffered_channel",
                         bench::channel_parameters());
  program.require_one_worker("the default scheduler has one kernel thread");

  library::run([&] { bench::measure_channels<library, rendezvous, buffered>(program, "fiber"); });
}
