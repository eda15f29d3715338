// Commands on hashes: HSET HGET HLEN.
#include "arguments.hpp"
#include "handlers.hpp"

namespace kv::handlers {

void hset(invocation& call) {
  if (call.arguments.size() % 2 != 0) {
    fail_arity("hset");
  }
  change<hash_value> hash(call, call.arguments[1]);
  hash_value& fields = hash.or_create();
  std::int64_t added = 0;
  for (std::size_t i = 2; i < call.arguments.size(); i += 2) {
    added += fields.set(call.arguments[i], call.arguments[i + 1]) ? 1 : 0;
  }
  call.reply.integer(added);
}

void hget(invocation& call) {
  const auto* hash = read<hash_value>(call, call.arguments[1]);
  call.reply.bulk_or_null(hash == nullptr ? nullptr : hash->find(call.arguments[2]));
}

void hlen(invocation& call) {
  reply_size<hash_value>(call);
}

}  // namespace kv::handlers
