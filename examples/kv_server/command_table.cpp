// The command table: what the dispatcher and COMMAND know of each command.
#include "handlers.hpp"

namespace kv {

namespace {

constexpr key_range no_keys{0, 0, 0};
constexpr key_range first_argument{1, 1, 1};
constexpr key_range every_argument{1, -1, 1};

constexpr unsigned handshake = flag::noscript | flag::loading | flag::stale | flag::fast | flag::no_auth;

constexpr command table[] = {
    {"client", -2, 0, no_keys, "connection", "2.4.0", "Ask or say something about this connection",
     handlers::client},
    {"command", -1, flag::loading | flag::stale, no_keys, "server", "2.8.13",
     "Describe the server's commands", handlers::command},
    {"config", -2, 0, no_keys, "server", "2.0.0", "Read the server's settings", handlers::config},
    {"dbsize", 1, flag::readonly | flag::fast, no_keys, "server", "1.0.0", "Count the keys",
     handlers::dbsize},
    {"del", -2, flag::write, every_argument, "generic", "1.0.0", "Delete keys", handlers::del},
    {"echo", 2, flag::loading | flag::stale | flag::fast, no_keys, "connection", "1.0.0",
     "Send the argument back", handlers::echo},
    {"exists", -2, flag::readonly | flag::fast, every_argument, "generic", "1.0.0",
     "Count which of the keys exist", handlers::exists},
    {"get", 2, flag::readonly | flag::fast, first_argument, "string", "1.0.0", "Get the value of a key",
     handlers::get},
    {"hello", -1, handshake, no_keys, "connection", "6.0.0", "Agree on the protocol's version",
     handlers::hello},
    {"incr", 2, flag::write | flag::denyoom | flag::fast, first_argument, "string", "1.0.0",
     "Add one to an integer value", handlers::incr},
    {"info", -1, flag::loading | flag::stale, no_keys, "server", "1.0.0", "Report on the server",
     handlers::info},
    {"ping", -1, flag::fast, no_keys, "connection", "1.0.0", "Answer PONG, or the argument", handlers::ping},
    {"quit", -1, handshake, no_keys, "connection", "1.0.0", "Close the connection", handlers::quit},
    {"select", 2, flag::loading | flag::stale | flag::fast, no_keys, "connection", "1.0.0",
     "Choose the database; there is one", handlers::select},
    {"set", -3, flag::write | flag::denyoom, first_argument, "string", "1.0.0", "Set the value of a key",
     handlers::set},
};

}  // namespace

std::span<const command> all_commands() {
  return table;
}

}  // namespace kv
