// Transactions: MULTI EXEC DISCARD WATCH UNWATCH.
#include <algorithm>
#include <utility>

#include "arguments.hpp"
#include "handlers.hpp"

namespace kv::handlers {

namespace {

std::size_t watched_memory(std::string_view name) {
  return 256 + 2 * name.size();  // here and in the store
}

void stop_watching(invocation& call) {
  if (call.from.interests == nullptr) {
    return;
  }
  for (const auto& [name, version] : call.from.interests->watched) {
    call.server.keys.lose_from_view(name);
    call.from.state_memory -= watched_memory(name);
  }
  call.from.interests->watched.clear();
}

std::unique_ptr<transaction> take_transaction(kv::client& from) {
  for (const stored_request& each : from.queued->requests) {
    from.state_memory -= each.memory();
  }
  return std::exchange(from.queued, nullptr);
}

bool watched_keys_have_changed(invocation& call) {
  if (call.from.interests == nullptr) {
    return false;
  }
  const auto& watched = call.from.interests->watched;
  return std::any_of(watched.begin(), watched.end(),
                     [&](const auto& each) { return call.server.keys.version(each.first) != each.second; });
}

void run_all(invocation& call, const transaction& queued) {
  call.reply.array(queued.requests.size());
  call.from.in_exec = true;
  for (const stored_request& each : queued.requests) {
    invocation one{each.arguments(), call.server, call.from, call.reply};
    run(each.found(), one);
  }
  call.from.in_exec = false;
}

bool needs_memory(const transaction& queued) {
  return std::any_of(queued.requests.begin(), queued.requests.end(),
                     [](const stored_request& each) { return (each.found().flags & flag::denyoom) != 0; });
}

}  // namespace

void multi(invocation& call) {
  if (call.from.queued != nullptr) {
    call.reply.error("ERR MULTI calls can not be nested");  // and it goes on: nothing is thrown
    return;
  }
  call.from.queued = std::make_unique<transaction>();
  call.reply.ok();
}

void discard(invocation& call) {
  if (call.from.queued == nullptr) {
    fail("ERR DISCARD without MULTI");
  }
  take_transaction(call.from);
  stop_watching(call);
  call.reply.ok();
}

// An argument too many ends the transaction, if there is one: that is why the table lets it pass.
void exec(invocation& call) {
  if (call.arguments.size() > 1) {
    if (call.from.queued != nullptr) {
      take_transaction(call.from);
    }
    stop_watching(call);
    fail("EXECABORT Transaction discarded because of: wrong number of arguments for 'exec' command");
  }
  if (call.from.queued == nullptr) {
    fail("ERR EXEC without MULTI");
  }
  const bool changed = watched_keys_have_changed(call);
  const auto queued = take_transaction(call.from);
  stop_watching(call);
  if (queued->failed) {
    fail("EXECABORT Transaction discarded because of previous errors.");
  }
  if (needs_memory(*queued) && is_out_of_memory(call.server)) {
    fail(
        "EXECABORT Transaction discarded because of: OOM command not allowed when used memory > "
        "'maxmemory'.");
  }
  if (changed) {
    call.reply.null_array();
  } else {
    run_all(call, *queued);
  }
}

void watch(invocation& call) {
  if (call.from.queued != nullptr) {
    call.reply.error("ERR WATCH inside MULTI is not allowed");
    return;
  }
  auto& watched = call.from.its_interests().watched;
  for (std::size_t i = 1; i < call.arguments.size(); ++i) {
    const std::string_view name = call.arguments[i];
    if (watched.try_emplace(std::string(name), call.server.keys.version(name)).second) {
      call.server.keys.keep_in_view(name);
      call.from.state_memory += watched_memory(name);
    }
  }
  call.reply.ok();
}

void unwatch(invocation& call) {
  stop_watching(call);
  call.reply.ok();
}

void reset(invocation& call) {
  if (call.from.queued != nullptr) {
    take_transaction(call.from);
  }
  stop_watching(call);
  unsubscribe_all(call);
  call.from.name.clear();
  call.reply.simple("RESET");
}

}  // namespace kv::handlers
