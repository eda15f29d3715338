// Commands on keys whatever their values: DEL EXISTS.
#include "handlers.hpp"

namespace kv::handlers {

void del(invocation& call) {
  std::int64_t deleted = 0;
  for (std::size_t i = 1; i < call.arguments.size(); ++i) {
    deleted += call.server.keys.erase(call.arguments[i]) ? 1 : 0;
  }
  call.reply.integer(deleted);
}

// A key named twice counts twice.
void exists(invocation& call) {
  std::int64_t existing = 0;
  for (std::size_t i = 1; i < call.arguments.size(); ++i) {
    existing += call.server.keys.find(call.arguments[i]) != nullptr ? 1 : 0;
  }
  call.reply.integer(existing);
}

}  // namespace kv::handlers
