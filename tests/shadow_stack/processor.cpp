// Runs a program as a processor with a shadow stack would, which is not to be had everywhere: step by step,
// by ptrace, between two int3 of its own. Usage: processor PROGRAM [ARGUMENT...]
//
// Calls push to the shadow stack, returns compare with it; the four instructions that switch it, and the
// system call that makes one, are done here, on memory of ours, for the program never looks into a shadow
// stack. A real processor's fault ends the program with a message and status 9; otherwise this program ends
// as the traced one does. One thread only. Status 77: tracing is not permitted here.
//
// Source: Intel's manual, volume 2, CALL, RET, RDSSP, INCSSP, RSTORSSP, SAVEPREVSSP.
#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

namespace {

using word = std::uint64_t;
using registers = user_regs_struct;

[[noreturn]] void end(int status) {
  std::fflush(stdout);
  std::_Exit(status);
}

class processor {
public:
  explicit processor(pid_t child)
      : child_(child), memory_(::open(("/proc/" + std::to_string(child) + "/mem").c_str(), O_RDONLY)) {
    if (memory_ < 0)
      end(77);
  }
  processor(const processor&) = delete;
  processor& operator=(const processor&) = delete;
  ~processor() { ::close(memory_); }

  // From one int3 to the next. What stopped the program then, as waitpid tells.
  int run_to_breakpoint() {
    for (;;) {
      get();
      while (step_here()) {
      }
      const before seen = look();
      const int status = step();
      if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP || seen.is_breakpoint)
        return status;
      if (seen.is_call) {
        get();
        push(peek(registers_.rsp));
      }
    }
  }

private:
  static constexpr word ours = word{1} << 46;  // no address of a program

  struct before {
    bool is_call = false;
    bool is_breakpoint = false;
  };

  void get() { ::ptrace(PTRACE_GETREGS, child_, nullptr, &registers_); }
  template <class Word>
  void read(word address, Word& to) const {
    to = {};
    static_cast<void>(
        !::pread(memory_, &to, sizeof to, static_cast<off_t>(address)));  // less where a page ends
  }
  word peek(word address) const {
    word value;
    read(address, value);
    return value;
  }
  int step() const {
    int status = 0;
    ::ptrace(PTRACE_SINGLESTEP, child_, nullptr, nullptr);
    ::waitpid(child_, &status, 0);
    return status;
  }
  void push(word value) { shadow_[pointer_ -= 8] = value; }

  [[noreturn]] void fault(const char* what) const {
    std::printf("control protection: %s at %#llx\n", what, static_cast<unsigned long long>(registers_.rip));
    ::kill(child_, SIGKILL);
    end(9);
  }

  unsigned long long& of_number(unsigned number) {
    const std::array<unsigned long long*, 16> all = {
        &registers_.rax, &registers_.rcx, &registers_.rdx, &registers_.rbx, &registers_.rsp, &registers_.rbp,
        &registers_.rsi, &registers_.rdi, &registers_.r8,  &registers_.r9,  &registers_.r10, &registers_.r11,
        &registers_.r12, &registers_.r13, &registers_.r14, &registers_.r15};
    return *all[number];
  }

  // Past the prefixes: where the opcode is, and the REX prefix.
  void decode() {
    read(registers_.rip, code_);
    at_ = 0;
    repeats_ = false;
    while (std::strchr("\xf3\xf2\x3e\x66\x64\x65", code_[at_]) != nullptr && code_[at_] != 0) {
      repeats_ = repeats_ || code_[at_] == 0xf3;
      ++at_;
    }
    rex_ = (code_[at_] & 0xf0) == 0x40 ? code_[at_++] : 0;
  }

  before look() {
    const unsigned char opcode = code_[at_];
    const unsigned extension = code_[at_ + 1] >> 3 & 7;
    if (opcode == 0xc3 || opcode == 0xc2) {
      if (shadow_[pointer_] != peek(registers_.rsp))
        fault("a return to elsewhere");
      shadow_.erase(pointer_);
      pointer_ += 8;
    }
    return {.is_call = opcode == 0xe8 || (opcode == 0xff && extension == 2), .is_breakpoint = opcode == 0xcc};
  }

  // The instructions and system calls that are done here. False: it is another.
  bool step_here() {
    decode();
    const bool two = code_[at_] == 0x0f;
    const unsigned char second = code_[at_ + 1];
    const unsigned char operand = code_[at_ + 2];
    const unsigned number = (operand & 7U) | ((rex_ & 1U) << 3);
    const unsigned extension = operand >> 3 & 7;
    const bool in_register = operand >> 6 == 3;
    if (two && repeats_ && second == 0x1e && in_register && extension == 1)
      of_number(number) = pointer_;  // rdsspq
    else if (two && repeats_ && second == 0xae && in_register && extension == 5)
      pointer_ += 8 * (of_number(number) & 255);  // incsspq
    else if (two && repeats_ && second == 0x01 && operand == 0xea)
      save_previous();
    else if (two && repeats_ && second == 0x01 && !in_register && extension == 5)
      restore(memory_operand(operand));
    else if (two && second == 0x05)
      return system_call();
    else
      return false;
    return skip(at_ + 3);
  }

  bool skip(std::size_t size) {
    registers_.rip += size;
    ::ptrace(PTRACE_SETREGS, child_, nullptr, &registers_);
    return true;
  }

  // The address in a register, and a displacement of a byte; our code has no other. `at_` gets behind the
  // rest.
  word memory_operand(unsigned char operand) {
    const unsigned number = (operand & 7U) | ((rex_ & 1U) << 3);
    word address = of_number(number);
    if ((operand & 7) == 4)
      ++at_;
    if (operand >> 6 == 1)
      address += static_cast<word>(static_cast<signed char>(code_[++at_ + 2]));
    return address;
  }

  // rstorssp
  void restore(word at) {
    const auto token = shadow_.find(at);
    if (at % 8 != 0 || token == shadow_.end() || token->second != ((at + 8) | 1))
      fault("no token");
    token->second = pointer_ | 3;
    pointer_ = at;
  }
  void save_previous() {
    const word note = shadow_[pointer_];
    if ((note & 3) != 3)
      fault("no note of the stack that was left");
    shadow_.erase(pointer_);
    pointer_ += 8;
    const word left = note & ~word{3};
    shadow_[left - 8] = left | 1;
  }

  // map_shadow_stack, and munmap of what that gave.
  bool system_call() {
    if (registers_.rax == 453) {
      const word size = registers_.rsi;
      registers_.rax = next_;
      next_ += size;
      shadow_[next_ - 8] = next_ | 1;
      next_ += 4096;
      return skip(at_ + 2);
    }
    if (registers_.rax == 11 && registers_.rdi >= ours) {
      if (pointer_ >= registers_.rdi && pointer_ < registers_.rdi + registers_.rsi)
        fault("the shadow stack in use is unmapped");
      shadow_.erase(shadow_.lower_bound(registers_.rdi),
                    shadow_.lower_bound(registers_.rdi + registers_.rsi));
      registers_.rax = 0;
      return skip(at_ + 2);
    }
    return false;
  }

  const pid_t child_;
  const int memory_;
  registers registers_{};
  std::array<unsigned char, 12> code_{};
  std::size_t at_ = 0;
  unsigned rex_ = 0;
  bool repeats_ = false;
  std::map<word, word> shadow_;
  word pointer_ = ours;  // of the thread's own
  word next_ = 2 * ours;
};

}  // namespace

int main(int, char** argv) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0)
      ::_exit(77);
    // Fewer steps: no repeated store, which is one for each byte, and no functions looked up.
    ::setenv("GLIBC_TUNABLES",
             "glibc.cpu.x86_rep_stosb_threshold=1000000000:glibc.cpu.x86_rep_movsb_threshold=1000000000", 1);
    ::setenv("LD_BIND_NOW", "1", 1);
    ::execv(argv[1], argv + 1);
    ::_exit(126);
  }
  int status = 0;
  ::waitpid(child, &status, 0);  // execv
  const auto go_on = [&](int signal) {
    ::ptrace(PTRACE_CONT, child, nullptr, signal);
    ::waitpid(child, &status, 0);
  };
  if (WIFSTOPPED(status))
    go_on(0);
  if (WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP)
    status = processor(child).run_to_breakpoint();
  while (WIFSTOPPED(status))
    go_on(WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status));
  if (WIFSIGNALED(status)) {
    std::printf("ended by signal %d\n", WTERMSIG(status));
    end(1);
  }
  end(WEXITSTATUS(status));
}
