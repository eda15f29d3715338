# `cmake --install` gives a CMake package (find_package(sennit)) and a pkg-config file (sennit).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(sennit_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/sennit")

install(TARGETS sennit EXPORT sennit-targets)
if(EXISTS "${PROJECT_SOURCE_DIR}/include")
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
endif()
install(FILES "${PROJECT_SOURCE_DIR}/tools/gdb/sennit.py" DESTINATION "${CMAKE_INSTALL_DATADIR}/sennit/gdb")
install(EXPORT sennit-targets NAMESPACE sennit:: DESTINATION "${sennit_package_dir}")

write_basic_package_version_file("${PROJECT_BINARY_DIR}/sennit-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_SOURCE_DIR}/cmake/sennit-config.cmake"
  "${PROJECT_BINARY_DIR}/sennit-config-version.cmake" DESTINATION "${sennit_package_dir}")

get_target_property(sennit_type sennit TYPE)
set(SENNIT_PC_CFLAGS "-pthread")
foreach(option IN ITEMS SENNIT_SPIN_WAIT_QUEUE SENNIT_COUNTERS)
  if(${option})
    string(APPEND SENNIT_PC_CFLAGS " -D${option}")
  endif()
endforeach()
set(SENNIT_PC_LIBS "-pthread")
if(NOT sennit_type STREQUAL "INTERFACE_LIBRARY")
  set(SENNIT_PC_LIBS "-L\${libdir} -lsennit -pthread")
  if(sennit_type STREQUAL "STATIC_LIBRARY")
    string(APPEND SENNIT_PC_LIBS " -lstdc++")  # for programs in C
  endif()
endif()
if(SENNIT_ISA STREQUAL riscv64)
  string(APPEND SENNIT_PC_LIBS " -latomic")
endif()
file(RELATIVE_PATH SENNIT_PC_TO_PREFIX "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
configure_file("${PROJECT_SOURCE_DIR}/cmake/sennit.pc.in" "${PROJECT_BINARY_DIR}/sennit.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/sennit.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
