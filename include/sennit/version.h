/* The version of Sennit. C11 and C++20, and for code that is only preprocessed.
 * room: arch
 *
 *   #if SENNIT_VERSION < 200  // before 0.2.0
 *
 * CMake, pkg-config and the shared library's name read the version from these three numbers.
 */
#ifndef SENNIT_VERSION_H
#define SENNIT_VERSION_H

/** The first number of the version. */
#define SENNIT_VERSION_MAJOR 0
/** The second number of the version. */
#define SENNIT_VERSION_MINOR 1
/** The third number of the version. */
#define SENNIT_VERSION_PATCH 0

/** The version as one number: 10000 * major + 100 * minor + patch. */
#define SENNIT_VERSION (SENNIT_VERSION_MAJOR * 10000 + SENNIT_VERSION_MINOR * 100 + SENNIT_VERSION_PATCH)

/** The version as a string: "0.1.0". */
#define SENNIT_VERSION_STRING \
  SENNIT_VERSION_TEXT(SENNIT_VERSION_MAJOR, SENNIT_VERSION_MINOR, SENNIT_VERSION_PATCH)
/** Private: helps SENNIT_VERSION_STRING. */
#define SENNIT_VERSION_TEXT(major, minor, patch) SENNIT_VERSION_JOIN(major, minor, patch)
/** Private: helps SENNIT_VERSION_STRING. */
#define SENNIT_VERSION_JOIN(major, minor, patch) #major "." #minor "." #patch

#endif
