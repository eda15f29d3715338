// Targets that have no checks are refused, in a line.
// RUN: not %sennit_clang -mllvm -sennit-polls --target=i386-linux-gnu -O2 -S %s -o /dev/null 2>&1 | FileCheck %s
// RUN: not %sennit_clang -mllvm -sennit-polls --target=x86_64-linux-gnux32 -O2 -S %s -o /dev/null 2>&1 | FileCheck %s
// RUN: not %sennit_clang -mllvm -sennit-polls --target=aarch64-apple-darwin -O2 -S %s -o /dev/null 2>&1 | FileCheck %s
// RUN: not %sennit_clang -mllvm -sennit-polls --target=x86_64-w64-mingw32 -O2 -S %s -o /dev/null 2>&1 | FileCheck %s
// RUN: not %sennit_clang -mllvm -sennit-polls -mcmodel=large -O2 -S %s -o /dev/null 2>&1 | FileCheck %s
// CHECK: error: -sennit-polls is for x86-64, without -mcmodel=large, and AArch64 on Linux only
// CHECK-NOT: bug report
// Options of checks, without checks, are warned of, each in a line.
// RUN: %sennit_clang -mllvm -sennit-polls-limit=5 -mllvm -sennit-polls-check=page -O0 -S %s -o /dev/null 2>&1 | FileCheck %s --check-prefix ALONE
// RUN: %sennit_clang -mllvm -sennit-polls-limit=5 -mllvm -sennit-polls-check=page -O2 -S %s -o /dev/null 2>&1 | FileCheck %s --check-prefix ALONE
// RUN: %sennit_clang -mllvm -sennit-polls -mllvm -sennit-polls-limit=5 -O2 -S %s -o /dev/null -Werror
// ALONE-DAG: warning: -sennit-polls-limit does nothing without -sennit-polls
// ALONE-DAG: warning: -sennit-polls-check does nothing without -sennit-polls
void nothing(void) {}
