// A store on disk with a cache in memory, for ./run tables rethinkdb: what the stacks of coroutines cost
// while requests wait for a disk.
//
//   bench_disk_server --port PORT --file FILE --stack BYTES [--unpooled] [--zeroed]
//
// FILE has a block of 4 KiB for each key. GET key:N is executed in a fiber spawned for it, on a stack of that
// size. If the cache lacks the block, the fiber reads it past the kernel's cache, in a function that it
// offloads. BLOCKS returns how many blocks were read, and LOAD reads those that the cache lacks. As in
// "Making coroutines fast" (RethinkDB), stacks are kept for the next request (otherwise they are freed), and
// are zeroed before each use or not.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "sennit/local/runtime.hpp"
#include "sennit/offload.hpp"
#include "sennit/tcp_listener.hpp"
#include "sennit/tcp_stream.hpp"

namespace {

constexpr std::size_t block_size = 4096;
constexpr std::size_t value_size = 64;  // of a block, what a client gets

struct options {
  std::uint16_t port = 0;
  const char* file = nullptr;
  std::size_t stack = 0;
  bool pooled = true;
  bool zeroed = false;
};

struct freer {
  void operator()(std::byte* memory) const { std::free(memory); }
};
using stack_memory = std::unique_ptr<std::byte[], freer>;

class stacks {
public:
  explicit stacks(const options& chosen) : chosen_(chosen) {}

  stack_memory take() {
    if (free_.empty()) {
      stack_memory made(static_cast<std::byte*>(chosen_.zeroed ? std::calloc(1, chosen_.stack)
                                                               : std::malloc(chosen_.stack)));
      if (made == nullptr)
        throw std::bad_alloc();
      return made;
    }
    stack_memory found = std::move(free_.back());
    free_.pop_back();
    if (chosen_.zeroed)
      std::memset(found.get(), 0, chosen_.stack);
    return found;
  }
  void give_back(stack_memory used) {
    if (chosen_.pooled)
      free_.push_back(std::move(used));
  }

private:
  const options& chosen_;
  std::vector<stack_memory> free_;
};

class store {
public:
  explicit store(const char* path) : file_(::open(path, O_RDONLY | O_DIRECT | O_CLOEXEC)) {
    if (file_ < 0)
      throw std::system_error(errno, std::generic_category(), path);
    blocks_.resize(static_cast<std::size_t>(::lseek(file_, 0, SEEK_END)) / block_size);
  }
  ~store() { ::close(file_); }
  store(const store&) = delete;
  store& operator=(const store&) = delete;

  // Waits if the block is not in memory. Null: there is no such key.
  const std::string* get(std::size_t key) {
    if (key >= blocks_.size())
      return nullptr;
    std::unique_ptr<std::string>& block = blocks_[key];
    if (block == nullptr) {
      auto got = std::make_unique<std::string>(sennit::offload([&] { return read(key); }));
      ++reads_;
      if (block == nullptr)  // another fiber may have read it meanwhile
        block = std::move(got);
    }
    return block.get();
  }
  void load() {
    const std::string all = sennit::offload([&] { return read(0, blocks_.size()); });
    for (std::size_t key = 0; key != blocks_.size(); ++key)
      if (blocks_[key] == nullptr)
        blocks_[key] = std::make_unique<std::string>(all, key * value_size, value_size);
    reads_ += blocks_.size();
  }
  std::size_t reads() const { return reads_; }

private:
  // The values of so many blocks, by one transfer.
  std::string read(std::size_t key, std::size_t count = 1) const {
    const std::size_t size = count * block_size;
    const std::unique_ptr<char, decltype(&std::free)> space(
        static_cast<char*>(std::aligned_alloc(block_size, size)), &std::free);
    if (space == nullptr ||
        ::pread(file_, space.get(), size, static_cast<off_t>(key * block_size)) != static_cast<ssize_t>(size))
      throw std::system_error(errno, std::generic_category(), "read blocks");
    std::string values;
    for (std::size_t i = 0; i != count; ++i)
      values.append(space.get() + i * block_size, value_size);
    return values;
  }

  int file_;
  std::vector<std::unique_ptr<std::string>> blocks_;
  std::size_t reads_ = 0;
};

// The words of a request: an array of bulk strings, or words on a line. Returns how many bytes it takes; 0:
// it is not complete.
std::size_t parse(std::string_view input, std::vector<std::string_view>& words) {
  words.clear();
  const auto line_at = [input](std::size_t at) {
    const std::size_t end = input.find("\r\n", at);
    return end == input.npos ? std::string_view() : input.substr(at, end - at);
  };
  const auto number_in = [](std::string_view line) {
    std::size_t value = 0;
    std::from_chars(line.data() + 1, line.data() + line.size(), value);
    return value;
  };
  std::string_view line = line_at(0);
  if (line.empty())
    return 0;
  std::size_t at = line.size() + 2;
  if (line.front() != '*') {
    words.push_back(line);
    return at;
  }
  for (std::size_t left = number_in(line); left != 0; --left) {
    line = line_at(at);
    if (line.empty())
      return 0;
    const std::size_t size = number_in(line);
    at += line.size() + 2;
    if (input.size() < at + size + 2)
      return 0;
    words.push_back(input.substr(at, size));
    at += size + 2;
  }
  return at;
}

class server {
public:
  explicit server(const options& chosen)
      : stack_size_(chosen.stack),
        store_(chosen.file),
        stacks_(chosen),
        listener_("127.0.0.1", chosen.port) {}

  void serve() {
    for (;;)
      sennit::local::spawn([this, client = listener_.accept()]() mutable { converse(client); }).detach();
  }

private:
  void converse(sennit::tcp_stream& client) {
    std::string input, output;
    std::vector<std::string_view> words;
    std::vector<char> block(16384);  // not on the stack, which has one guard page
    std::error_code error;
    for (;;) {
      const std::size_t count = client.read_some(block, error);
      if (error || count == 0)
        return;
      input.append(block.data(), count);
      std::size_t done = 0;
      while (const std::size_t size = parse(std::string_view(input).substr(done), words)) {
        answer(words, output);
        done += size;
      }
      input.erase(0, done);
      client.write_all(output, error);
      output.clear();
      if (error)
        return;
    }
  }

  void answer(const std::vector<std::string_view>& words, std::string& output) {
    if (words.size() == 2 && words[0] == "GET" && words[1].starts_with("key:"))
      answer_get(words[1].substr(4), output);
    else if (!words.empty() && words[0] == "PING")
      output += "+PONG\r\n";
    else if (!words.empty() && words[0] == "BLOCKS")
      output += ":" + std::to_string(store_.reads()) + "\r\n";
    else if (!words.empty() && words[0] == "LOAD")
      store_.load(), output += "+OK\r\n";
    else
      output += "-ERR this command is not known\r\n";
  }

  // The experiment: a fiber for the request, on memory that it gets for it.
  void answer_get(std::string_view digits, std::string& output) {
    std::size_t key = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), key);
    stack_memory memory = stacks_.take();
    const std::string* found = nullptr;
    sennit::local::spawn([&] { found = store_.get(key); }, {.stack = {memory.get(), stack_size_}}).join();
    stacks_.give_back(std::move(memory));
    if (found == nullptr)
      output += "$-1\r\n";
    else
      output += "$" + std::to_string(found->size()) + "\r\n" + *found + "\r\n";
  }

  std::size_t stack_size_;
  store store_;
  stacks stacks_;
  sennit::tcp_listener listener_;
};

bool parse(int count, char** words, options& chosen) {
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    if (word == "--unpooled")
      chosen.pooled = false;
    else if (word == "--zeroed")
      chosen.zeroed = true;
    else if (i + 1 == count)
      return false;
    else if (word == "--port")
      chosen.port = static_cast<std::uint16_t>(std::strtoul(words[++i], nullptr, 10));
    else if (word == "--file")
      chosen.file = words[++i];
    else if (word == "--stack")
      chosen.stack = std::strtoul(words[++i], nullptr, 10);
    else
      return false;
  }
  return chosen.port != 0 && chosen.file != nullptr && chosen.stack >= 8192 && chosen.stack % 16 == 0;
}

}  // namespace

int main(int count, char** words) {
  options chosen;
  if (!parse(count, words, chosen)) {
    std::fprintf(stderr,
                 "usage: bench_disk_server --port PORT --file FILE --stack BYTES [--unpooled] [--zeroed]\n");
    return 2;
  }
  try {
    sennit::local::runtime runtime;
    runtime.run([&] { server(chosen).serve(); });
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_disk_server: %s\n", error.what());
    return 1;
  }
}
