// The report has names as they are written.
// RUN: rm -f %t && %sennit_clangxx -O2 -c %s -o %t.o -mllvm -sennit-polls -mllvm -sennit-polls-report=%t
// RUN: FileCheck %s < %t
namespace shop {

template <class T>
void sell(T, const char*);

// CHECK: {{^}}shop::close(int): 1 checks, {{.*}}; calls void shop::sell<int>(int, char const*){{$}}
void close(int what) {
  sell(what, "sold");
}

}  // namespace shop
