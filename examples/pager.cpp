// Memory that is computed when it is touched: pager [LOOKUPS]
//
// A large array, of which element n is the number of steps that n takes to come to 1 (3n + 1 if odd, n / 2 if
// even). No page of it is there at first. A fiber that touches one faults; the fault is a call of the pager,
// a fiber too, which computes that page and lets the other go on: it reads as if the page had always been
// there.
//
// The pager writes through a second view of the same memory, so that nobody sees a page that is half done.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "sennit/exception_server.hpp"
#include "sennit/runtime.hpp"
#include "sennit/scope.hpp"

static constexpr std::size_t page = 4096;
static constexpr std::size_t pages = 65536;
static constexpr std::size_t elements_per_page = page / sizeof(std::uint16_t);

static std::uint16_t steps(std::uint64_t n) {
  std::uint16_t count = 0;
  for (; n > 1; ++count)
    n = n % 2 != 0 ? 3 * n + 1 : n / 2;
  return count;
}

class lazy_array {
public:
  lazy_array() {
    const int memory = memfd_create("pager", 0);
    if (memory < 0 || ftruncate(memory, pages * page) != 0)
      std::abort();
    seen_ = static_cast<char*>(mmap(nullptr, pages * page, PROT_NONE, MAP_SHARED, memory, 0));
    written_ = static_cast<char*>(mmap(nullptr, pages * page, PROT_WRITE, MAP_SHARED, memory, 0));
    close(memory);
    if (seen_ == MAP_FAILED || written_ == MAP_FAILED)
      std::abort();
  }
  ~lazy_array() {
    munmap(seen_, pages * page);
    munmap(written_, pages * page);
  }
  lazy_array(const lazy_array&) = delete;
  lazy_array& operator=(const lazy_array&) = delete;

  const volatile std::uint16_t& operator[](std::size_t n) const {
    return reinterpret_cast<const volatile std::uint16_t*>(seen_)[n];
  }

  // The pager. False: that address is none of the array's.
  bool fill(const void* touched) {
    const auto offset = static_cast<std::size_t>(static_cast<const char*>(touched) - seen_);
    const std::size_t number = offset / page;
    if (touched < seen_ || number >= pages)
      return false;
    if (filled_[number])
      return true;  // two have touched it at once
    auto* const elements = reinterpret_cast<std::uint16_t*>(written_ + number * page);
    for (std::size_t i = 0; i < elements_per_page; ++i)
      elements[i] = steps(number * elements_per_page + i);
    filled_[number] = true;
    ++count_;
    return mprotect(seen_ + number * page, page, PROT_READ) == 0;
  }
  std::size_t count() const { return count_; }

private:
  char* seen_;
  char* written_;
  std::vector<bool> filled_ = std::vector<bool>(pages);
  std::size_t count_ = 0;
};

static void run(std::size_t lookups) {
  lazy_array array;
  sennit::exception_server faults;

  sennit::scope pager;
  pager.spawn([&] {
    for (;;) {
      auto fault = faults.receive();
      fault.reply(array.fill(fault.address()) ? sennit::verdict::resume : sennit::verdict::pass);
    }
  });

  auto look = [&](unsigned seed, std::uint64_t& longest) {
    const sennit::exception_guard guard(faults);
    std::minstd_rand random(seed);
    for (std::size_t i = 0; i < lookups; ++i) {
      // Mostly small numbers, so that many share a page.
      const std::uint64_t n = random() % (elements_per_page * (1 + random() % pages));
      const std::uint64_t found = array[n];
      if (found != steps(n))
        std::printf("wrong: %llu\n", static_cast<unsigned long long>(n));
      longest = std::max(longest, found);
    }
  };
  std::vector<std::uint64_t> longest(4);
  std::vector<sennit::fiber> readers;
  for (unsigned i = 0; i < longest.size(); ++i)
    readers.push_back(sennit::spawn([&, i] { look(i + 1, longest[i]); }));
  for (auto& each : readers)
    each.join();
  pager.request_stop();  // ends receive()
  pager.join();

  std::printf("%zu lookups, the longest way has %llu steps; %zu of %zu pages were computed\n",
              lookups * longest.size(),
              static_cast<unsigned long long>(*std::max_element(longest.begin(), longest.end())),
              array.count(), pages);
}

int main(int argc, char** argv) {
  if (!sennit::serves_faults) {
    std::puts("faults are not served in this build: see sennit/exception_server.hpp");
    return 0;
  }
  const std::size_t lookups = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 200;
  sennit::runtime runtime;
  runtime.run([&] { run(lookups); });
}
