// CPUs: the scheduler's affinity, and the quotas of cgroups, of versions 1 and 2 side by side.
#include "sennit/detail/parallel/cpus.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sennit::inline v0_1::detail {

namespace {

using std::string;
using std::string_view;

constexpr unsigned no_limit = static_cast<unsigned>(-1);

// Returns an empty string if it cannot be read.
string contents_of(const string& path) {
  string all;
  std::FILE* file = std::fopen(path.c_str(), "re");
  if (file == nullptr)
    return all;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> closes(file, std::fclose);
  char part[4096];
  while (const std::size_t size = std::fread(part, 1, sizeof part, file))
    all.append(part, size);
  return all;
}

// Returns the text before the next separator. `text` becomes the rest.
string_view next_part(string_view& text, char separator) {
  const std::size_t end = text.find(separator);
  const string_view part = text.substr(0, end);
  text.remove_prefix(end == string_view::npos ? text.size() : end + 1);
  return part;
}

bool has_word(string_view list, string_view word) {
  while (!list.empty())
    if (next_part(list, ',') == word)
      return true;
  return false;
}

// A positive number and nothing else.
std::optional<unsigned long long> number(string_view text) {
  unsigned long long value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value == 0)
    return std::nullopt;
  return value;
}

unsigned cpus_of(string_view quota, string_view period) {
  const auto time = number(quota);
  const auto of = number(period);
  if (!time || !of)
    return no_limit;
  return static_cast<unsigned>(std::min<unsigned long long>(*time / *of + (*time % *of != 0), no_limit));
}

// ---- The two versions of cgroups.

unsigned quota_v2(const string& directory) {
  const string all = contents_of(directory + "/cpu.max");
  string_view text = all;
  string_view line = next_part(text, '\n');
  const string_view quota = next_part(line, ' ');
  return cpus_of(quota, line);
}

unsigned quota_v1(const string& directory) {
  const string quota = contents_of(directory + "/cpu.cfs_quota_us");
  const string period = contents_of(directory + "/cpu.cfs_period_us");
  string_view quota_line = quota;
  string_view period_line = period;
  return cpus_of(next_part(quota_line, '\n'), next_part(period_line, '\n'));
}

struct version {
  string_view filesystem;
  string_view controller;  // empty: one hierarchy for all
  unsigned (*quota)(const string& directory);
};
constexpr version versions[] = {{"cgroup2", "", quota_v2}, {"cgroup", "cpu", quota_v1}};

// ---- Where they are.

// Returns our cgroup's path from /proc/self/cgroup, which has lines `0::path` or `number:controllers:path`.
std::optional<string_view> own_path(string_view lines, const version& v) {
  while (!lines.empty()) {
    string_view line = next_part(lines, '\n');
    const string_view id = next_part(line, ':');
    const string_view controllers = next_part(line, ':');
    if (line.empty() || line.front() != '/')
      continue;
    if (v.controller.empty() ? id == "0" && controllers.empty() : has_word(controllers, v.controller))
      return line;
  }
  return std::nullopt;
}

// A path of /proc/self/mountinfo, where \ooo stands for blanks and the like.
string unescaped(string_view text) {
  string plain;
  while (!text.empty()) {
    unsigned value = 0;
    if (text.size() >= 4 && text.front() == '\\' &&
        std::from_chars(text.data() + 1, text.data() + 4, value, 8).ptr == text.data() + 4) {
      plain += static_cast<char>(value);
      text.remove_prefix(4);
    } else {
      plain += text.front();
      text.remove_prefix(1);
    }
  }
  return plain;
}

struct mount {
  string root;  // the cgroup that is visible there
  string point;
};

// Lines `id parent device root point options [more...] - filesystem source options`.
std::vector<mount> mounts_of(string_view lines, const version& v) {
  std::vector<mount> found;
  while (!lines.empty()) {
    string_view line = next_part(lines, '\n');
    const std::size_t dash = line.find(" - ");
    if (dash == string_view::npos)
      continue;
    string_view rest = line.substr(dash + 3);
    const string_view filesystem = next_part(rest, ' ');
    next_part(rest, ' ');
    if (filesystem != v.filesystem || !(v.controller.empty() || has_word(rest, v.controller)))
      continue;
    for (int skipped = 0; skipped < 3; ++skipped)
      next_part(line, ' ');
    string root = unescaped(next_part(line, ' '));
    found.push_back({std::move(root), unescaped(next_part(line, ' '))});
  }
  return found;
}

// Returns the path below the mount's root, or nothing if it is elsewhere.
std::optional<string_view> below(const mount& m, string_view path) {
  if ((path.substr(0, 4) == "/../") || path == "/..")
    return std::nullopt;
  const string_view root = m.root == "/" ? "" : string_view(m.root);
  if (path.substr(0, root.size()) != root)
    return std::nullopt;
  path.remove_prefix(root.size());
  if (!path.empty() && path.front() != '/')
    return std::nullopt;
  return path;
}

// The least quota of a cgroup and those above it, as far as the mount shows them.
unsigned least_quota(const version& v, const string& top, string_view path) {
  unsigned least = v.quota(top);
  for (; !path.empty(); path = path.substr(0, path.rfind('/')))
    least = std::min(least, v.quota(top + string(path)));
  return least;
}

unsigned quota_of(const version& v, const string& root, string_view cgroups, string_view mountinfo) {
  const auto path = own_path(cgroups, v);
  const std::vector<mount> mounts = mounts_of(mountinfo, v);
  if (!path || mounts.empty())
    return no_limit;
  unsigned least = no_limit;
  bool shown = false;
  for (const mount& m : mounts)
    if (const auto rest = below(m, *path)) {
      shown = true;
      least = std::min(least, least_quota(v, root + m.point, *rest));
    }
  // In a container the path may be the host's: what is mounted is the container's.
  return shown ? least : v.quota(root + mounts.front().point);
}

}  // namespace

unsigned allowed_cpus() {
  // The kernel refuses a set that is smaller than its own.
  for (std::size_t cpus = CPU_SETSIZE; cpus <= std::size_t{1} << 22; cpus *= 2) {
    std::vector<cpu_set_t> set(cpus / CPU_SETSIZE);
    const std::size_t size = set.size() * sizeof(cpu_set_t);
    if (::sched_getaffinity(0, size, set.data()) == 0)
      return static_cast<unsigned>(std::max(1, CPU_COUNT_S(size, set.data())));
    if (errno != EINVAL)
      break;
  }
  return static_cast<unsigned>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
}

unsigned usable_cpus(const char* root, unsigned allowed) {
  const string top = root;
  const string cgroups = contents_of(top + "/proc/self/cgroup");
  const string mountinfo = contents_of(top + "/proc/self/mountinfo");
  unsigned usable = allowed;
  for (const version& v : versions)
    usable = std::min(usable, quota_of(v, top, cgroups, mountinfo));
  return std::max(usable, 1U);
}

unsigned usable_cpus() {
  return usable_cpus("", allowed_cpus());
}

}  // namespace sennit::inline v0_1::detail
