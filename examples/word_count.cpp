// A pipeline over a source tree: word_count [--stacks] [DIRECTORY [WORKERS]]
//
// find -> files -> read -> texts -> count -> tallies -> merge: four stages with channels between them count
// the words (letters, digits and underscores) of all files below a directory, and print the most frequent
// ones.
//
// Each stage is written twice. With --stacks it is a loop that keeps its stack while it waits. Otherwise it
// loops by continuation: its state holds what it needs after the wait, and it has a stack only while it
// works.
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "sennit/become.hpp"
#include "sennit/channel.hpp"
#include "sennit/runtime.hpp"
#include "sennit/wait_group.hpp"

namespace fs = std::filesystem;
using sennit::become;
using sennit::continuation;

using tally = std::map<std::string, long, std::less<>>;

// ---- The work of each stage.

static std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

static bool in_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

static tally count_words(std::string_view text) {
  tally words;
  for (auto begin = text.begin(); begin != text.end();) {
    begin = std::find_if(begin, text.end(), in_word);
    const auto end = std::find_if_not(begin, text.end(), in_word);
    if (const std::string_view word(begin, end); !word.empty()) {
      if (const auto known = words.find(word); known != words.end())
        ++known->second;
      else
        words.emplace(word, 1);
    }
    begin = end;
  }
  return words;
}

// Shared by the stages. The last stage that sends to a channel closes it.
struct pipeline {
  static constexpr int readers = 4;
  static constexpr int counters = 4;

  fs::recursive_directory_iterator tree;
  sennit::channel<fs::path> files{8};
  sennit::channel<std::string> texts{8};
  sennit::channel<tally> tallies{8};
  sennit::wait_group reading, counting, merging;
  tally total;
  long file_count = 0;

  std::optional<fs::path> next_file() {
    std::error_code error;  // unreadable files are skipped
    for (; tree != fs::recursive_directory_iterator(); tree.increment(error))
      if (tree->is_regular_file(error)) {
        fs::path found = tree->path();
        tree.increment(error);
        return found;
      }
    return {};
  }
  void merge(const tally& one) {
    ++file_count;
    for (const auto& [word, count] : one)
      total[word] += count;
  }
};

// ---- With stacks.

static void with_stacks(pipeline& p) {
  sennit::spawn([&p] {
    while (auto file = p.next_file())
      p.files.send(std::move(*file));
    p.files.close();
  }).detach();
  for (int i = 0; i < pipeline::readers; ++i)
    sennit::spawn([&p] {
      for (const fs::path& file : p.files)
        p.texts.send(read_file(file));
      p.reading.done();
    }).detach();
  for (int i = 0; i < pipeline::counters; ++i)
    sennit::spawn([&p] {
      for (const std::string& text : p.texts)
        p.tallies.send(count_words(text));
      p.counting.done();
    }).detach();
  sennit::spawn([&p] {
    for (const tally& one : p.tallies)
      p.merge(one);
    p.merging.done();
  }).detach();
}

// ---- By continuation.

static continuation find_next(pipeline* p, bool = true) {
  if (auto file = p->next_file())
    return become(p->files.sending(std::move(*file)), find_next, p);
  p->files.close();
  return {};
}

static continuation read_one(pipeline* p, std::optional<fs::path> file);
static continuation read_next(pipeline* p, bool = true) {
  return become(p->files.receiving(), read_one, p);
}
static continuation read_one(pipeline* p, std::optional<fs::path> file) {
  if (file)
    return become(p->texts.sending(read_file(*file)), read_next, p);
  p->reading.done();
  return {};
}

static continuation count_one(pipeline* p, std::optional<std::string> text);
static continuation count_next(pipeline* p, bool = true) {
  return become(p->texts.receiving(), count_one, p);
}
static continuation count_one(pipeline* p, std::optional<std::string> text) {
  if (text)
    return become(p->tallies.sending(count_words(*text)), count_next, p);
  p->counting.done();
  return {};
}

static continuation merge_one(pipeline* p, std::optional<tally> one) {
  if (one) {
    p->merge(*one);
    return become(p->tallies.receiving(), merge_one, p);
  }
  p->merging.done();
  return {};
}

static void without_stacks(pipeline& p) {
  sennit::spawn([&p] { return find_next(&p); }).detach();
  for (int i = 0; i < pipeline::readers; ++i)
    sennit::spawn(read_next(&p)).detach();
  for (int i = 0; i < pipeline::counters; ++i)
    sennit::spawn(count_next(&p)).detach();
  sennit::spawn(become(p.tallies.receiving(), merge_one, &p)).detach();
}

static void run(const fs::path& root, bool stacks) {
  pipeline p;
  std::error_code error;
  p.tree = fs::recursive_directory_iterator(root, fs::directory_options::skip_permission_denied, error);
  p.reading.add(pipeline::readers);
  p.counting.add(pipeline::counters);
  p.merging.add(1);
  if (stacks)
    with_stacks(p);
  else
    without_stacks(p);
  p.reading.wait();
  p.texts.close();
  p.counting.wait();
  p.tallies.close();
  p.merging.wait();

  long words = 0;
  for (const auto& each : p.total)
    words += each.second;
  std::printf("%ld files, %ld words, %zu different ones\n", p.file_count, words, p.total.size());
  std::vector<std::pair<std::string, long>> most(p.total.begin(), p.total.end());
  std::ranges::sort(most, [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  most.resize(std::min<std::size_t>(most.size(), 5));
  for (const auto& [word, times] : most)
    std::printf("%8ld %s\n", times, word.c_str());
}

int main(int argc, char** argv) {
  const bool stacks = argc > 1 && std::strcmp(argv[1], "--stacks") == 0;
  if (stacks)
    --argc, ++argv;
  const fs::path root = argc > 1 ? argv[1] : ".";
  const auto workers = argc > 2 ? static_cast<unsigned>(std::strtoul(argv[2], nullptr, 10)) : 0U;
  sennit::runtime runtime({.workers = workers});
  runtime.run([&] { run(root, stacks); });
}
