// SORT: copies the elements, some at a time; sorts the copy beside the commands of others; and replies, or
// makes a list, some at a time.
//
// To others it is done at one moment all the same: when the last element is copied. If the key has changed
// since the first was, it begins again. With STORE the moment is that of storing, and the key must still be
// what was copied. Since others may change it all the while, the last attempt copies in one piece, and
// with STORE does all in one.
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
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
    char* to = nullptr;
    if (wanted > block / 4) {
      to = large_.emplace_back(std::make_unique_for_overwrite<char[]>(wanted)).get();
      large_bytes_ += wanted;
    } else {
      if (wanted > left_) {
        if (used_ == blocks_.size()) {
          blocks_.push_back(std::make_unique_for_overwrite<char[]>(block));
        }
        next_ = blocks_[used_++].get();
        left_ = block;
      }
      to = std::exchange(next_, next_ + wanted);
      left_ -= wanted;
    }
    to[text.copy(to, text.size())] = '\0';
    return {to, text.size()};
  }
  // Keeps the memory for others.
  void clear() {
    large_.clear();
    left_ = used_ = large_bytes_ = 0;
  }
  // Gives back some of it. True: all.
  bool forget_some() {
    std::vector<std::unique_ptr<char[]>>& from = large_.empty() ? blocks_ : large_;
    from.resize(from.size() - std::min<std::size_t>(from.size(), 2));
    return blocks_.empty();
  }
  std::size_t memory() const { return blocks_.size() * block + large_bytes_; }

private:
  static constexpr std::size_t block = std::size_t{64} << 10;

  std::vector<std::unique_ptr<char[]>> blocks_, large_;
  char* next_ = nullptr;
  std::size_t left_ = 0, used_ = 0, large_bytes_ = 0;
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
  static constexpr std::size_t most_elements = 256, most_bytes = std::size_t{16} << 10;

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
  std::size_t size(server_state& server) const override {
    const any_value* found = server.keys.find(key_);
    return found == nullptr ? 0 : size_of(*found);
  }
  std::size_t memory() const override {
    return items_.capacity() * sizeof(sortable) + texts_.memory() + list_.memory();
  }

private:
  enum class phase { copying, sorted, answering, forgetting };
  static constexpr int most_attempts = 3;

  step next_step(server_state& server, reply_writer& reply);
  bool copy_some(server_state& server);
  template <class Element>
  void copy_some(std::size_t size, Element element);
  void select(reply_writer& reply);
  bool reply_some(reply_writer& reply);
  bool store_some(server_state& server, reply_writer& reply);
  bool forget_some();

  const std::string key_;
  const sort_options options_;
  phase phase_ = phase::copying;
  int attempts_ = 0;
  std::uint64_t version_ = 0;  // the key's, of what is copied
  texts texts_;
  std::vector<sortable> items_;
  sort_result result_ = sort_result::stopped;
  std::size_t next_ = 0, end_ = 0;  // of the items that were asked for
  std::size_t forgotten_ = 0;       // bytes of the items
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
      select(reply);
      phase_ = phase::answering;
      [[fallthrough]];
    case phase::answering:
      if (result_ == sort_result::sorted &&
          !(options_.destination ? store_some(server, reply) : reply_some(reply))) {
        return step::more;
      }
      phase_ = phase::forgetting;
      [[fallthrough]];
    case phase::forgetting:
      break;
  }
  return forget_some() ? step::done : step::more;
}

// True, as in what follows: that was all.
bool sorting::copy_some(server_state& server) {
  const any_value* found = server.keys.find(key_);
  const std::uint64_t version = server.keys.version(key_);
  if (attempts_ == 0 || version != version_) {
    ++attempts_;
    version_ = version;
    items_.clear();
    texts_.clear();
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
    copy_some(size, [at = set->at(items_.size())](std::size_t) mutable { return std::string_view(*at++); });
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

void sorting::select(reply_writer& reply) {
  if (result_ != sort_result::sorted) {
    reply.error(result_ == sort_result::stopped ? "ERR The server is ending"
                                                : "ERR One or more scores can't be converted into double");
    return;
  }
  const auto size = static_cast<std::int64_t>(items_.size());
  const std::int64_t first = std::clamp<std::int64_t>(options_.skip, 0, size);
  const std::int64_t most = options_.most < 0 ? size : options_.most;
  next_ = static_cast<std::size_t>(first);
  end_ = next_ + static_cast<std::size_t>(std::min(most, size - first));
  if (!options_.destination) {
    reply.array(end_ - next_);
  }
}

bool sorting::reply_some(reply_writer& reply) {
  for (portion now; next_ != end_ && now.takes(items_[next_].text); ++next_) {
    reply.bulk(items_[next_].text);
  }
  return next_ == end_;
}

bool sorting::store_some(server_state& server, reply_writer& reply) {
  for (portion now; next_ != end_ && now.takes(items_[next_].text); ++next_) {
    list_.push(list_end::right, items_[next_].text);
  }
  if (next_ != end_) {
    return false;
  }
  if (server.keys.version(key_) != version_) {
    list_ = {};
    phase_ = phase::copying;
    return false;
  }
  const std::size_t size = list_.size();
  try {
    check_room(server, list_.memory());
  } catch (const command_error& error) {
    reply.error(error.text);
    return true;
  }
  any_value made = std::make_unique<list_value>(std::move(list_));
  server.keys.erase(*options_.destination);
  if (size != 0) {
    store::edit(server.keys, *options_.destination).create(std::move(made));
    server.blocked.list_has_grown(*options_.destination);
  }
  reply.integer(static_cast<std::int64_t>(size));
  return true;
}

// To give memory back is work, too, most of it the kernel's: milliseconds for a million elements.
bool sorting::forget_some() {
  constexpr std::size_t at_once = std::size_t{1} << 17, page = 4096;
  char* const begin = reinterpret_cast<char*>(items_.data());
  const std::size_t size = items_.capacity() * sizeof(sortable) / page * page;
  if (forgotten_ + at_once < size) {
    // Its pages, but for the first, which others use, too.
    const std::size_t first = page - reinterpret_cast<std::uintptr_t>(begin) % page + forgotten_;
    ::madvise(begin + first, at_once, MADV_DONTNEED);
    forgotten_ += at_once;
    return false;
  }
  return texts_.forget_some();
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
