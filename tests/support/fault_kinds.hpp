// Faults of each kind that code can cause on this processor, and what repairs them.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ostream>
#include <string>

#include "support/faults.hpp"

namespace support {

struct kind_of_fault {
  fault_kind kind;
  int signal;
  const char* title;  // its name in reports

  // Whether the process ended with its report, up to and including the name of the fiber.
  bool is_reported(const outcome& of, const std::string& fiber) const {
    const std::size_t at = of.said.find(std::string("sennit: ") + title + " at 0x");
    return at != std::string::npos &&
           of.said.find(" in fiber \"" + fiber + "\"", at) < of.said.find('\n', at);
  }
};
inline std::ostream& operator<<(std::ostream& out, const kind_of_fault& each) {
  return out << each.title;
}

inline constexpr kind_of_fault kinds_of_faults[] = {
    {fault_kind::memory, SIGSEGV, "memory fault (SIGSEGV)"},
    {fault_kind::bus, SIGBUS, "bus error (SIGBUS)"},
#if defined(__x86_64__) || defined(__aarch64__)
    {fault_kind::instruction, SIGILL, "illegal instruction (SIGILL)"},
#endif
#if defined(__x86_64__)  // others divide by zero, and have a result
    {fault_kind::arithmetic, SIGFPE, "arithmetic fault (SIGFPE)"},
#endif
};

// Faults when it is used, until it is repaired.
class fault_cause {
public:
  explicit fault_cause(const kind_of_fault& of) : kind_(of.kind), file_(::memfd_create("page", 0)) {
    const bool has_memory = kind_ != fault_kind::bus;
    const int access = kind_ != fault_kind::memory ? PROT_READ | PROT_WRITE : PROT_NONE;
    at_ = static_cast<int*>(::mmap(nullptr, page_size, access, MAP_SHARED, file_, 0));
    if (at_ == MAP_FAILED || (has_memory && ::ftruncate(file_, page_size) != 0))
      std::abort();
  }
  ~fault_cause() {
    ::munmap(at_, page_size);
    ::close(file_);
  }
  fault_cause(const fault_cause&) = delete;
  fault_cause& operator=(const fault_cause&) = delete;

  [[gnu::noinline]] void use() const {
    if (kind_ == fault_kind::instruction) {
#if defined(__x86_64__)
      asm volatile("ud2");
#elif defined(__aarch64__)
      asm volatile(".inst 0");
#endif
    } else if (kind_ == fault_kind::arithmetic) {
#if defined(__x86_64__)
      unsigned low = 1, high = 0;
      asm volatile("divl %2" : "+a"(low), "+d"(high) : "c"(0));
#endif
    } else {
      static_cast<volatile int*>(at_)[3] = 1;
    }
  }

  // What the fault's address is to be, if the instruction is at `pc`.
  void* address(std::uint64_t pc) const { return has_page() ? at_ + 3 : reinterpret_cast<void*>(pc); }
  // The page is there afterwards; instructions that fault are left out.
  template <class Register>
  void repair(Register& pc) const {
    if (has_page())
      set_page(true);
    else
      pc += instruction_length;
  }
  // A page that was repaired is missing again.
  void breaks_again() const {
    if (has_page())
      set_page(false);
  }

private:
#if defined(__x86_64__)
  static constexpr unsigned instruction_length = 2;
#else
  static constexpr unsigned instruction_length = 4;
#endif
  bool has_page() const { return kind_ == fault_kind::memory || kind_ == fault_kind::bus; }

  void set_page(bool there) const {
    const int changed = kind_ == fault_kind::memory
                            ? ::mprotect(at_, page_size, there ? PROT_READ | PROT_WRITE : PROT_NONE)
                            : ::ftruncate(file_, there ? page_size : 0);
    EXPECT_EQ(changed, 0);
  }

  const fault_kind kind_;
  const int file_;
  int* at_ = nullptr;
};

}  // namespace support
