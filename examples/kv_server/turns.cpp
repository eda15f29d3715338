// The execution of long commands: their claims and portions.
#include <algorithm>
#include <memory>
#include <new>
#include <utility>

#include "commands.hpp"

namespace kv {

namespace {

constexpr std::size_t most_keys_at_once = 512;  // more are claimed in portions

// The keys of a command, one by one.
class key_cursor {
public:
  key_cursor(const command& of, const invocation& call) : of_(&of), call_(call) {}

  // Returns false if there are no more.
  bool next(std::string_view& key, bool& exclusive) {
    if (of_->keys == keys::of_transaction) {
      return next_of_transaction(key, exclusive);
    }
    return next_of(*of_, call_.arguments, key, exclusive);
  }

private:
  bool next_of_transaction(std::string_view& key, bool& exclusive) {
    if (call_.from.queued == nullptr) {
      return false;
    }
    const std::deque<stored_request>& all = call_.from.queued->requests;
    for (; request_ != all.size(); ++request_, at_ = 1) {
      if (next_of(all[request_].found(), all[request_].arguments(), key, exclusive)) {
        return true;
      }
    }
    return false;
  }

  bool next_of(const command& of, const request& arguments, std::string_view& key, bool& exclusive) {
    if (of.keys == keys::none || of.keys == keys::of_transaction) {
      return false;
    }
    const std::size_t end = of.keys == keys::first          ? 2
                            : of.keys == keys::first_two    ? 3
                            : of.keys == keys::all_but_last ? arguments.size() - 1
                                                            : arguments.size();
    if (at_ >= end) {
      return false;
    }
    key = arguments[at_];
    exclusive = (of.flags & write) != 0 || ((of.flags & write_first) != 0 && at_ == 1);
    at_ += of.keys == keys::pairs ? 2 : 1;
    return true;
  }

  const command* of_;
  const invocation& call_;
  std::size_t request_ = 0, at_ = 1;
};

bool touches_everything(const command& found, const invocation& call) {
  const bool queued = found.keys == keys::of_transaction && call.from.queued != nullptr;
  return ((queued ? call.from.queued->flags : found.flags) & touches_all) != 0;
}

std::size_t most_keys(const command& found, const invocation& call) {
  if (found.keys == keys::of_transaction) {
    return call.from.queued == nullptr ? 0 : call.from.queued->arguments;
  }
  return found.keys == keys::none ? 0 : found.keys <= keys::first_two ? 2 : call.arguments.size();
}

// Called after the first portion of a command of few keys, before any other command.
[[gnu::noinline]] void claim_keys(const command& found, invocation& call, std::size_t keys) {
  auto made = std::make_unique<claim>(call.server.claims, keys);
  made->everything = touches_everything(found, call);
  std::string_view key;
  bool exclusive = false;
  for (key_cursor each(found, call); each.next(key, exclusive);) {
    made->add(store::hash_of(key), exclusive);
  }
  call.from.held = std::move(made);
}

// Claims many keys in portions, then runs the command.
portions run_with_many_keys(invocation& call, const command& found) {
  claims& all = call.server.claims;
  while (all.acquiring != nullptr || (all.any() && touches_everything(found, call))) {
    co_yield step::more;
  }
  call.from.held = std::make_unique<claim>(all, most_keys(found, call));
  call.from.held->everything = touches_everything(found, call);
  all.acquiring = call.from.held.get();
  std::string_view key;
  bool exclusive = false;
  budget now;
  for (key_cursor each(found, call); each.next(key, exclusive);) {
    const std::uint64_t hash = store::hash_of(key);
    while (all.block(hash, exclusive, call.from.held.get())) {
      co_yield step::more;
    }
    call.from.held->add(hash, exclusive);
    if (now.spent(key.size())) {
      co_yield step::more;
    }
  }
  all.acquiring = nullptr;
  portions work;
  for (step next = begin(found, call, work); next != step::done; next = go_on(call, work)) {
    co_yield next;
  }
}

void finish(invocation& call) {
  client& from = call.from;
  from.work.reset();
  from.held.reset();
  from.needs_claim = true;
  from.working_memory = 0;
}

// Runs a part of a command and replies with its error, if it fails.
template <class Run>
step guarded(invocation& call, portions& work, Run run) {
  const std::size_t begin = call.reply.position();
  const bool is_first = !work;
  try {
    return run();
  } catch (const command_error& error) {
    call.reply.error(error.text);
  } catch (const std::bad_alloc&) {
    if (is_first) {
      call.reply.back_to(begin);
      call.reply.error(out_of_memory);
    } else {
      call.from.broken = true;  // a part of the reply is written
    }
  }
  work.reset();
  return step::done;
}

}  // namespace

// A command may exceed --maxmemory by its own arguments only. A key takes up to 256 bytes besides, and each
// argument up to 104 for its node in a collection.
void check_memory(const command& found, const invocation& call) {
  if ((found.flags & denyoom) != 0) {
    check_room(call.server, 256 + 104 * call.arguments.size());
  }
}

bool has_to_wait(const command& found, const invocation& call) {
  const std::size_t keys = most_keys(found, call);
  claims& all = call.server.claims;
  if (touches_everything(found, call)) {
    all.everything_wanted = true;
    return true;
  }
  if (keys != 0 && found.by.begin != nullptr && all.everything_wanted) {
    return true;
  }
  std::string_view key;
  bool exclusive = false;
  for (key_cursor each(found, call); keys <= most_keys_at_once && each.next(key, exclusive);) {
    if (all.block(store::hash_of(key), exclusive)) {
      return true;
    }
  }
  return false;
}

// Without memory for the claim, the rest of the command is executed at once.
step start_in_turns(const command& found, invocation& call) {
  client& from = call.from;
  const std::size_t keys = most_keys(found, call);
  const bool many = keys > most_keys_at_once;
  step next = guarded(call, from.work, [&] {
    if (many) {
      from.needs_claim = false;
      from.work = run_with_many_keys(call, found);
      return from.work.resume();
    }
    return begin(found, call, from.work);
  });
  if (next != step::done && from.needs_claim && (keys != 0 || touches_everything(found, call))) {
    try {
      claim_keys(found, call, keys);
    } catch (const std::bad_alloc&) {
      finish_at_once(call, next);
      next = step::done;
    }
  }
  if (next == step::done) {
    finish(call);
  }
  return next;
}

step go_on(invocation& call) {
  const step next = go_on(call, call.from.work);
  if (next == step::done) {
    finish(call);
    serve_blocked(call.server);
  }
  return next;
}

void finish_at_once(invocation& call, step next) {
  for (; call.from.work && next != step::done; next = go_on(call, call.from.work)) {
    if (next == step::compute) {
      call.from.job->run();
    }
  }
  finish(call);
}

step begin(const command& found, invocation& call, portions& work) {
  return guarded(call, work, [&] {
    check_memory(found, call);
    if (found.by.begin == nullptr) {
      found.by.run(call);
      return step::done;
    }
    portions begun = found.by.begin(call);
    const step next = begun.resume();
    if (next != step::done) {
      work = std::move(begun);
    }
    return next;
  });
}

step go_on(invocation& call, portions& work) {
  return guarded(call, work, [&] { return work.resume(); });
}

void release_claims(invocation& call) {
  if (!call.from.in_exec) {
    call.from.held.reset();
    call.from.needs_claim = false;
  }
}

void serve_blocked(server_state& server) {
  if (server.blocked.has_news()) [[unlikely]] {
    try {
      server.blocked.serve(server);
    } catch (const std::bad_alloc&) {
      // They are served after the next command.
    }
  }
}

}  // namespace kv
