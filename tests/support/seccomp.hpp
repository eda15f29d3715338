// System calls that are refused, as strict filters do. For children: a filter stays for good.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <span>

#include "support/child.hpp"

namespace support {

// Of the calling thread, and of those that it will make.
inline bool install_filter(std::span<sock_filter> program) {
  const sock_fprog all{static_cast<unsigned short>(program.size()), program.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all) == 0;
}

// The call fails from now on. False: no seccomp here.
inline bool refuse_call(unsigned number, unsigned error) {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  return install_filter(program);
}

// Whether a filter may be had here.
inline bool has_seccomp() {
  return in_child([] {
           if (!refuse_call(SYS_membarrier, EPERM))
             ::_exit(1);
         })
      .exited(0);
}

}  // namespace support
