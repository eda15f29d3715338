// Commands on times to live: EXPIRE TTL PERSIST and their kin.
#include <limits>

#include "arguments.hpp"
#include "expiry.hpp"
#include "handlers.hpp"
#include "integer.hpp"

namespace kv {

const expiry_unit* find_expiry_unit(std::string_view word) {
  static constexpr expiry_unit units[] = {
      {"ex", true, true}, {"px", false, true}, {"exat", true, false}, {"pxat", false, false}};
  for (const expiry_unit& each : units) {
    if (equals_ignoring_case(word, each.name)) {
      return &each;
    }
  }
  return nullptr;
}

namespace {

constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();

[[noreturn]] void fail_expiry(std::string_view command) {
  fail("ERR invalid expire time in '" + std::string(command) + "' command");
}

// A number of that unit as milliseconds since 1970.
std::int64_t to_moment(std::int64_t number, const expiry_unit& unit, std::int64_t now,
                       std::string_view command) {
  if (unit.seconds && (number > largest / 1000 || number < -largest / 1000)) {
    fail_expiry(command);
  }
  const std::int64_t milliseconds = unit.seconds ? number * 1000 : number;
  if (!unit.relative) {
    return milliseconds;
  }
  if (milliseconds > largest - now) {
    fail_expiry(command);
  }
  return milliseconds + now;
}

}  // namespace

std::int64_t expiry_option::moment(const invocation& call, std::string_view command) const {
  const auto read = parse_integer(number);
  if (!read) {
    fail(not_an_integer);
  }
  if (*read <= 0) {
    fail_expiry(command);
  }
  return to_moment(*read, *unit, call.server.keys.now(), command);
}

namespace handlers {

namespace {

struct expire_conditions {
  bool nx = false, xx = false, gt = false, lt = false;

  // `current`: 0 means never.
  bool allow(std::int64_t current, std::int64_t wanted) const {
    return !(nx && current != 0) && !(xx && current == 0) && !(gt && (current == 0 || wanted <= current)) &&
           !(lt && current != 0 && wanted >= current);
  }
};

expire_conditions parse_conditions(const invocation& call) {
  expire_conditions found;
  for (std::size_t i = 3; i < call.arguments.size(); ++i) {
    const std::string_view word = call.arguments[i];
    if (equals_ignoring_case(word, "nx")) {
      found.nx = true;
    } else if (equals_ignoring_case(word, "xx")) {
      found.xx = true;
    } else if (equals_ignoring_case(word, "gt")) {
      found.gt = true;
    } else if (equals_ignoring_case(word, "lt")) {
      found.lt = true;
    } else {
      fail("ERR Unsupported option " + std::string(word));
    }
  }
  if (found.nx && (found.xx || found.gt || found.lt)) {
    fail("ERR NX and XX, GT or LT options at the same time are not compatible");
  }
  if (found.gt && found.lt) {
    fail("ERR GT and LT options at the same time are not compatible");
  }
  return found;
}

void set_expiry(invocation& call, std::string_view unit, std::string_view command) {
  store& keys = call.server.keys;
  const std::string_view key = call.arguments[1];
  const expire_conditions conditions = parse_conditions(call);
  const std::int64_t when =
      to_moment(integer_argument(call, 2), *find_expiry_unit(unit), keys.now(), command);
  if (keys.find(key) == nullptr || !conditions.allow(keys.expires_at(key), when)) {
    call.reply.integer(0);
    return;
  }
  if (when <= keys.now()) {
    keys.erase(key);
  } else {
    keys.expire_at(key, when);
  }
  call.reply.integer(1);
}

enum class shown { left, moment };

// -2: no such key; -1: it lives for ever.
void reply_expiry(invocation& call, shown what, std::int64_t unit) {
  store& keys = call.server.keys;
  if (keys.find(call.arguments[1]) == nullptr) {
    call.reply.integer(-2);
    return;
  }
  const std::int64_t when = keys.expires_at(call.arguments[1]);
  if (when == 0) {
    call.reply.integer(-1);
    return;
  }
  const std::int64_t milliseconds =
      what == shown::moment ? when : std::max<std::int64_t>(when - keys.now(), 0);
  call.reply.integer(milliseconds / unit + (milliseconds % unit * 2 >= unit ? 1 : 0));
}

}  // namespace

void expire(invocation& call) {
  set_expiry(call, "ex", "expire");
}

void pexpire(invocation& call) {
  set_expiry(call, "px", "pexpire");
}

void expireat(invocation& call) {
  set_expiry(call, "exat", "expireat");
}

void pexpireat(invocation& call) {
  set_expiry(call, "pxat", "pexpireat");
}

void ttl(invocation& call) {
  reply_expiry(call, shown::left, 1000);
}

void pttl(invocation& call) {
  reply_expiry(call, shown::left, 1);
}

void expiretime(invocation& call) {
  reply_expiry(call, shown::moment, 1000);
}

void pexpiretime(invocation& call) {
  reply_expiry(call, shown::moment, 1);
}

void persist(invocation& call) {
  store& keys = call.server.keys;
  const bool had = keys.expires_at(call.arguments[1]) != 0;
  if (had) {
    keys.expire_at(call.arguments[1], 0);
  }
  call.reply.integer(had ? 1 : 0);
}

}  // namespace handlers

}  // namespace kv
