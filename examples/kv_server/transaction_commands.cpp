// Transactions.
#include <algorithm>
#include <utility>

#include "commands.hpp"

namespace kv::handlers {

namespace {

// Returns why EXEC refuses the queued requests; empty if it does not.
std::string_view refusal(const invocation& call) {
  if (call.arguments.size() > 1) {
    return "EXECABORT Transaction discarded because of: wrong number of arguments for 'exec' command";
  }
  if (call.from.queued->failed) {
    return "EXECABORT Transaction discarded because of previous errors.";
  }
  if (is_out_of_memory(call.server) && (call.from.queued->flags & denyoom) != 0) {
    return "EXECABORT Transaction discarded because of: OOM command not allowed when used memory > "
           "'maxmemory'.";
  }
  return {};
}

portions drop_transaction(invocation& call) {
  client& from = call.from;
  stop_watching(call.server, call.from);
  budget now;
  while (from.queued != nullptr && !from.queued->requests.empty()) {
    from.queued->requests.pop_back();
    if (now.spent()) {
      co_yield step::more;
    }
  }
  from.state_memory -= from.queued == nullptr ? 0 : from.queued->memory;
  from.queued.reset();
}

}  // namespace

void multi(invocation& call) {
  if (call.from.queued != nullptr) {
    call.reply.error("ERR MULTI calls can not be nested");  // the transaction stays valid: nothing is thrown
    return;
  }
  call.from.queued = std::make_unique<transaction>();
  call.reply.ok();
}

portions discard(invocation& call) {
  if (call.from.queued == nullptr) {
    fail("ERR DISCARD without MULTI");
  }
  call.reply.ok();
  return drop_transaction(call);
}

// With an argument too many it ends the transaction, so the table allows arguments.
portions exec(invocation& call) {
  client& from = call.from;
  if (from.queued == nullptr && call.arguments.size() == 1) {
    fail("ERR EXEC without MULTI");
  }
  const std::string_view refused = refusal(call);
  if (!refused.empty()) {
    call.reply.error(refused);
  } else if (from.watched_changed) {
    call.reply.null_array();
  } else {
    call.reply.array(from.queued->requests.size());
    from.in_exec = true;
    budget now;
    for (const stored_request& each : from.queued->requests) {
      invocation one{each.arguments(), call.server, from, call.reply};
      portions work;
      for (step next = begin(each.found(), one, work); next != step::done; next = go_on(one, work)) {
        co_yield next;
      }
      if (now.spent(each.memory())) {
        co_yield step::more;
      }
    }
    from.in_exec = false;
  }
  portions rest = drop_transaction(call);
  for (step next = rest.resume(); next != step::done; next = rest.resume()) {
    co_yield next;
  }
}

portions watch(invocation& call) {
  client& from = call.from;
  if (from.queued != nullptr) {
    call.reply.error("ERR WATCH inside MULTI is not allowed");
    co_return;
  }
  budget now;
  for (std::size_t i = 1; i < call.arguments.size(); ++i) {
    const std::string_view name = call.arguments[i];
    if (from.watched.emplace(name).second) {
      call.server.keys.watch(name, from.watched_changed);
      from.state_memory += registered_memory(name);
    }
    if (now.spent(name.size())) {
      co_yield step::more;
    }
  }
  call.reply.ok();
}

void unwatch(invocation& call) {
  stop_watching(call.server, call.from);
  call.reply.ok();
}

}  // namespace kv::handlers
