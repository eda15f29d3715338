/* errno for fibers that move between threads. C11 and C++20.
 * room: arch
 *
 *   #include <errno.h>
 *   #include <sennit/errno.h>  // last: from here on `errno` is looked up anew at each use
 *
 * errno is a variable of the thread, and compilers keep its address in a register, because they assume that
 * the address never changes within a function. A fiber of a parallel runtime that blocks may resume on
 * another thread, and would then read and write the errno of the former one. Functions that block preserve
 * errno's value, so that with this header errno belongs to the fiber. It is not needed if nothing blocks
 * between a call that sets errno and the use of errno.
 */
#ifndef SENNIT_ERRNO_H
#define SENNIT_ERRNO_H

#include <errno.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Returns the address of the calling thread's errno. Compilers do not keep the result across a call that
 * may block.
 */
int* sennit_errno_location(void);

#ifdef __cplusplus
}
#endif

#undef errno
/** errno of the calling fiber, or thread. */
#define errno (*sennit_errno_location())

#endif
