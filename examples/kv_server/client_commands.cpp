// Transactions, and messages between clients.
#include <algorithm>
#include <climits>
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

void drop_transaction(invocation& call) {
  client& from = call.from;
  stop_watching(call.server, from);
  from.state_memory -= from.queued == nullptr ? 0 : 2 * from.queued->text.size();
  from.queued.reset();
}

void reply_subscription(invocation& call, std::string_view what, std::string_view name) {
  call.reply.array(3);
  call.reply.bulk(what);
  call.reply.bulk(name);
  call.reply.integer(static_cast<std::int64_t>(call.from.channels.size()));
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

void discard(invocation& call) {
  if (call.from.queued == nullptr) {
    fail("ERR DISCARD without MULTI");
  }
  call.reply.ok();
  drop_transaction(call);
}

// With an argument too many it ends the transaction, so the table allows arguments.
void exec(invocation& call) {
  client& from = call.from;
  if (from.queued == nullptr && call.arguments.size() == 1) {
    fail("ERR EXEC without MULTI");
  }
  const std::string_view refused = refusal(call);
  if (!refused.empty()) {
    call.reply.error(refused);
  } else if (from.watched_changed ||
             (from.watched_epoch != 0 && from.watched_epoch != call.server.keys.epoch())) {
    call.reply.null_array();
  } else {
    call.reply.array(from.queued->requests);
    from.in_exec = true;
    const std::size_t begin = call.reply.position();
    request_parser parser({INT_MAX, INT_MAX, INT_MAX});
    for (std::string_view rest = from.queued->text; !rest.empty(); rest.remove_prefix(parser.consumed())) {
      parser.parse(rest);
      invocation one{parser.arguments(rest), call.server, from, call.reply};
      execute_queued(*find_command(one.arguments[0]), one);
      from.used.bytes = std::max(from.used.bytes, call.reply.position() - begin);
    }
    from.in_exec = false;
  }
  drop_transaction(call);
}

void watch(invocation& call) {
  client& from = call.from;
  if (from.queued != nullptr) {
    call.reply.error("ERR WATCH inside MULTI is not allowed");
    return;
  }
  check_bound(call, "The number of keys that a client watches",
              from.watched.size() + call.arguments.size() - 1);
  for (std::size_t i = 1; i < call.arguments.size(); ++i) {
    const std::string_view name = call.arguments[i];
    if (from.watched.emplace(name).second) {
      call.server.keys.watch(name, from.watched_changed);
      from.state_memory += registered_memory(name);
      if (from.watched_epoch == 0 && call.server.keys.find(name) != nullptr) {
        from.watched_epoch = call.server.keys.epoch();
      }
    }
  }
  call.reply.ok();
}

void unwatch(invocation& call) {
  stop_watching(call.server, call.from);
  call.reply.ok();
}

void subscribe(invocation& call) {
  client& from = call.from;
  check_bound(call, "The number of channels that a client subscribes to",
              from.channels.size() + call.arguments.size() - 1);
  for (std::size_t i = 1; i < call.arguments.size(); ++i) {
    const std::string name(call.arguments[i]);
    if (from.channels.insert(name).second) {
      from.state_memory += registered_memory(name);
      call.server.channels[name].insert(&from);
    }
    reply_subscription(call, "subscribe", name);
  }
}

void unsubscribe(invocation& call) {
  const bool all = call.arguments.size() == 1;
  if (all && call.from.channels.empty()) {
    call.reply.array(3);
    call.reply.bulk("unsubscribe");
    call.reply.null();
    call.reply.integer(0);
  }
  for (std::size_t i = 1; all ? !call.from.channels.empty() : i < call.arguments.size(); ++i) {
    const std::string name(all ? *call.from.channels.begin() : call.arguments[i]);
    leave_channel(call.server, call.from, name);
    reply_subscription(call, "unsubscribe", name);
  }
}

// A sender that has subscribed in the same transaction gets the message among its replies.
void publish(invocation& call) {
  const auto found = call.server.channels.find(call.arguments[1]);
  if (found == call.server.channels.end()) {
    call.reply.integer(0);
    return;
  }
  buffer message(call.server.config.max_output);
  reply_writer writer(message);
  writer.bulks({"message", call.arguments[1], call.arguments[2]});
  count(call, found->second.size() / 4, found->second.size() * message.size());
  for (client* each : found->second) {
    if (each == &call.from) {
      call.reply.raw(message.view());
    } else {
      push_to(call.server, *each, message.view());
    }
  }
  call.reply.integer(static_cast<std::int64_t>(found->second.size()));
}

}  // namespace kv::handlers
