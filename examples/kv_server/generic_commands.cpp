// Commands on keys whatever their values: DEL EXISTS TYPE RENAME KEYS SCAN RANDOMKEY DBSIZE FLUSHALL.
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <limits>
#include <vector>

#include "arguments.hpp"
#include "handlers.hpp"
#include "integer.hpp"

namespace kv::handlers {

namespace {

void reply_all(reply_writer& reply, const std::vector<std::string_view>& texts) {
  reply.array(texts.size());
  for (const std::string_view each : texts) {
    reply.bulk(each);
  }
}

// Whether there was such a key to rename.
void move_key(invocation& call) {
  const std::string_view from = call.arguments[1], to = call.arguments[2];
  if (from != to) {
    call.server.keys.rename(from, to);
    call.server.blocked.list_has_grown(to);
  }
}

void check_source(invocation& call) {
  if (call.server.keys.find(call.arguments[1]) == nullptr) {
    fail("ERR no such key");
  }
}

struct scan_options {
  std::string_view pattern = "*";
  std::string_view type;  // empty: any
  std::int64_t count = 10;
};

scan_options parse_scan(const invocation& call) {
  scan_options options;
  for (std::size_t i = 2; i < call.arguments.size(); i += 2) {
    const std::string_view word = call.arguments[i];
    if (i + 1 == call.arguments.size()) {
      fail(syntax_error);
    }
    if (equals_ignoring_case(word, "match")) {
      options.pattern = call.arguments[i + 1];
    } else if (equals_ignoring_case(word, "type")) {
      options.type = call.arguments[i + 1];
    } else if (equals_ignoring_case(word, "count")) {
      options.count = integer_argument(call, i + 1);
      if (options.count < 1) {
        fail(syntax_error);
      }
    } else {
      fail(syntax_error);
    }
  }
  return options;
}

// As C's strtoul reads it, to the first zero byte: "" is 0.
std::uint64_t parse_cursor(std::string_view text) {
  const std::string terminated(text);
  char* end = nullptr;
  errno = 0;
  const std::uint64_t cursor = std::strtoull(terminated.c_str(), &end, 10);
  if (*end != '\0' || errno == ERANGE || std::isspace(static_cast<unsigned char>(terminated[0])) != 0) {
    fail("ERR invalid cursor");
  }
  return cursor;
}

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

void rename(invocation& call) {
  check_source(call);
  move_key(call);
  call.reply.ok();
}

void renamenx(invocation& call) {
  check_source(call);
  const bool taken = call.server.keys.find(call.arguments[2]) != nullptr;
  if (!taken) {
    move_key(call);
  }
  call.reply.integer(taken ? 0 : 1);
}

void keys(invocation& call) {
  std::vector<std::string_view> found;
  const std::string_view pattern = call.arguments[1];
  call.server.keys.for_each([&](std::string_view key, const any_value&) {
    if (pattern == "*" || matches_pattern(pattern, key)) {
      found.push_back(key);
    }
  });
  reply_all(call.reply, found);
}

// As Redis, it looks at ten times the wanted number of buckets, at most.
void scan(invocation& call) {
  std::uint64_t cursor = parse_cursor(call.arguments[1]);
  const scan_options options = parse_scan(call);
  std::vector<std::string_view> found;
  std::int64_t visited = 0;
  const store::visitor visit = [&](std::string_view key, const any_value& content) {
    ++visited;
    if (matches_pattern(options.pattern, key) &&
        (options.type.empty() || equals_ignoring_case(options.type, type_name(content)))) {
      found.push_back(key);
    }
  };
  const std::int64_t most_buckets =
      options.count > std::numeric_limits<std::int64_t>::max() / 10 ? options.count : options.count * 10;
  std::int64_t buckets = 0;
  do {
    cursor = call.server.keys.scan(cursor, visit);
  } while (cursor != 0 && ++buckets < most_buckets && visited < options.count);
  char text[integer_digits];
  call.reply.array(2);
  call.reply.bulk({text, write_integer(text, cursor)});
  reply_all(call.reply, found);
}

void randomkey(invocation& call) {
  if (const auto found = call.server.keys.random_key()) {
    call.reply.bulk(*found);
  } else {
    call.reply.null();
  }
}

void dbsize(invocation& call) {
  call.reply.integer(static_cast<std::int64_t>(call.server.keys.size()));
}

// SYNC and ASYNC are the same here.
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
