// Targets that have no checks are refused, in a line.
// RUN: not %sennit_clang -mllvm -sennit-polls --target=i386-linux-gnu -O2 -S %s -o /dev/null 2>&1 | FileCheck %s
// RUN: not %sennit_clang -mllvm -sennit-polls --target=x86_64-linux-gnux32 -O2 -S %s -o /dev/null 2>&1 | FileCheck %s
// RUN: not %sennit_clang -mllvm -sennit-polls --target=aarch64-apple-darwin -O2 -S %s -o /dev/null 2>&1 | FileCheck %s
// RUN: not %sennit_clang -mllvm -sennit-polls --target=x86_64-w64-mingw32 -O2 -S %s -o /dev/null 2>&1 | FileCheck %s
// RUN: not %sennit_clang -mllvm -sennit-polls --target=wasm32 -O2 -S %s -o /dev/null 2>&1 | FileCheck %s
// RUN: not %sennit_clang -mllvm -sennit-polls --target=wasm32 -O2 -flto -c %s -o /dev/null 2>&1 | FileCheck %s
// RUN: not %sennit_clang -mllvm -sennit-polls -mcmodel=large -O2 -S %s -o /dev/null 2>&1 | FileCheck %s
// CHECK: error: -sennit-polls is for x86-64, without -mcmodel=large, and AArch64 on Linux only
// CHECK-NOT: bug report
// Options of checks, without checks, are warned of, each in a line.
// RUN: %sennit_clang -mllvm -sennit-polls-limit=5 -mllvm -sennit-polls-check=page -O0 -S %s -o /dev/null 2>&1 | FileCheck %s --check-prefix ALONE
// RUN: %sennit_clang -mllvm -sennit-polls-limit=5 -mllvm -sennit-polls-check=page -O2 -S %s -o /dev/null 2>&1 | FileCheck %s --check-prefix ALONE
// RUN: %sennit_clang -mllvm -sennit-polls -mllvm -sennit-polls-limit=5 -O2 -S %s -o /dev/null -Werror
// ALONE-DAG: warning: -sennit-polls-limit does nothing without -sennit-polls
// ALONE-DAG: warning: -sennit-polls-check does nothing without -sennit-polls
// The plugin, only opened, has options and no passes.
// RUN: not %stock_clang -fplugin=%plugin -mllvm -sennit-polls -mllvm -sennit-polls-limit=5 -O0 -c %s -o %t.o 2>&1 | FileCheck %s --check-prefix OPENED
// RUN: not %stock_clang -fplugin=%plugin -mllvm -sennit-fiber-tls -O2 -c %s -o %t.o 2>&1 | FileCheck %s --check-prefix TLS
// RUN: %stock_clang -fplugin=%plugin -O2 -c %s -o %t.o -Werror
// OPENED-DAG: error: -sennit-polls does nothing: -fpass-plugin=sennit_compiler.so is missing beside -fplugin
// OPENED-DAG: error: -sennit-polls-limit does nothing: -fpass-plugin=sennit_compiler.so is missing beside -fplugin
// OPENED-NOT: bug report
// TLS: error: -sennit-fiber-tls does nothing: -fpass-plugin=sennit_compiler.so is missing beside -fplugin
// Checks of both kinds.
// RUN: not %sennit_clang -mllvm -sennit-polls -mllvm -sennit-polls-ir=check -O2 -S %s -o /dev/null 2>&1 | FileCheck %s --check-prefix BOTH
// BOTH: error: -sennit-polls and -sennit-polls-ir: choose one of them
// A report that cannot be written.
// RUN: not %sennit_clang -mllvm -sennit-polls -mllvm -sennit-polls-report=/nowhere/report -O2 -S %s -o /dev/null 2>&1 | FileCheck %s --check-prefix NOWHERE
// NOWHERE: error: cannot write /nowhere/report: No such file or directory
// NOWHERE-NOT: backend
void nothing(void) {}
