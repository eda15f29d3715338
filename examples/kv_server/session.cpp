// A session parses and executes received bytes in place, in bounded portions.
#include "session.hpp"

#include <algorithm>
#include <new>

namespace kv {

session::session(server_state& server, workspace& shared, front& side)
    : server_(server),
      shared_(&shared),
      client_(server.config.max_output, ++server.connections, side),
      parser_(server.config.protocol),
      input_(server.config.protocol.max_request + most_received),
      output_(server.config.max_output),
      call_{request(nullptr, nullptr, 0), server, client_, reply_} {
  ++server.connected_clients;
}

session::~session() {
  count_computing(false);
  forget(server_, client_);
  server_.client_memory -= counted_memory_;
  --server_.connected_clients;
}

std::span<char> session::receive_space() {
  if (input_.size() == 0) {
    return shared_->receive_block;
  }
  const std::span<char> space = input_.free_space(shared_->receive_block.size());
  unread_ = input_.view();  // it may have moved
  if (space.empty()) {
    return shared_->receive_block;  // process() will close
  }
  return space.first(std::min(space.size(), most_received));
}

void session::received(std::size_t count) {
  if (input_.size() == 0) {
    unread_ = {shared_->receive_block.data(), count};
  } else if (!input_.overflowed()) {
    input_.commit(count);
    unread_ = input_.view();
  }
}

std::chrono::steady_clock::time_point session::deadline() const {
  return client_.waiting == nullptr ? std::chrono::steady_clock::time_point::max()
                                    : client_.waiting->deadline;
}

void session::time_out() {
  if (client_.waiting == nullptr) {  // it has just received an item
    return;
  }
  server_.blocked.remove(client_);
  push_to(server_, client_, "*-1\r\n");
}

session::outcome session::process() {
  count_computing(false);
  if (output_.capacity() == 0) {
    output_.swap_storage(shared_->spare_output);
  }
  outcome result = outcome::close;
  try {
    result = run_requests();
  } catch (const std::bad_alloc&) {  // a hostile number of arguments; the replies so far are sent
  }
  if (input_.overflowed() || output_.overflowed() || client_.broken || !within_memory()) {
    output_.clear();
    client_.broken = true;
    return outcome::close;
  }
  count_computing(result == outcome::compute);
  return result;
}

session::outcome session::run_requests() {
  if (client_.pushed.size() != 0) {
    take_pushed();
  }
  const std::size_t most = server_.config.protocol.most_elements / 4;
  for (std::size_t used = 0; used < most && output_.size() < flush_size && !output_.overflowed();) {
    if (client_.sorting != nullptr) {
      if (client_.sorting->job.result() == sort_job::outcome::unfinished) {
        keep_rest();
        return outcome::compute;
      }
      used += client_.sorting->job.size() / 64;
      reply_sorted(call_);
      continue;
    }
    if (client_.waiting != nullptr) {
      keep_rest();
      return outcome::wait;
    }
    switch (parser_.parse(unread_)) {
      case request_parser::status::incomplete:
        keep_rest();
        return outcome::wait;
      case request_parser::status::malformed:
        reply_.error("ERR " + parser_.error());
        return outcome::close;
      case request_parser::status::complete:
        break;
    }
    call_.arguments = parser_.arguments(unread_);
    if (call_.arguments.size() != 0) {
      server_.run_request(call_);
      if (client_.quit) {
        return outcome::close;
      }
      used += call_.arguments.size() + client_.used.elements + client_.used.bytes / 64;
    }
    unread_.remove_prefix(parser_.consumed());
  }
  keep_rest();
  return outcome::more;
}

void session::take_pushed() {
  output_.append(client_.pushed.view());
  server_.client_memory -= client_.pushed.capacity();
  client_.pushed.release();
}

// Moves unexecuted bytes to the front of the session's own memory, or frees that memory if there are none.
void session::keep_rest() {
  if (unread_.empty()) {
    if (input_.capacity() != 0) {
      input_.release();
    }
    return;
  }
  if (input_.size() != 0) {
    input_.drop_front(input_.size() - unread_.size());
  } else {
    input_.append(unread_);
  }
  unread_ = input_.view();
}

void session::count_computing(bool whether) {
  server_.computing_clients += std::size_t{whether} - std::size_t{computing_};
  computing_ = whether;
}

bool session::within_memory() {
  const std::size_t held = input_.capacity() + output_.capacity() + parser_.memory() + client_.state_memory;
  const std::size_t counted = held > own_allowance ? held - own_allowance : 0;
  if (counted != counted_memory_) {
    server_.client_memory += counted - counted_memory_;
    counted_memory_ = counted;
    return server_.client_memory <= server_.config.max_memory_clients;
  }
  return true;
}

void session::output_sent() {
  output_.clear();
  if (output_.capacity() <= own_allowance && shared_->spare_output.capacity() == 0) {
    output_.swap_storage(shared_->spare_output);
  } else {
    output_.release();
  }
}

}  // namespace kv
