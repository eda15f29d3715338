# GTest::gtest_main: Debian's library, or its sources where the library cannot serve: another instruction
# set, or a sanitizer (whose runtime must see inside everything it runs).
# Each folder that has tests includes it; the sources are added once.
if(TARGET GTest::gtest_main)
elseif(CMAKE_CROSSCOMPILING OR SENNIT_SANITIZE)
  set(SENNIT_GOOGLETEST_SOURCE /usr/src/googletest CACHE PATH "GoogleTest's sources (package googletest)")
  if(NOT EXISTS "${SENNIT_GOOGLETEST_SOURCE}/CMakeLists.txt")
    message(FATAL_ERROR "GoogleTest's sources are not in ${SENNIT_GOOGLETEST_SOURCE}: "
      "run scripts/install_packages test")
  endif()
  set(BUILD_GMOCK OFF)
  set(INSTALL_GTEST OFF)
  set(CMAKE_POLICY_DEFAULT_CMP0077 NEW)
  add_subdirectory("${SENNIT_GOOGLETEST_SOURCE}" "${PROJECT_BINARY_DIR}/googletest" EXCLUDE_FROM_ALL SYSTEM)
  target_compile_options(gtest PRIVATE -g0 -O0)  # nobody debugs it, and it takes long to compile
else()
  find_package(GTest REQUIRED)
endif()
include(GoogleTest)
