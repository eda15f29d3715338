#include "bench.hpp"

#include <getopt.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#endif

namespace bench {
namespace {

bool callgrind_counts = false;

std::vector<long> parse_list(const char* option, const char* text) {
  std::vector<long> values;
  for (const char* at = text;;) {
    char* end = nullptr;
    const long value = std::strtol(at, &end, 10);
    if (end == at || value < 0 || (*end != ',' && *end != '\0')) {
      std::fprintf(stderr, "--%s: '%s' is not a list of numbers like 2,100\n", option, text);
      std::exit(2);
    }
    values.push_back(value);
    if (*end == '\0')
      return values;
    at = end + 1;
  }
}

double parse_seconds(const char* text) {
  char* end = nullptr;
  const double value = std::strtod(text, &end);
  if (end == text || *end != '\0' || value <= 0) {
    std::fprintf(stderr, "--seconds: '%s' is not a time above zero\n", text);
    std::exit(2);
  }
  return value;
}

// As --only takes them: n=503,order=random.
std::string listed(const params& parameters) {
  if (parameters.empty())
    return "none";
  std::string list;
  for (const param& each : parameters) {
    if (!list.empty())
      list += ',';
    list += std::string(each.name) + '=';
    std::copy_if(each.json.begin(), each.json.end(), std::back_inserter(list),
                 [](char c) { return c != '"'; });
  }
  return list;
}

void print_usage(const char* name, const std::vector<parameter>& parameters) {
  std::printf(
      "Usage: %s [--quick] [--variant NAME] [--only NAME=VALUE,...|none] [--workers N] [--seconds S | "
      "--count N [--callgrind]]",
      name);
  for (const parameter& each : parameters)
    std::printf(" [--%s LIST]", each.name);
  std::printf("\nMeasures and prints one JSON line per result.\n");
}

// An addition that is not exact sets a flag in the floating-point control register, for good, as it does
// early in any real program. A context that was made before that switches with another value of the register,
// which makes the switches that load it take 80 ns instead of 5. No program shall measure that by chance.
void set_inexact_flag() {
  volatile double tenth = 0.1;
  tenth = tenth + 0.2;
}

// The most memory the process has had so far, in bytes. (getrusage counts that of the one before exec too.)
std::uint64_t peak_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:"))
      return std::strtoull(line.c_str() + std::strlen("VmHWM:"), nullptr, 10) * 1024;
  }
  return 0;
}

}  // namespace

void require(bool condition, const char* message) {
  if (condition)
    return;
  std::fprintf(stderr, "%s\n", message);
  std::exit(1);
}

bool counts_instructions() {
  return callgrind_counts;
}

program::program(int argc, char** argv, const std::string& version, const char* configuration,
                 std::vector<parameter> parameters, const char* flavour)
    : parameters_(std::move(parameters)), flavour_(flavour), memory_at_start_(peak_memory()) {
  set_inexact_flag();
  enum {
    option_help = 1,
    option_quick,
    option_variant,
    option_only,
    option_workers,
    option_seconds,
    option_count,
    option_callgrind,
    first_parameter
  };
  std::vector<option> options = {{"help", no_argument, nullptr, option_help},
                                 {"quick", no_argument, nullptr, option_quick},
                                 {"variant", required_argument, nullptr, option_variant},
                                 {"only", required_argument, nullptr, option_only},
                                 {"workers", required_argument, nullptr, option_workers},
                                 {"seconds", required_argument, nullptr, option_seconds},
                                 {"count", required_argument, nullptr, option_count},
                                 {"callgrind", no_argument, nullptr, option_callgrind}};
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    options.push_back(
        {parameters_[i].name, required_argument, nullptr, first_parameter + static_cast<int>(i)});
  }
  options.push_back({});

  std::vector<bool> given(parameters_.size());
  bool seconds_given = false;
  for (int found; (found = getopt_long(argc, argv, "", options.data(), nullptr)) != -1;) {
    switch (found) {
      case option_help:
        print_usage(argv[0], parameters_);
        std::exit(0);
      case option_quick:
        quick_ = true;
        break;
      case option_variant:
        variant_ = optarg;
        break;
      case option_only:
        only_ = optarg;
        break;
      case option_workers:
        workers_ = static_cast<unsigned>(parse_list("workers", optarg).front());
        break;
      case option_seconds:
        seconds_ = parse_seconds(optarg);
        seconds_given = true;
        break;
      case option_count:
        count_ = static_cast<std::uint64_t>(parse_list("count", optarg).front());
        break;
      case option_callgrind:
        callgrind_counts = true;
        break;
      case '?':
        std::exit(2);
      default:
        const auto index = static_cast<std::size_t>(found - first_parameter);
        parameters_[index].values = parse_list(parameters_[index].name, optarg);
        given[index] = true;
    }
  }
  if (optind != argc || workers_ == 0 || (callgrind_counts && count_ == 0)) {
    print_usage(argv[0], parameters_);
    std::exit(2);
  }
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (quick_ && !given[i])
      parameters_[i].values = parameters_[i].quick_values;
  }
  if (quick_ && !seconds_given)
    seconds_ = 0.05;
  std::printf("{\"version\":\"%s\",\"configuration\":\"%s\"}\n", version.c_str(), configuration);
  std::fflush(stdout);
}

void program::require_one_worker(const char* reason) const {
  if (workers_ == 1)
    return;
  unsupported("", {}, reason);
  std::exit(0);
}

const std::vector<long>& program::values(const char* name) const {
  for (const parameter& each : parameters_) {
    if (std::strcmp(each.name, name) == 0)
      return each.values;
  }
  std::fprintf(stderr, "the program has no parameter %s\n", name);
  std::abort();
}

bool program::wants(std::string_view variant) const {
  return variant_.empty() || variant_ == variant || variant_ == std::string(variant) + flavour_;
}

bool program::wants(std::string_view variant, const params& parameters) const {
  return wants(variant) && (only_.empty() || only_ == listed(parameters));
}

void program::toggle_counting() {
#if defined(CALLGRIND_TOGGLE_COLLECT)
  CALLGRIND_TOGGLE_COLLECT;
#endif
}

bool program::run_each(const std::vector<std::string>& variants, char** argv) const {
  if (!variant_.empty())
    return false;
  for (std::string option = "--variant"; std::string each : variants) {
    std::vector<char*> arguments;
    for (char** at = argv; *at != nullptr; ++at)
      arguments.push_back(*at);
    arguments.insert(arguments.end(), {option.data(), each.data(), nullptr});
    pid_t child = 0;
    int status = 0;
    require(posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, arguments.data(), environ) == 0 &&
                waitpid(child, &status, 0) == child && status == 0,
            ("variant " + each + " failed").c_str());
  }
  return true;
}

std::string program::begin_line(std::string_view variant, const params& parameters) const {
  std::string line = "{\"variant\":\"" + std::string(variant);
  if (!variant.empty())
    line += flavour_;
  line += "\",\"workers\":" + std::to_string(workers_) + ",\"params\":{";
  for (const param& each : parameters) {
    if (line.back() != '{')
      line += ',';
    line += '"' + std::string(each.name) + "\":" + each.json;
  }
  return line + '}';
}

void program::unsupported(std::string_view variant, const params& parameters, const char* reason) const {
  std::printf("%s,\"unsupported\":\"%s\"}\n", begin_line(variant, parameters).c_str(), reason);
  std::fflush(stdout);
}

void program::note_memory_with_one() {
  memory_with_one_ = peak_memory();
}

void program::report_memory(std::string_view variant, const params& parameters, const char* thing,
                            double count) const {
  if (!wants(variant, parameters))
    return;
  std::printf("%s,\"metric\":\"bytes\",\"unit\":\"bytes%s%s\",\"value\":%.9g}\n",
              begin_line(variant, parameters).c_str(), thing != nullptr ? "/" : "",
              thing != nullptr ? thing : "", static_cast<double>(peak_memory() - memory_at_start_) / count);
  std::fflush(stdout);
}

void program::report_memory_beside_one(std::string_view variant, const params& parameters, const char* thing,
                                       double count) const {
  if (!wants(variant, parameters))
    return;
  const std::uint64_t grown =
      count > 1 ? peak_memory() - memory_with_one_ : memory_with_one_ - memory_at_start_;
  std::printf("%s,\"metric\":\"bytes\",\"unit\":\"bytes/%s\",\"value\":%.9g}\n",
              begin_line(variant, parameters).c_str(), thing,
              static_cast<double>(grown) / std::max(count - 1, 1.0));
  std::fflush(stdout);
}

void program::report_count(std::string_view variant, const params& parameters, const char* things,
                           double count) const {
  if (!wants(variant, parameters))
    return;
  std::printf("%s,\"metric\":\"%s\",\"unit\":\"%s\",\"value\":%.9g}\n",
              begin_line(variant, parameters).c_str(), things, things, count);
  std::fflush(stdout);
}

void program::report_p99(std::string_view variant, const params& parameters,
                         std::vector<double> times) const {
  std::sort(times.begin(), times.end());
  std::printf("%s,\"metric\":\"p99_us\",\"unit\":\"us\",\"value\":%.9g}\n",
              begin_line(variant, parameters).c_str(), times[times.size() * 99 / 100]);
  std::fflush(stdout);
}

void program::report(std::string_view variant, const params& parameters, const char* metric,
                     const char* operation, timing measured, double operations) const {
  const std::string unit =
      std::strcmp(metric, "ns") == 0 ? std::string("ns/") + operation : std::string(operation) + "s/s";
  std::printf("%s,\"metric\":\"%s\",\"unit\":\"%s\",\"value\":%.9g,\"best\":%.9g,\"operations\":%.9g}\n",
              begin_line(variant, parameters).c_str(), metric, unit.c_str(), measured.mean, measured.best,
              operations);
  std::fflush(stdout);
}

}  // namespace bench
