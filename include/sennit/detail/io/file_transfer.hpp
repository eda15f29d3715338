// A read or a write at an offset of a file, as a job for the pool of threads.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sennit/detail/io/offload_wait.hpp"
#include "sennit/io_result.hpp"

namespace sennit::inline v0_1::detail {

class file_transfer : public offload_job {
protected:
  file_transfer(int descriptor, std::uint64_t offset, void* at, std::size_t size, bool reads) noexcept
      : descriptor_(descriptor), reads_(reads), offset_(offset), at_(static_cast<char*>(at)), size_(size) {}
  // `error`: the result of offload_wait.
  io_result result(int error) const noexcept;

private:
  void call() noexcept final;

  int descriptor_;
  bool reads_;
  int error_ = 0;
  std::uint64_t offset_;
  char* at_;
  std::size_t size_;
  std::size_t moved_ = 0;
};

}  // namespace sennit::inline v0_1::detail
