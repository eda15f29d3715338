/* Which Sennit this is. C11 and C++20, and what only preprocesses.
 * room: arch
 *
 *   #if SENNIT_VERSION < 200  // before 0.2.0
 *
 * These three numbers are the version: CMake, pkg-config and the shared library's name have it from here.
 */
#ifndef SENNIT_VERSION_H
#define SENNIT_VERSION_H

#define SENNIT_VERSION_MAJOR 0
#define SENNIT_VERSION_MINOR 1
#define SENNIT_VERSION_PATCH 0

#define SENNIT_VERSION (SENNIT_VERSION_MAJOR * 10000 + SENNIT_VERSION_MINOR * 100 + SENNIT_VERSION_PATCH)

/* As "0.1.0". */
#define SENNIT_VERSION_STRING \
  SENNIT_VERSION_TEXT(SENNIT_VERSION_MAJOR, SENNIT_VERSION_MINOR, SENNIT_VERSION_PATCH)
#define SENNIT_VERSION_TEXT(major, minor, patch) SENNIT_VERSION_JOIN(major, minor, patch)
#define SENNIT_VERSION_JOIN(major, minor, patch) #major "." #minor "." #patch

#endif
