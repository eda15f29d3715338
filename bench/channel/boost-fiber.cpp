// Boost.Fiber: unbuffered_channel is its rendezvous, buffered_channel its bounded queue.
#include <boost/fiber/buffered_channel.hpp>
#include <boost/fiber/unbuffered_channel.hpp>

#include "../peers/boost-fiber.hpp"
#include "channel.hpp"

namespace {

template <class Channel>
class words {
public:
  using value_type = typename Channel::value_type;
  void send(const value_type& message) { channel_.push(message); }
  value_type receive() {
    value_type message{};
    channel_.pop(message);
    return message;
  }

protected:
  template <class... Arguments>
  explicit words(Arguments... arguments) : channel_(arguments...) {}

private:
  Channel channel_;
};

template <class T>
class rendezvous : public words<boost::fibers::unbuffered_channel<T>> {
public:
  explicit rendezvous(std::size_t) {}
};

// The capacity must be a power of two; one place stays empty.
template <class T>
class buffered : public words<boost::fibers::buffered_channel<T>> {
public:
  explicit buffered(std::size_t capacity) : words<boost::fibers::buffered_channel<T>>(capacity) {}
};

}  // namespace

int main(int argc, char** argv) {
  using library = bench::boost_fibers<>;
  bench::program program(argc, argv, library::version(), "unbuffered_channel, buffered_channel",
                         bench::channel_parameters());
  program.require_one_worker("the default scheduler has one kernel thread");

  library::run([&] { bench::measure_channels<library, rendezvous, buffered>(program, "fiber"); });
}
