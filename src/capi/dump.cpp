// Reports for C.
#include "sennit/dump.hpp"

#include "error.hpp"
#include "sennit/sennit.h"

void sennit_dump(int descriptor) {
  sennit::dump(descriptor);
}

int sennit_dump_on_signal(int signal) {
  return sennit::capi::guarded([&] {
    sennit::dump_on_signal(signal);
    return 0;
  });
}
