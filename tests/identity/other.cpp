#include "other.hpp"

#include "sennit/become.hpp"

sennit::fiber begin_in_shared_object(const time_to_end& deadline, std::atomic<int>& turns) {
  return sennit::spawn(sennit::become(sennit::this_fiber::sleeping_until(deadline), first_kind(), &turns));
}

const void* code_in_shared_object() noexcept {
  return &sennit::detail::blocked<sennit::detail::put_off_wait, first_kind, std::atomic<int>*>::code;
}
