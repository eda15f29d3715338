// Commands on string values: GET SET MGET MSET INCR.
#include "arguments.hpp"
#include "handlers.hpp"
#include "integer.hpp"

namespace kv::handlers {

void get(invocation& call) {
  call.reply.bulk_or_null(read<std::string>(call, call.arguments[1]));
}

void set(invocation& call) {
  if (call.arguments.size() > 3) {
    fail(syntax_error);  // no options
  }
  call.server.keys.set(call.arguments[1], call.arguments[2]);
  call.reply.ok();
}

void mget(invocation& call) {
  call.reply.array(call.arguments.size() - 1);
  for (std::size_t i = 1; i < call.arguments.size(); ++i) {
    const any_value* found = call.server.keys.find(call.arguments[i]);
    call.reply.bulk_or_null(found == nullptr ? nullptr : get_as<std::string>(*found));
  }
}

void mset(invocation& call) {
  if (call.arguments.size() % 2 == 0) {
    fail_arity("mset");
  }
  for (std::size_t i = 1; i < call.arguments.size(); i += 2) {
    call.server.keys.set(call.arguments[i], call.arguments[i + 1]);
  }
  call.reply.ok();
}

void incr(invocation& call) {
  change<std::string> text(call, call.arguments[1]);
  std::int64_t number = 0;
  if (text) {
    const auto old = parse_integer(*text);
    if (!old) {
      text.unchanged();
      fail(not_an_integer);
    }
    number = *old;
  }
  if (__builtin_add_overflow(number, 1, &number)) {
    text.unchanged();
    fail("ERR increment or decrement would overflow");
  }
  char digits[integer_digits];
  text.or_create().assign(digits, write_integer(digits, number));
  call.reply.integer(number);
}

}  // namespace kv::handlers
