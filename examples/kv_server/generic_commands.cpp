// Commands on keys whatever their values: DEL EXISTS TYPE KEYS DBSIZE FLUSHALL.
#include <memory>
#include <set>
#include <string>

#include "arguments.hpp"
#include "computation.hpp"
#include "handlers.hpp"

namespace kv::handlers {

namespace {

// Collects the matching keys, some buckets at a time, and replies with them. A key that exists all the while
// is listed exactly once.
class key_listing final : public computation {
public:
  explicit key_listing(std::string_view pattern) : pattern_(pattern) {}

  step go_on(server_state& server, reply_writer& reply) override {
    if (!scanned_) {
      scan_some(server.keys);
      return step::more;
    }
    if (!replying_) {
      reply.array(found_.size());
      replying_ = true;
    }
    for (std::size_t left = portion; left != 0 && !found_.empty(); --left) {
      reply.bulk(*found_.begin());
      memory_ -= memory_of_key(*found_.begin());
      found_.erase(found_.begin());
    }
    return found_.empty() ? step::done : step::more;
  }
  void compute() override {}
  std::size_t size(server_state& server) const override { return server.keys.size(); }
  std::size_t memory() const override { return sizeof *this + memory_; }

private:
  static constexpr std::size_t portion = 1024;  // buckets, or keys

  static std::size_t memory_of_key(const std::string& key) { return 64 + text_memory(key); }

  void scan_some(const store& keys) {
    for (std::size_t left = portion; left != 0; --left) {
      cursor_ = keys.scan(cursor_, [&](std::string_view key, const any_value&) {
        if (matches_pattern(pattern_, key)) {
          const auto [place, added] = found_.emplace(key);
          memory_ += added ? memory_of_key(*place) : 0;
        }
      });
      if (cursor_ == 0) {
        scanned_ = true;
        return;
      }
    }
  }

  const std::string pattern_;
  std::uint64_t cursor_ = 0;
  bool scanned_ = false, replying_ = false;
  std::set<std::string, std::less<>> found_;
  std::size_t memory_ = 0;
};

}  // namespace

void del(invocation& call) {
  std::int64_t deleted = 0;
  for (std::size_t i = 1; i < call.arguments.size(); ++i) {
    deleted += call.server.keys.erase(call.arguments[i]) ? 1 : 0;
  }
  call.reply.integer(deleted);
}

// A key named twice counts twice.
void exists(invocation& call) {
  std::int64_t existing = 0;
  for (std::size_t i = 1; i < call.arguments.size(); ++i) {
    existing += call.server.keys.find(call.arguments[i]) != nullptr ? 1 : 0;
  }
  call.reply.integer(existing);
}

void type(invocation& call) {
  const any_value* found = call.server.keys.find(call.arguments[1]);
  call.reply.simple(found == nullptr ? "none" : type_name(*found));
}

void keys(invocation& call) {
  leave(call, std::make_unique<key_listing>(call.arguments[1]));
}

void dbsize(invocation& call) {
  call.reply.integer(static_cast<std::int64_t>(call.server.keys.size()));
}

// The memory is given back bit by bit, with SYNC and with ASYNC.
void flushall(invocation& call) {
  const request& arguments = call.arguments;
  if (arguments.size() > 2 || (arguments.size() == 2 && !equals_ignoring_case(arguments[1], "sync") &&
                               !equals_ignoring_case(arguments[1], "async"))) {
    fail(syntax_error);
  }
  call.server.keys.clear();
  call.reply.ok();
}

}  // namespace kv::handlers
