// Mutexes, conditions and channels.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <new>
#include <optional>
#include <utility>

#include "error.hpp"
#include "sennit/local/channel.hpp"
#include "sennit/local/condition_variable.hpp"
#include "sennit/local/mutex.hpp"

using namespace sennit;
using capi::guarded;
using capi::in_fiber;
using capi::time_of;

namespace {

// Counts those inside of a function that uses an object beyond a wait, so that it is not destroyed under
// them.
class user {
public:
  explicit user(std::size_t& count) : count_(count) { ++count_; }
  user(const user&) = delete;
  user& operator=(const user&) = delete;
  ~user() { --count_; }

private:
  std::size_t& count_;
};

template <class Object, class... Arguments>
int create(Object** result, Arguments... arguments) {
  if (result == nullptr)
    return -EINVAL;
  return guarded([&] {
    *result = new Object(arguments...);
    return 0;
  });
}

}  // namespace

struct sennit_mutex {
  local::mutex mutex;
  std::size_t users = 0;

  bool locked() {
    const bool taken = mutex.try_lock();
    if (taken)
      mutex.unlock();
    return !taken;
  }
};

int sennit_mutex_create(sennit_mutex** result) {
  return create(result);
}

int sennit_mutex_destroy(sennit_mutex* mutex) {
  if (mutex != nullptr && (mutex->users != 0 || mutex->locked()))
    return -EBUSY;
  delete mutex;
  return 0;
}

int sennit_mutex_lock(sennit_mutex* mutex) {
  if (mutex == nullptr)
    return -EINVAL;
  if (mutex->mutex.try_lock())
    return 0;
  return sennit_mutex_lock_until(mutex, SENNIT_NEVER);
}

int sennit_mutex_trylock(sennit_mutex* mutex) {
  if (mutex == nullptr)
    return -EINVAL;
  return mutex->mutex.try_lock() ? 0 : -EAGAIN;
}

int sennit_mutex_lock_until(sennit_mutex* mutex, int64_t deadline) {
  if (mutex == nullptr || !in_fiber())
    return -EINVAL;
  const user here(mutex->users);
  return mutex->mutex.try_lock_until(time_of(deadline)) ? 0 : -ETIMEDOUT;
}

int sennit_mutex_unlock(sennit_mutex* mutex) {
  if (mutex == nullptr || !mutex->locked())
    return -EINVAL;
  mutex->mutex.unlock();
  return 0;
}

struct sennit_condition {
  local::condition_variable condition;
  std::size_t users = 0;
};

int sennit_condition_create(sennit_condition** result) {
  return create(result);
}

int sennit_condition_destroy(sennit_condition* condition) {
  if (condition != nullptr && condition->users != 0)
    return -EBUSY;
  delete condition;
  return 0;
}

int sennit_condition_wait(sennit_condition* condition, sennit_mutex* mutex) {
  return sennit_condition_wait_until(condition, mutex, SENNIT_NEVER);
}

int sennit_condition_wait_until(sennit_condition* condition, sennit_mutex* mutex, int64_t deadline) {
  if (condition == nullptr || mutex == nullptr || !in_fiber() || !mutex->locked())
    return -EINVAL;
  struct lent_lock {  // the caller's: held again at the end, however that comes
    ~lent_lock() { lock.release(); }
    std::unique_lock<local::mutex> lock;
  } lent{{mutex->mutex, std::adopt_lock}};
  const user of_condition(condition->users);
  const user of_mutex(mutex->users);
  return condition->condition.wait_until(lent.lock, time_of(deadline)) == std::cv_status::no_timeout
             ? 0
             : -ETIMEDOUT;
}

int sennit_condition_notify_one(sennit_condition* condition) {
  if (condition == nullptr)
    return -EINVAL;
  condition->condition.notify_one();
  return 0;
}

int sennit_condition_notify_all(sennit_condition* condition) {
  if (condition == nullptr)
    return -EINVAL;
  condition->condition.notify_all();
  return 0;
}

// A channel of words: each is an element, or, if those are larger, points to a copy of one. Copies are kept
// for the next element: there are never more than elements on their way.
struct sennit_channel {
  sennit_channel(std::size_t size, std::size_t capacity) : channel(capacity), element_size(size) {}
  sennit_channel(const sennit_channel&) = delete;
  sennit_channel& operator=(const sennit_channel&) = delete;
  ~sennit_channel() {
    while (const std::optional<std::uintptr_t> word = channel.try_receive())
      give_back(*word);
    while (spare != nullptr)
      ::operator delete(std::exchange(spare, spare->next));
  }

  bool in_word() const { return element_size <= sizeof(std::uintptr_t); }

  std::uintptr_t pack(const void* element) {
    std::uintptr_t word = 0;
    void* to = &word;
    if (!in_word()) {
      to = spare != nullptr ? std::exchange(spare, spare->next)
                            : ::operator new(std::max(element_size, sizeof(copy)));
      word = reinterpret_cast<std::uintptr_t>(to);
    }
    std::memcpy(to, element, element_size);
    return word;
  }

  void unpack(std::uintptr_t word, void* element) {
    const void* from = in_word() ? &word : reinterpret_cast<void*>(word);
    std::memcpy(element, from, element_size);
    give_back(word);
  }

  void give_back(std::uintptr_t word) {
    if (!in_word())
      spare = ::new (reinterpret_cast<void*>(word)) copy{spare};
  }

  int send(const void* element, detail::time_point deadline);
  int receive(void* element, detail::time_point deadline);

  struct copy {
    copy* next;
  };
  local::channel<std::uintptr_t> channel;
  std::size_t element_size;
  copy* spare = nullptr;
  std::size_t users = 0;
};

// A word that its destructor frees unless it was taken.
struct packed {
  packed(sennit_channel& to, const void* element) : channel(to), word(to.pack(element)) {}
  packed(const packed&) = delete;
  packed& operator=(const packed&) = delete;
  ~packed() {
    if (!taken)
      channel.give_back(word);
  }
  sennit_channel& channel;
  std::uintptr_t word;
  bool taken = false;
};

static int error_of(channel_status status) noexcept {
  return status == channel_status::success ? 0 : status == channel_status::closed ? -EPIPE : -ETIMEDOUT;
}

int sennit_channel::send(const void* element, detail::time_point deadline) {
  if (channel.closed())
    return -EPIPE;
  const user here(users);
  packed offered(*this, element);
  const auto sent = channel.send_until(offered.word, deadline);
  offered.taken = sent;
  return error_of(sent.status());
}

int sennit_channel::receive(void* element, detail::time_point deadline) {
  const user here(users);
  const auto word = channel.receive_until(deadline);
  if (word)
    unpack(*word, element);
  return error_of(word.status());
}

int sennit_channel_create(sennit_channel** result, size_t element_size, size_t capacity) {
  return element_size == 0 ? -EINVAL : create(result, element_size, capacity);
}

int sennit_channel_destroy(sennit_channel* channel) {
  if (channel != nullptr && channel->users != 0)
    return -EBUSY;
  delete channel;
  return 0;
}

int sennit_channel_send(sennit_channel* channel, const void* element) {
  return sennit_channel_send_until(channel, element, SENNIT_NEVER);
}

int sennit_channel_send_until(sennit_channel* channel, const void* element, int64_t deadline) {
  if (channel == nullptr || element == nullptr || !in_fiber())
    return -EINVAL;
  return guarded([&] { return channel->send(element, time_of(deadline)); });
}

int sennit_channel_receive(sennit_channel* channel, void* element) {
  return sennit_channel_receive_until(channel, element, SENNIT_NEVER);
}

int sennit_channel_receive_until(sennit_channel* channel, void* element, int64_t deadline) {
  if (channel == nullptr || element == nullptr || !in_fiber())
    return -EINVAL;
  return guarded([&] { return channel->receive(element, time_of(deadline)); });
}

int sennit_channel_trysend(sennit_channel* channel, const void* element) {
  if (channel == nullptr || element == nullptr)
    return -EINVAL;
  if (channel->channel.closed())
    return -EPIPE;
  return guarded([&] {
    packed offered(*channel, element);
    offered.taken = channel->channel.try_send(offered.word);
    return offered.taken ? 0 : -EAGAIN;
  });
}

int sennit_channel_tryreceive(sennit_channel* channel, void* element) {
  if (channel == nullptr || element == nullptr)
    return -EINVAL;
  const std::optional<std::uintptr_t> word = channel->channel.try_receive();
  if (!word)
    return channel->channel.closed() ? -EPIPE : -EAGAIN;
  channel->unpack(*word, element);
  return 0;
}

int sennit_channel_close(sennit_channel* channel) {
  if (channel == nullptr)
    return -EINVAL;
  channel->channel.close();
  return 0;
}

ssize_t sennit_channel_size(const sennit_channel* channel) {
  return channel != nullptr ? static_cast<ssize_t>(channel->channel.size()) : -EINVAL;
}
