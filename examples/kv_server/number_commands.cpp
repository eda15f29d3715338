// Commands on string values that are numbers: INCR and its kin.
#include <cmath>
#include <limits>

#include "arguments.hpp"
#include "handlers.hpp"
#include "integer.hpp"

namespace kv::handlers {

namespace {

void write_number(std::string& to, std::int64_t number) {
  char text[integer_digits];
  to.assign(text, write_integer(text, number));
}

void add(invocation& call, std::int64_t increment) {
  change<std::string> text(call, call.arguments[1]);
  std::int64_t number = 0;
  if (text) {
    const auto read = parse_integer(*text);
    if (!read) {
      text.unchanged();
      fail(not_an_integer);
    }
    number = *read;
  }
  if (__builtin_add_overflow(number, increment, &number)) {
    text.unchanged();
    fail("ERR increment or decrement would overflow");
  }
  write_number(text.or_create(), number);
  call.reply.integer(number);
}

}  // namespace

void incr(invocation& call) {
  add(call, 1);
}

void decr(invocation& call) {
  add(call, -1);
}

void incrby(invocation& call) {
  add(call, integer_argument(call, 2));
}

void decrby(invocation& call) {
  const std::int64_t decrement = integer_argument(call, 2);
  if (decrement == std::numeric_limits<std::int64_t>::min()) {
    fail("ERR decrement would overflow");
  }
  add(call, -decrement);
}

void incrbyfloat(invocation& call) {
  change<std::string> text(call, call.arguments[1]);
  const auto number = text ? parse_long_double(*text) : 0.0L;
  const auto increment = parse_long_double(call.arguments[2]);
  if (!number || !increment || !std::isfinite(*number + *increment)) {
    text.unchanged();
    fail(!number || !increment ? not_a_float : "ERR increment would produce NaN or Infinity");
  }
  const std::string sum = human_text(*number + *increment);
  text.or_create().assign(sum);
  call.reply.bulk(sum);
}

}  // namespace kv::handlers
