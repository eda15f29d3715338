// The TCP stream of C.
#pragma once

#include "sennit/sennit.h"
#include "sennit/tcp_stream.hpp"

struct sennit_tcp_stream {
  sennit::tcp_stream stream;
};
