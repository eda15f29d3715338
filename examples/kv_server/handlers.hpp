// The function behind each row of the command table, by the file it is in.
#pragma once

#include "commands.hpp"

namespace kv::handlers {

// string_commands.cpp
void get(invocation& call);
void incr(invocation& call);
void set(invocation& call);

// generic_commands.cpp
void del(invocation& call);
void exists(invocation& call);

// connection_commands.cpp
void client(invocation& call);
void echo(invocation& call);
void hello(invocation& call);
void ping(invocation& call);
void quit(invocation& call);
void select(invocation& call);

// server_commands.cpp
void command(invocation& call);
void config(invocation& call);
void dbsize(invocation& call);
void info(invocation& call);

}  // namespace kv::handlers
