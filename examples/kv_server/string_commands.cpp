// Commands on string values: GET SET INCR.
#include <limits>

#include "handlers.hpp"

namespace kv::handlers {

void get(invocation& call) {
  if (const store::value* found = call.server.keys.find(call.arguments[1])) {
    call.reply.bulk(*found);
  } else {
    call.reply.null();
  }
}

void set(invocation& call) {
  if (call.arguments.size() > 3) {  // there are no options yet
    call.reply.error("ERR syntax error");
    return;
  }
  call.server.keys.set(call.arguments[1], call.arguments[2]);
  call.reply.ok();
}

void incr(invocation& call) {
  const std::string_view key = call.arguments[1];
  std::int64_t number = 0;
  if (const store::value* found = call.server.keys.find(key)) {
    const auto read = parse_integer(*found);
    if (!read) {
      reply_not_an_integer(call.reply);
      return;
    }
    number = *read;
  }
  if (number == std::numeric_limits<std::int64_t>::max()) {
    call.reply.error("ERR increment or decrement would overflow");
    return;
  }
  ++number;
  char text[integer_digits];
  call.server.keys.set(key, {text, static_cast<std::size_t>(write_integer(text, number) - text)});
  call.reply.integer(number);
}

}  // namespace kv::handlers
