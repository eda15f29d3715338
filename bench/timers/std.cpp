// The C++ standard library: a multimap of deadlines, as one would write timers by hand. A node is taken out
// and put back, so that nothing is allocated. (A priority_queue cannot take one out of its middle.) See
// timers.hpp.
#include <map>

#include "../peers/std.hpp"
#include "timers.hpp"

namespace {

class multimap {
public:
  explicit multimap(std::size_t n) : places_(n), stopped_(n) {}
  void start(std::size_t i, bench::deadline_clock::time_point when) {
    if (stopped_[i].empty()) {
      places_[i] = deadlines_.emplace(when, i);
      return;
    }
    stopped_[i].key() = when;
    places_[i] = deadlines_.insert(std::move(stopped_[i]));
  }
  void stop(std::size_t i) { stopped_[i] = deadlines_.extract(places_[i]); }

private:
  using map = std::multimap<bench::deadline_clock::time_point, std::size_t>;
  map deadlines_;
  std::vector<map::iterator> places_;
  std::vector<map::node_type> stopped_;
};

}  // namespace

int main(int argc, char** argv) {
  bench::program program(argc, argv, bench::standard_threads::version(), "std::multimap, no lock",
                         bench::timers_parameters());
  program.require_one_worker("the multimap is one thread's");
  bench::measure_restart<multimap>(program, "multimap");
}
