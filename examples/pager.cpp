// Memory that is computed when it is touched: pager [LOOKUPS], or pager --faults COUNT [--readers N]; both
// also with
// [--workers N] [--without-stacks]
//
// Element n of a large array is the number of steps from n to 1 (3n + 1 if n is odd, n / 2 if it is even). At
// first no page of the array exists. A fiber that touches a page faults. The fault becomes a call of another
// fiber, the pager, which computes that page. The first fiber then reads as if the page had always existed.
//
// The pager writes through a second view of the same memory, so that no fiber sees an unfinished page.
//
// --without-stacks: a fiber that waits for a page has no stack meanwhile, and then begins its function again.
// So what it has done is not in local variables, but in an object that the function gets.
//
// --faults: eight fibers (or N, a power of two) read all pages again and again, and the pager takes away each
// page that was read. So each read is exactly one fault, and COUNT faults use the memory of a few pages. The
// program checks that no fault is lost, served twice, or answered with another page. (The elements are then
// cheaper to compute.)
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string_view>
#include <vector>

#include "sennit/become.hpp"
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

static std::uint16_t scrambled(std::uint64_t n) {
  return static_cast<std::uint16_t>((n * 0x9e3779b97f4a7c15) >> 48);
}

class lazy_array {
public:
  explicit lazy_array(std::uint16_t (*element)(std::uint64_t)) : element_(element) {
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

  // The pager. Returns false if the address is not in the array.
  bool fill(const void* touched) {
    const auto offset = static_cast<std::size_t>(static_cast<const char*>(touched) - seen_);
    const std::size_t number = offset / page;
    if (touched < seen_ || number >= pages)
      return false;
    if (filled_[number])
      return true;  // two fibers have touched it at the same time
    auto* const elements = reinterpret_cast<std::uint16_t*>(written_ + number * page);
    for (std::size_t i = 0; i < elements_per_page; ++i)
      elements[i] = element_(number * elements_per_page + i);
    filled_[number] = true;
    ++count_;
    return mprotect(seen_ + number * page, page, PROT_READ) == 0;
  }
  // Returns the number of computed pages.
  std::size_t count() const { return count_; }

  std::size_t page_of(const void* touched) const {
    return static_cast<std::size_t>(static_cast<const char*>(touched) - seen_) / page;
  }

  // Makes the page as if it had never been touched.
  void take_away(std::size_t number) {
    if (filled_[number] && (mprotect(seen_ + number * page, page, PROT_NONE) != 0 ||
                            madvise(written_ + number * page, page, MADV_REMOVE) != 0))
      std::abort();
    filled_[number] = false;
  }

private:
  std::uint16_t (*element_)(std::uint64_t);
  char* seen_;
  char* written_;
  std::vector<bool> filled_ = std::vector<bool>(pages);
  std::size_t count_ = 0;
};

// The pager has a stack only while it serves.
struct serving {
  lazy_array* array;
  sennit::exception_server* faults;
};
static sennit::continuation serve(serving me, sennit::exception_server::fault&& fault) {
  if (!fault)
    return {};
  fault.reply(me.array->fill(fault.address()) ? sennit::verdict::resume : sennit::verdict::pass);
  return sennit::become(me.faults->receiving(), serve, me);
}

// Runs read(&reader) in a fiber for each reader. Their faults go to the server.
template <class Reader>
static void run_all(std::vector<Reader>& readers, void (*read)(Reader*), bool stackless,
                    sennit::exception_server& faults) {
  sennit::scope scope(faults);
  for (Reader& each : readers)
    if (stackless)
      scope.spawn(sennit::restartable(read, &each));
    else
      scope.spawn([read, mine = &each] { read(mine); });
  scope.join();
}

// Before an access that may fault. If the function is begun again, what it has done is in memory.
static void note_progress() {
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

struct searcher {
  const lazy_array* array;
  std::size_t left;
  std::minstd_rand random;
  std::uint64_t number;
  std::uint64_t longest = 0;

  searcher(const lazy_array& in, std::size_t lookups, unsigned seed)
      : array(&in), left(lookups), random(seed), number(next()) {}
  // Mostly small numbers, so that many share a page.
  std::uint64_t next() { return random() % (elements_per_page * (1 + random() % pages)); }
};
static void look(searcher* me) {
  for (; me->left != 0; --me->left) {
    note_progress();
    const std::uint64_t found = (*me->array)[me->number];
    if (found != steps(me->number))
      std::printf("wrong: %llu\n", static_cast<unsigned long long>(me->number));
    me->longest = std::max(me->longest, found);
    me->number = me->next();
  }
}

static void look_up(std::size_t lookups, bool stackless) {
  lazy_array array(steps);
  sennit::exception_server faults;

  auto pager = sennit::spawn(sennit::become(faults.receiving(), serve, serving{&array, &faults}));
  std::vector<searcher> searchers;
  for (unsigned i = 0; i < 4; ++i)
    searchers.emplace_back(array, lookups, i + 1);
  run_all(searchers, look, stackless, faults);
  faults.close();  // ends the wait of the pager
  pager.join();

  std::uint64_t longest = 0;
  for (const searcher& each : searchers)
    longest = std::max(longest, each.longest);
  std::printf("%zu lookups, the longest way has %llu steps; %zu of %zu pages were computed\n",
              lookups * searchers.size(), static_cast<unsigned long long>(longest), array.count(), pages);
}

// Reads every `step`th page, from `next` on.
struct page_reader {
  const lazy_array* array;
  std::size_t next, step, end;
  std::size_t read = 0, wrong = 0;
};
static void read_pages(page_reader* me) {
  for (; me->next < me->end; me->next += me->step) {
    const std::size_t first = me->next % pages * elements_per_page;
    note_progress();
    bool right = true;
    for (std::size_t n = first; n < first + elements_per_page; ++n)
      right &= (*me->array)[n] == scrambled(n);
    me->wrong += right ? 0 : 1;
    ++me->read;
  }
}

// Returns whether all checks have passed.
static bool fault(std::size_t wanted, std::size_t readers, std::size_t workers, bool stackless) {
  const auto begin = std::chrono::steady_clock::now();
  lazy_array array(scrambled);
  sennit::exception_server faults;
  std::size_t served = 0;

  auto pager = sennit::spawn([&] {
    while (auto fault = faults.receive()) {
      ++served;
      const bool filled = array.fill(fault.address());
      if (filled)  // the reader of this page is done with the page before
        array.take_away((array.page_of(fault.address()) + pages - readers) % pages);
      fault.reply(filled ? sennit::verdict::resume : sennit::verdict::pass);
    }
  });

  std::vector<page_reader> all;
  for (std::size_t reader = 0; reader < readers; ++reader)
    all.push_back({&array, reader, readers, wanted});
  run_all(all, read_pages, stackless, faults);
  faults.close();
  pager.join();

  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::size_t pages_read = 0, pages_wrong = 0;
  for (const page_reader& each : all) {
    pages_read += each.read;
    pages_wrong += each.wrong;
  }
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  std::printf(
      "%zu pages read on %zu workers, %zu faults served, %zu pages computed, %zu wrong; %.1f us each, %.1f s,"
      " at most %ld MB\n",
      pages_read, workers, served, array.count(), pages_wrong,
      1e6 * took.count() / static_cast<double>(wanted), took.count(), used.ru_maxrss / 1024);
  return pages_read == wanted && served == wanted && array.count() == wanted && pages_wrong == 0;
}

int main(int argc, char** argv) {
  if (!sennit::serves_faults) {
    std::puts("faults are not served in this build: see sennit/exception_server.hpp");
    return 0;
  }
  std::size_t lookups = 200, faults = 0, readers = 8, workers = 2;
  bool stackless = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--without-stacks") {
      stackless = true;
      continue;
    }
    std::size_t* const option = word == "--faults"    ? &faults
                                : word == "--readers" ? &readers
                                : word == "--workers" ? &workers
                                                      : nullptr;
    const char* const text = option == nullptr ? argv[i] : i + 1 < argc ? argv[++i] : "";
    std::size_t& number = option == nullptr ? lookups : *option;
    number = std::strtoul(text, nullptr, 10);
    if (number == 0 || pages % readers != 0) {  // each reader has pages of its own
      std::fputs(
          "usage: pager [LOOKUPS], or pager --faults COUNT [--readers N]; both also with [--workers N] "
          "[--without-stacks]\nN readers: a power of two, at most 65536\n",
          stderr);
      return 2;
    }
  }
  bool all_right = true;
  // A lost fault would make its fiber wait forever; the watchdog reports that.
  sennit::runtime runtime({.workers = static_cast<unsigned>(workers), .report_deadlock = true});
  runtime.run([&] {
    if (faults == 0)
      look_up(lookups, stackless);
    else
      all_right = fault(faults, readers, workers, stackless);
  });
  return all_right ? 0 : 1;
}
