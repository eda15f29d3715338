// Commands on string values that set or get them whole or in part.
#include <limits>

#include "arguments.hpp"
#include "expiry.hpp"
#include "handlers.hpp"

namespace kv::handlers {

namespace {

enum class condition { none, missing, existing };

struct set_options {
  condition when = condition::none;
  bool get = false;
  bool keep_expiry = false;
  bool persist = false;
  expiry_option expiry;
};

// The options of SET from argument 3 on, or those of GETEX from 2 on.
set_options parse_options(const invocation& call, std::size_t from, bool is_set) {
  set_options options;
  for (std::size_t i = from; i < call.arguments.size(); ++i) {
    const std::string_view word = call.arguments[i];
    const bool no_expiry = options.expiry.unit == nullptr;
    if (is_set && equals_ignoring_case(word, "nx") && options.when != condition::existing) {
      options.when = condition::missing;
    } else if (is_set && equals_ignoring_case(word, "xx") && options.when != condition::missing) {
      options.when = condition::existing;
    } else if (is_set && equals_ignoring_case(word, "get")) {
      options.get = true;
    } else if (is_set && equals_ignoring_case(word, "keepttl") && no_expiry) {
      options.keep_expiry = true;
    } else if (!is_set && equals_ignoring_case(word, "persist") && no_expiry) {
      options.persist = true;
    } else if (const expiry_unit* unit = find_expiry_unit(word);
               unit != nullptr && !options.keep_expiry && !options.persist &&
               (no_expiry || options.expiry.unit == unit) && i + 1 < call.arguments.size()) {
      options.expiry = {unit, call.arguments[++i]};
    } else {
      fail(syntax_error);
    }
  }
  return options;
}

void reply_value(invocation& call, std::string_view key) {
  if (const auto* found = read<std::string>(call, key)) {
    call.reply.bulk(*found);
  } else {
    call.reply.null();
  }
}

void set_with_options(invocation& call) {
  const std::string_view key = call.arguments[1];
  const set_options options = parse_options(call, 3, true);
  const std::int64_t expires = options.expiry.unit == nullptr ? 0 : options.expiry.moment(call, "set");
  if (options.get) {
    reply_value(call, key);
  }
  const bool exists = options.when != condition::none && call.server.keys.find(key) != nullptr;
  if ((options.when == condition::missing && exists) || (options.when == condition::existing && !exists)) {
    if (!options.get) {
      call.reply.null();
    }
    return;
  }
  call.server.keys.set(key, call.arguments[2], options.keep_expiry);
  if (expires != 0) {
    call.server.keys.expire_at(key, expires);
  }
  if (!options.get) {
    call.reply.ok();
  }
}

void set_for(invocation& call, std::string_view unit, std::string_view command) {
  const expiry_option expiry{find_expiry_unit(unit), call.arguments[2]};
  const std::int64_t expires = expiry.moment(call, command);
  call.server.keys.set(call.arguments[1], call.arguments[3]);
  call.server.keys.expire_at(call.arguments[1], expires);
  call.reply.ok();
}

// Of the text that is to have so many bytes more, or after so many.
void check_length(const invocation& call, change<std::string>& text, std::size_t size, std::size_t more) {
  if (size + more > call.server.config.protocol.max_bulk || more > call.server.config.protocol.max_bulk) {
    text.unchanged();
    fail("ERR string exceeds maximum allowed size (proto-max-bulk-len)");
  }
}

void check_pairs(const invocation& call, std::string_view command) {
  if (call.arguments.size() % 2 == 0) {
    fail_arity(command);
  }
}

void set_pairs(invocation& call) {
  for (std::size_t i = 1; i < call.arguments.size(); i += 2) {
    call.server.keys.set(call.arguments[i], call.arguments[i + 1]);
  }
}

}  // namespace

void get(invocation& call) {
  reply_value(call, call.arguments[1]);
}

void set(invocation& call) {
  if (call.arguments.size() > 3) {
    set_with_options(call);
    return;
  }
  call.server.keys.set(call.arguments[1], call.arguments[2]);
  call.reply.ok();
}

void setnx(invocation& call) {
  const bool exists = call.server.keys.find(call.arguments[1]) != nullptr;
  if (!exists) {
    call.server.keys.set(call.arguments[1], call.arguments[2]);
  }
  call.reply.integer(exists ? 0 : 1);
}

void setex(invocation& call) {
  set_for(call, "ex", "setex");
}

void psetex(invocation& call) {
  set_for(call, "px", "psetex");
}

void getset(invocation& call) {
  reply_value(call, call.arguments[1]);
  call.server.keys.set(call.arguments[1], call.arguments[2]);
}

void getdel(invocation& call) {
  reply_value(call, call.arguments[1]);
  call.server.keys.erase(call.arguments[1]);
}

void getex(invocation& call) {
  const std::string_view key = call.arguments[1];
  const set_options options = parse_options(call, 2, false);
  const auto* found = read<std::string>(call, key);
  if (found == nullptr) {
    call.reply.null();
    return;
  }
  const std::int64_t expires = options.expiry.unit == nullptr ? 0 : options.expiry.moment(call, "getex");
  call.reply.bulk(*found);
  if (expires != 0 && expires <= call.server.keys.now()) {
    call.server.keys.erase(key);
  } else if (expires != 0 || (options.persist && call.server.keys.expires_at(key) != 0)) {
    call.server.keys.expire_at(key, expires);
  }
}

void mget(invocation& call) {
  call.reply.array(call.arguments.size() - 1);
  for (std::size_t i = 1; i < call.arguments.size(); ++i) {
    const any_value* found = call.server.keys.find(call.arguments[i]);
    if (const auto* text = found == nullptr ? nullptr : get_as<std::string>(*found)) {
      call.reply.bulk(*text);
    } else {
      call.reply.null();
    }
  }
}

void mset(invocation& call) {
  check_pairs(call, "mset");
  set_pairs(call);
  call.reply.ok();
}

void msetnx(invocation& call) {
  check_pairs(call, "msetnx");
  for (std::size_t i = 1; i < call.arguments.size(); i += 2) {
    if (call.server.keys.find(call.arguments[i]) != nullptr) {
      call.reply.integer(0);
      return;
    }
  }
  set_pairs(call);
  call.reply.integer(1);
}

void append(invocation& call) {
  change<std::string> text(call, call.arguments[1]);
  if (text) {
    check_length(call, text, text->size(), call.arguments[2].size());
  }
  const std::string& whole = text.or_create().append(call.arguments[2]);
  call.reply.integer(static_cast<std::int64_t>(whole.size()));
}

void strlen(invocation& call) {
  const auto* found = read<std::string>(call, call.arguments[1]);
  call.reply.integer(found == nullptr ? 0 : static_cast<std::int64_t>(found->size()));
}

void setrange(invocation& call) {
  const std::int64_t offset = integer_argument(call, 2);
  const std::string_view part = call.arguments[3];
  if (offset < 0) {
    fail("ERR offset is out of range");
  }
  change<std::string> text(call, call.arguments[1]);
  const std::size_t size = text ? text->size() : 0;
  if (part.empty()) {
    text.unchanged();
    call.reply.integer(static_cast<std::int64_t>(size));
    return;
  }
  const auto begin = static_cast<std::size_t>(offset);
  check_length(call, text, part.size(), begin);
  std::string& whole = text.or_create();
  if (whole.size() < begin + part.size()) {
    whole.resize(begin + part.size());
  }
  whole.replace(begin, part.size(), part);
  call.reply.integer(static_cast<std::int64_t>(whole.size()));
}

void getrange(invocation& call) {
  const std::int64_t first = integer_argument(call, 2), last = integer_argument(call, 3);
  const auto* found = read<std::string>(call, call.arguments[1]);
  if (found == nullptr || (first < 0 && last < 0 && first > last)) {
    call.reply.bulk("");
    return;
  }
  const auto length = static_cast<std::int64_t>(found->size());
  // An end before the beginning means the first byte, as in Redis.
  const std::int64_t end = last < 0 ? std::max<std::int64_t>(last + length, 0) : last;
  const selection chosen = select_range(first, end, found->size());
  call.reply.bulk(std::string_view(*found).substr(chosen.first, chosen.count));
}

}  // namespace kv::handlers
