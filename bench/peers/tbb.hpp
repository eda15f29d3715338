// oneTBB: its version, and as many threads as were asked for.
#pragma once

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/version.h>

#include <string>

namespace bench {

inline std::string tbb_version() {
  return std::to_string(TBB_VERSION_MAJOR) + "." + std::to_string(TBB_VERSION_MINOR);
}

class tbb_threads {
public:
  explicit tbb_threads(unsigned workers)
      : limit_(oneapi::tbb::global_control::max_allowed_parallelism, workers) {}

private:
  oneapi::tbb::global_control limit_;
};

}  // namespace bench
