// What every benchmark program shares: options, one warm-up and one timed run per measurement, and the lines
// the runner reads. A program prints JSON, one object a line:
//   {"version":"1.9","configuration":"..."}                                     once, first
//   {"variant":"local","workers":1,"params":{"fibers":2},"metric":"ns","unit":"ns/yield","value":1.6,"best":1.5}
//   {"variant":"local","workers":1,"params":{},"unsupported":"why"}
#pragma once

#include <ctime>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "opaque.hpp"

// A program that is built a second time, by another compiler or with other flags, gets its name here; it is
// added to the name of every variant.
#ifndef BENCH_FLAVOUR
#define BENCH_FLAVOUR ""
#endif

namespace bench {

/// One parameter of a measurement, as the result shows it: `{"fibers", 100}` or `{"order", "random"}`.
struct param {
  param(const char* key, long value) : name(key), json(std::to_string(value)) {}
  param(const char* key, const char* value) : name(key), json('"' + std::string(value) + '"') {}

  const char* name;
  std::string json;
};
using params = std::vector<param>;

/// An option `--name LIST` for a workload's parameter, with the values taken when it is not given.
struct parameter {
  const char* name;
  std::vector<long> values;
  std::vector<long> quick_values;
};

/// Ends the program with `message` on stderr unless `condition`: a peer that loses work must not get a
/// number.
void require(bool condition, const char* message);

/// Whether the options of the program ask for a count by callgrind. Then it must not depend on other threads.
bool counts_instructions();

class program {
public:
  /// Reads the options (and ends the program on --help or a wrong one), then prints the first line.
  /// `configuration` says how the peer is set up, in words for the table.
  program(int argc, char** argv, const std::string& version, const char* configuration,
          std::vector<parameter> parameters = {}, const char* flavour = BENCH_FLAVOUR);

  unsigned workers() const { return workers_; }
  bool quick() const { return quick_; }

  /// Prints `reason` as unsupported and ends the program when more than one worker was asked for.
  void require_one_worker(const char* reason) const;

  /// The values to measure of the parameter `name`.
  const std::vector<long>& values(const char* name) const;

  /// Whether `variant` with these parameters was asked for (all are, without --variant and --only).
  bool wants(std::string_view variant, const params& parameters) const;
  /// Whether anything of `variant` was asked for.
  bool wants(std::string_view variant) const;

  /// Runs the program anew for each of `variants`, and returns true; but if one was asked for, false. For
  /// variants that are not to find each other's memory.
  bool run_each(const std::vector<std::string>& variants, char** argv) const;

  /// Calls `run(count)`, which must do `count` times `operations` operations, first to warm up and to find
  /// the count that takes long enough, then once timed; prints nanoseconds per operation. `operation` is its
  /// name in the unit, as in ns/yield. A run that returns a double has timed itself, in seconds.
  template <class Run>
  void measure(std::string_view variant, const params& parameters, const char* operation, double operations,
               Run&& run) {
    if (wants(variant, parameters))
      report(variant, parameters, "ns", operation, per(time(run), operations), operations);
  }

  /// As `measure`, and prints operations per second too.
  template <class Run>
  void measure_rate(std::string_view variant, const params& parameters, const char* operation,
                    double operations, Run&& run) {
    if (!wants(variant, parameters))
      return;
    const timing each = per(time(run), operations);
    report(variant, parameters, "ns", operation, each, operations);
    report(variant, parameters, "per_second", operation, {1e9 / each.mean, 1e9 / each.best}, operations);
  }

  /// Calls `run(count)`, which must return `count` times in microseconds, and prints what 99 % of them are
  /// below.
  template <class Run>
  void measure_p99(std::string_view variant, const params& parameters, Run&& run) {
    if (wants(variant, parameters))
      report_p99(variant, parameters,
                 run(count_ != 0 ? count_ : static_cast<std::uint64_t>(std::max(seconds_ * 5000, 300.0))));
  }

  /// Prints by how many bytes the process's memory has grown at most since the program began. Variants of one
  /// process share it: call it for the one that needs least first.
  void report_memory(std::string_view variant, const params& parameters) const {
    report_memory(variant, parameters, nullptr, 1);
  }
  /// The same for each of `count` things of that name.
  void report_memory(std::string_view variant, const params& parameters, const char* thing,
                     double count) const;

  /// Calls `run()`, which must do the work with one of the things that `report_memory_beside_one` counts.
  template <class Run>
  void begin_with_one(std::string_view variant, Run&& run) {
    if (!wants(variant) || memory_with_one_ != 0)
      return;
    run();
    note_memory_with_one();
  }
  /// Prints what each of `count` things takes of memory: by how many bytes the process has grown at most
  /// since `begin_with_one`, for each but the first; of one, by how many since the program began, with it.
  void report_memory_beside_one(std::string_view variant, const params& parameters, const char* thing,
                                double count) const;

  /// Prints how many of `things` there were.
  void report_count(std::string_view variant, const params& parameters, const char* things,
                    double count) const;

  /// Prints that this measurement cannot be made, and why.
  void unsupported(std::string_view variant, const params& parameters, const char* reason) const;

private:
  static double now() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  }

  template <class Run>
  static double seconds(Run&& run, std::uint64_t count) {
    if constexpr (std::is_same_v<decltype(run(count)), double>)
      return run(count);
    const double start = now();
    run(count);
    return now() - start;
  }

  /// Nanoseconds per count: of a whole timed run, and of the fastest of the slices it was timed in. A slice
  /// is short enough for some to be undisturbed on a machine that has other work.
  struct timing {
    double mean;
    double best;
  };

  template <class Run>
  timing time(Run&& run) const {
    if (counts_instructions()) {
      run(count_);  // warms up
      toggle_counting();
      run(count_);
      toggle_counting();
      return {0, 0};
    }
    if (count_ != 0) {
      const double each = seconds(run, count_) * 1e9 / static_cast<double>(count_);
      return {each, each};
    }
    std::uint64_t count = 1;
    double elapsed = seconds(run, count);
    for (;;) {
      // At most eightfold at once, and again if it was too short: one run, on a machine that has other work,
      // tells little.
      count = std::max<std::uint64_t>(
          1, static_cast<std::uint64_t>(static_cast<double>(count) * std::min(seconds_ / elapsed, 8.0)));
      const std::uint64_t slice = std::max<std::uint64_t>(count / 10, 1);
      const std::uint64_t slices = count / slice;
      count = slice * slices;
      elapsed = 0;
      double best = std::numeric_limits<double>::infinity();
      for (std::uint64_t i = 0; i < slices; ++i) {
        const double each = seconds(run, slice);
        elapsed += each;
        best = std::min(best, each);
      }
      if (elapsed >= seconds_ / 2) {
        return {elapsed * 1e9 / static_cast<double>(count), best * 1e9 / static_cast<double>(slice)};
      }
    }
  }

  static timing per(timing all, double operations) { return {all.mean / operations, all.best / operations}; }

  /// Begins or ends what callgrind counts of the calling thread.
  static void toggle_counting();

  void note_memory_with_one();
  std::string begin_line(std::string_view variant, const params& parameters) const;
  void report(std::string_view variant, const params& parameters, const char* metric, const char* operation,
              timing measured, double operations) const;

  void report_p99(std::string_view variant, const params& parameters, std::vector<double> times) const;

  std::vector<parameter> parameters_;
  std::string flavour_;
  std::string variant_;
  std::string only_;
  double seconds_ = 0.2;
  std::uint64_t count_ = 0;  // not 0: so many, and no warm-up
  std::uint64_t memory_at_start_;
  std::uint64_t memory_with_one_ = 0;  // 0: it did not begin so
  unsigned workers_ = 1;
  bool quick_ = false;
};

}  // namespace bench
