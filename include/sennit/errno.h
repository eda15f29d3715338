/* errno for fibers that move between threads. C11 and C++20.
 * room: arch
 *
 *   #include <errno.h>
 *   #include <sennit/errno.h>  // last: from here on `errno` is looked up anew at each use
 *
 * errno is a variable of the thread, and compilers keep its address in a register: they are told that it
 * never changes within a function. A fiber of a parallel runtime that blocks may go on on another thread, and
 * would then read and write the errno of the former one. What blocks keeps errno's value, so with this header
 * errno is the fiber's. It is not needed where nothing blocks between a call that sets errno and the look at
 * it.
 */
#ifndef SENNIT_ERRNO_H
#define SENNIT_ERRNO_H

#include <errno.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The calling thread's errno. No compiler keeps the address across a call that may block. */
int* sennit_errno_location(void);

#ifdef __cplusplus
}
#endif

#undef errno
#define errno (*sennit_errno_location())

#endif
