/* The version of Sennit. C11 and C++20, and for code that is only preprocessed.
 * room: arch
 *
 *   #if SENNIT_VERSION < 200  // before 0.2.0
 *
 * CMake, pkg-config and the shared library's name read the version from these three numbers.
 */
#ifndef SENNIT_VERSION_H
#define SENNIT_VERSION_H

#define SENNIT_VERSION_MAJOR 0
#define SENNIT_VERSION_MINOR 1
#define SENNIT_VERSION_PATCH 0

#define SENNIT_VERSION (SENNIT_VERSION_MAJOR * 10000 + SENNIT_VERSION_MINOR * 100 + SENNIT_VERSION_PATCH)

/** The version as a string: "0.1.0". */
#define SENNIT_VERSION_STRING \
  SENNIT_VERSION_TEXT(SENNIT_VERSION_MAJOR, SENNIT_VERSION_MINOR, SENNIT_VERSION_PATCH)
#define SENNIT_VERSION_TEXT(major, minor, patch) SENNIT_VERSION_JOIN(major, minor, patch)
#define SENNIT_VERSION_JOIN(major, minor, patch) #major "." #minor "." #patch

#endif
