// What the programs of Boost's peers share beside a library of their own.
#pragma once

#include <boost/version.hpp>

#include <string>

namespace bench {

inline std::string boost_version() {
  return std::to_string(BOOST_VERSION / 100'000) + '.' + std::to_string(BOOST_VERSION / 100 % 1'000);
}

}  // namespace bench
