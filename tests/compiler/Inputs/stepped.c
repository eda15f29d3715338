// Executes a program instruction by instruction, and prints how many lie between one check and the next, at
// most. usage: stepped FILE PROGRAM     FILE begins with "at most N instructions": more than that is a
// failure
//
// Only instructions of the program itself count, which is linked at a fixed address: from its first check to
// the last between two calls of raise(SIGUSR1). A check is `cmpb $0, %fs:...`.
#define _GNU_SOURCE
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static long bound_in(const char* name) {
  char line[256] = "";
  FILE* file = fopen(name, "r");
  if (file == NULL || fgets(line, sizeof line, file) == NULL || strncmp(line, "at most ", 8) != 0)
    exit(2);
  fclose(file);
  long bound = 0;
  for (const char* at = line + 8; *at != ' '; ++at)
    if (*at != ',')
      bound = bound * 10 + (*at - '0');
  return bound;
}

int main(int argc, char** argv) {
  if (argc != 3)
    return 2;
  const long bound = bound_in(argv[1]);
  const pid_t child = fork();
  if (child == 0) {
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    execl(argv[2], argv[2], (char*)NULL);
    _exit(127);
  }
  int status = 0;
  long longest = 0, now = -1, checks = 0;
  bool steps = false;
  while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
    if (WSTOPSIG(status) == SIGUSR1)
      steps = !steps;
    if (!steps) {
      ptrace(PTRACE_CONT, child, NULL, NULL);
      continue;
    }
    struct user_regs_struct registers;
    ptrace(PTRACE_GETREGS, child, NULL, &registers);
    if (registers.rip < 1UL << 32) {
      const unsigned long code = (unsigned long)ptrace(PTRACE_PEEKTEXT, child, registers.rip, NULL);
      if (now >= 0)
        ++now;
      if ((code & 0xffffffff) == 0x253c8064) {
        // The compare and its branch belong to the way that ends here.
        if (now + 1 > longest && now >= 0)
          longest = now + 1;
        now = -1;
        ++checks;
      } else if (now < 0 && checks != 0) {
        now = 0;  // the branch
      }
    }
    ptrace(PTRACE_SINGLESTEP, child, NULL, NULL);
  }
  printf("%ld checks, at most %ld instructions without, of %ld\n", checks, longest, bound);
  return !WIFEXITED(status) || WEXITSTATUS(status) != 0 || checks < 2 || longest > bound;
}
