// Writes the numbers of the parts that a program executes, 32 bits each, to the file named by SENNIT_PARTS.
//
// The program was compiled with -sennit-block-trace (compiler/block_trace.hpp). This file is compiled with
// -mgeneral-regs-only, since sennit_part_begins must preserve all registers.
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static unsigned parts[1 << 16];
static unsigned count;
static int file = -1;

static inline __attribute__((always_inline)) void write_all(void) {
  const char* from = (const char*)parts;
  unsigned long left = count * sizeof parts[0];
  while (left != 0) {
    long done = SYS_write;
    __asm__ volatile("syscall" : "+a"(done) : "D"(file), "S"(from), "d"(left) : "rcx", "r11", "memory");
    if (done <= 0)
      __builtin_trap();
    from += done;
    left -= (unsigned long)done;
  }
  count = 0;
}

__attribute__((no_caller_saved_registers)) void sennit_part_begins(unsigned part);
__attribute__((no_caller_saved_registers)) void sennit_part_begins(unsigned part) {
  parts[count++] = part;
  if (count == sizeof parts / sizeof parts[0])
    write_all();
}

__attribute__((constructor)) static void open_file(void) {
  const char* const name = getenv("SENNIT_PARTS");
  if (name == NULL || (file = open(name, O_WRONLY)) < 0)
    abort();
}

__attribute__((destructor)) static void write_rest(void) {
  write_all();
}
