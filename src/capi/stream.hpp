// The TCP stream and the TCP listener of C.
#pragma once

#include "sennit/sennit.h"
#include "sennit/tcp_listener.hpp"
#include "sennit/tcp_stream.hpp"

struct sennit_tcp_stream {
  sennit::tcp_stream stream;
};

struct sennit_tcp_listener {
  sennit::tcp_listener listener;
};
