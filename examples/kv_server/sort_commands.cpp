// SORT: copies the elements, some at a time; sorts the copy beside the commands of others; and replies, or
// makes a list, some at a time.
//
// To others it is done at one moment all the same: when the last element is copied. If the key has changed
// since the first was, it begins again. With STORE the moment is that of storing, and the key must still be
// what was copied. Since others may change it all the while, the last attempt copies in one piece, and
// with STORE does all in one.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "computation.hpp"
#include "computing/computing.hpp"
#include "handlers.hpp"

namespace kv::handlers {

namespace {

// Texts that stay where they are, each with a zero byte behind it.
class texts {
public:
  std::string_view add(std::string_view text) {
    const std::size_t wanted = text.size() + 1;
    if (wanted > left_) {
      const std::size_t size = std::max(block, wanted);
      blocks_.push_back(std::make_unique_for_overwrite<char[]>(size));
      next_ = blocks_.back().get();
      left_ = size;
      memory_ += size;
    }
    char* const to = std::exchange(next_, next_ + wanted);
    left_ -= wanted;
    to[text.copy(to, text.size())] = '\0';
    return {to, text.size()};
  }
  std::size_t memory() const { return memory_; }

private:
  static constexpr std::size_t block = std::size_t{64} << 10;

  std::vector<std::unique_ptr<char[]>> blocks_;
  char* next_ = nullptr;
  std::size_t left_ = 0, memory_ = 0;
};

// What is done before others have their turn: some 10 us.
class portion {
public:
  bool takes(std::string_view text) {
    const bool has_room = elements_ < most_elements && bytes_ < most_bytes;
    ++elements_;
    bytes_ += text.size();
    return has_room;
  }

private:
  static constexpr std::size_t most_elements = 512, most_bytes = std::size_t{16} << 10;

  std::size_t elements_ = 0, bytes_ = 0;
};

struct sort_options {
  sort_order order;
  std::int64_t skip = 0, most = -1;  // -1: all
  std::optional<std::string> destination;
};

class sorting final : public computation {
public:
  sorting(std::string_view key, sort_options&& options) : key_(key), options_(std::move(options)) {}

  step go_on(server_state& server, reply_writer& reply) override;
  void compute() override { result_ = sort_items(items_, options_.order, stop_word()); }
  std::size_t memory() const override {
    return items_.capacity() * sizeof(sortable) + texts_.memory() + list_.memory();
  }

private:
  enum class phase { copying, sorted, answering };
  static constexpr int most_attempts = 3;

  step next_step(server_state& server, reply_writer& reply);
  bool copy_some(server_state& server);
  template <class Element>
  void copy_some(std::size_t size, Element element);
  void select();
  step reply_some(reply_writer& reply);
  step store_some(server_state& server, reply_writer& reply);

  const std::string key_;
  const sort_options options_;
  phase phase_ = phase::copying;
  int attempts_ = 0;
  std::uint64_t version_ = 0;  // the key's, of what is copied
  texts texts_;
  std::vector<sortable> items_;
  sort_result result_ = sort_result::stopped;
  std::size_t next_ = 0, end_ = 0;  // of the items that were asked for
  list_value list_;
};

computation::step sorting::go_on(server_state& server, reply_writer& reply) {
  step next = next_step(server, reply);
  while (next != step::done && options_.destination && attempts_ > most_attempts) {
    if (next == step::compute) {
      compute();
    }
    next = next_step(server, reply);
  }
  return next;
}

computation::step sorting::next_step(server_state& server, reply_writer& reply) {
  switch (phase_) {
    case phase::copying:
      if (!copy_some(server)) {
        return step::more;
      }
      phase_ = phase::sorted;
      return step::compute;
    case phase::sorted:
      select();
      if (!options_.destination) {
        reply.array(end_ - next_);
      }
      phase_ = phase::answering;
      [[fallthrough]];
    case phase::answering:
      break;
  }
  return options_.destination ? store_some(server, reply) : reply_some(reply);
}

// True: that was all.
bool sorting::copy_some(server_state& server) {
  const any_value* found = server.keys.find(key_);
  const std::uint64_t version = server.keys.version(key_);
  if (attempts_ == 0 || version != version_) {
    ++attempts_;
    version_ = version;
    items_.clear();
    texts_ = {};
  }
  std::size_t size = 0;
  if (found == nullptr) {
    return true;
  }
  if (const auto* list = get_as<list_value>(*found)) {
    size = list->size();
    copy_some(size, [&](std::size_t i) { return std::string_view((*list)[i]); });
  } else if (const auto* set = get_as<set_value>(*found)) {
    size = set->size();
    copy_some(size, [&](std::size_t i) { return std::string_view((*set)[i]); });
  } else if (const auto* sorted = get_as<sorted_set_value>(*found)) {
    size = sorted->size();
    copy_some(size, [at = sorted->at(items_.size())](std::size_t) mutable {
      return std::string_view((at++)->second);
    });
  } else {
    fail(wrong_type);
  }
  return items_.size() == size;
}

template <class Element>
void sorting::copy_some(std::size_t size, Element element) {
  items_.reserve(size);
  portion now;
  while (items_.size() != size) {
    const std::string_view text = element(items_.size());
    if (!now.takes(text) && attempts_ <= most_attempts) {
      return;
    }
    items_.push_back({texts_.add(text)});
  }
}

void sorting::select() {
  if (result_ == sort_result::stopped) {
    fail("ERR The server is ending");
  }
  if (result_ == sort_result::not_numbers) {
    fail("ERR One or more scores can't be converted into double");
  }
  const auto size = static_cast<std::int64_t>(items_.size());
  const std::int64_t first = std::clamp<std::int64_t>(options_.skip, 0, size);
  const std::int64_t most = options_.most < 0 ? size : options_.most;
  next_ = static_cast<std::size_t>(first);
  end_ = next_ + static_cast<std::size_t>(std::min(most, size - first));
}

computation::step sorting::reply_some(reply_writer& reply) {
  for (portion now; next_ != end_ && now.takes(items_[next_].text); ++next_) {
    reply.bulk(items_[next_].text);
  }
  return next_ == end_ ? step::done : step::more;
}

computation::step sorting::store_some(server_state& server, reply_writer& reply) {
  for (portion now; next_ != end_ && now.takes(items_[next_].text); ++next_) {
    list_.push(list_end::right, items_[next_].text);
  }
  if (next_ != end_) {
    return step::more;
  }
  if (server.keys.version(key_) != version_) {
    list_ = {};
    phase_ = phase::copying;
    return step::more;
  }
  const std::size_t size = list_.size();
  any_value made = std::make_unique<list_value>(std::move(list_));
  server.keys.erase(*options_.destination);
  if (size != 0) {
    store::edit(server.keys, *options_.destination).create(std::move(made));
    server.blocked.list_has_grown(*options_.destination);
  }
  reply.integer(static_cast<std::int64_t>(size));
  return step::done;
}

sort_options parse_options(const invocation& call) {
  sort_options found;
  const auto& words = call.arguments;
  for (std::size_t i = 2; i < words.size(); ++i) {
    const std::size_t behind = words.size() - i - 1;
    if (equals_ignoring_case(words[i], "asc")) {
      found.order.descending = false;
    } else if (equals_ignoring_case(words[i], "desc")) {
      found.order.descending = true;
    } else if (equals_ignoring_case(words[i], "alpha")) {
      found.order.by_text = true;
    } else if (equals_ignoring_case(words[i], "limit") && behind >= 2) {
      found.skip = integer_argument(call, i + 1);
      found.most = integer_argument(call, i + 2);
      i += 2;
    } else if (equals_ignoring_case(words[i], "store") && behind >= 1) {
      found.destination = words[++i];
    } else if ((equals_ignoring_case(words[i], "by") || equals_ignoring_case(words[i], "get")) &&
               behind >= 1) {
      fail("ERR SORT has neither BY nor GET here");
    } else {
      fail(syntax_error);
    }
  }
  return found;
}

}  // namespace

void sort(invocation& call) {
  leave(call, std::make_unique<sorting>(call.arguments[1], parse_options(call)));
}

}  // namespace kv::handlers
