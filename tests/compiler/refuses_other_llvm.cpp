// A program with another LLVM opens the plugin: refused with the cause and the remedy, not a crash.
// RUN: %stock_clangxx -shared -fPIC -x c++ /dev/null -o %t.libLLVM-18.so
// RUN: mkdir -p %t.dir && mv %t.libLLVM-18.so %t.dir/libLLVM-18.so
// RUN: %stock_clangxx %s -o %t
// RUN: not %t %t.dir/libLLVM-18.so %plugin 2>&1 | FileCheck %s
// RUN: not %t %plugin 2>&1 | FileCheck %s --check-prefix CALLER
// CHECK: sennit: this plugin is for LLVM 19.1, and was loaded by a program with another one ({{.*}}libLLVM-18.so).
// CHECK: sennit: compile with clang-19 and link with lld-19, or build the plugin for that LLVM.
// CALLER: sennit: this plugin is for LLVM 19.1, and was loaded by a program with another one ({{.*}}.tmp).
#include <dlfcn.h>

#include <cstdio>

int main(int, char** names) {
  void* opened = nullptr;
  while (const char* name = *++names)
    if ((opened = dlopen(name, RTLD_LAZY | RTLD_GLOBAL)) == nullptr)
      std::puts(dlerror());
  // As LLVM's loader does that is linked into its program.
  if (void* entry = opened ? dlsym(opened, "llvmGetPassPluginInfo") : nullptr) {
    alignas(16) char result[64];
    reinterpret_cast<void (*)(void*)>(entry)(result);
  }
  std::puts("not refused");
}
