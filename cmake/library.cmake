# The library: every source in src/<room>/, less those of other instruction sets.
find_package(Threads REQUIRED)

# SENNIT_ISA: the instruction set compiled for, spelt as in file and folder names.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  set(SENNIT_ISA x86_64)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  set(SENNIT_ISA aarch64)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^arm")
  set(SENNIT_ISA arm)
else()
  set(SENNIT_ISA "${CMAKE_SYSTEM_PROCESSOR}")
endif()

file(GLOB sennit_sources CONFIGURE_DEPENDS
  "${PROJECT_SOURCE_DIR}/src/*/*.cpp" "${PROJECT_SOURCE_DIR}/src/*/*.c" "${PROJECT_SOURCE_DIR}/src/*/*.S"
  "${PROJECT_SOURCE_DIR}/src/arch/*/*.cpp" "${PROJECT_SOURCE_DIR}/src/arch/*/*.c"
  "${PROJECT_SOURCE_DIR}/src/arch/*/*.S")
# name_<isa>.ext and src/arch/<isa>/ belong to that instruction set alone.
set(sennit_isas x86_64 aarch64 riscv64 ppc64le arm s390x)
foreach(isa IN LISTS sennit_isas)
  if(NOT isa STREQUAL SENNIT_ISA)
    list(FILTER sennit_sources EXCLUDE REGEX "/src/(arch/${isa}/|.*_${isa}\\.[^/]*$)")
  endif()
endforeach()
include("${CMAKE_CURRENT_LIST_DIR}/probes.cmake")
if(NOT SENNIT_MAKECONTEXT)
  list(FILTER sennit_sources EXCLUDE REGEX "/ucontext_backend\\.")
endif()
# SENNIT_BACKEND_DEFINITION: names the backend to all that use the library; empty: what context.h chooses.
set(SENNIT_BACKEND_DEFINITION "")
if(SENNIT_BACKEND)
  string(TOUPPER "SENNIT_BACKEND_${SENNIT_BACKEND}" SENNIT_BACKEND_DEFINITION)
elseif(NOT SENNIT_MAKECONTEXT AND NOT SENNIT_ISA IN_LIST sennit_isas)
  set(SENNIT_BACKEND_DEFINITION SENNIT_BACKEND_SIGNALSTACK)
endif()
if(SENNIT_ROOMS)
  list(JOIN SENNIT_ROOMS "|" rooms)
  list(FILTER sennit_sources INCLUDE REGEX "/src/(${rooms})/")
endif()

if(sennit_sources)
  set(sennit_scope PUBLIC)
  add_library(sennit ${sennit_sources})
  target_include_directories(sennit PRIVATE "${PROJECT_SOURCE_DIR}/src")
  # g++ defines _GNU_SOURCE by itself; strict C11 does not.
  target_compile_definitions(sennit PRIVATE "$<$<COMPILE_LANGUAGE:C>:_GNU_SOURCE>")
  if(NOT SENNIT_VALGRIND)
    target_compile_definitions(sennit PRIVATE SENNIT_NO_VALGRIND)
  endif()
  # The interface changes with every minor version until 1.0.
  set_target_properties(sennit PROPERTIES POSITION_INDEPENDENT_CODE ON
    VERSION "${PROJECT_VERSION}" SOVERSION "${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}")
  if(BUILD_SHARED_LIBS)
    set(sennit_map "${PROJECT_SOURCE_DIR}/cmake/sennit.map")
    target_link_options(sennit PRIVATE "LINKER:--version-script=${sennit_map}")
    set_target_properties(sennit PROPERTIES LINK_DEPENDS "${sennit_map}")
    target_compile_definitions(sennit PUBLIC SENNIT_SHARED)  # inline code must ask where it is (thread.h)
  endif()
  sennit_warnings(sennit)
else()
  set(sennit_scope INTERFACE)
  add_library(sennit INTERFACE)
endif()
add_library(sennit::sennit ALIAS sennit)

target_compile_features(sennit ${sennit_scope} cxx_std_20)
target_include_directories(sennit ${sennit_scope}
  "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>" "$<INSTALL_INTERFACE:include>")
target_link_libraries(sennit ${sennit_scope} Threads::Threads)
if(SENNIT_ISA STREQUAL riscv64)
  target_link_libraries(sennit ${sennit_scope} atomic)  # gcc 12 calls it for atomics of one byte
endif()
if(SENNIT_COUNTERS)
  # Users get it, too, because inline code counts in the library's counters.
  target_compile_definitions(sennit ${sennit_scope} SENNIT_COUNTERS)
endif()
if(SENNIT_SHADOW_STACK)
  # Programs have shadow stacks only if all of their code is marked as able to.
  target_compile_definitions(sennit ${sennit_scope} SENNIT_SHADOW_STACK)
  target_compile_options(sennit ${sennit_scope} -fcf-protection=full)
endif()
# Large frames touch each of their pages, so that none steps over the guard of a stack.
set(SENNIT_STACK_CLASH_FLAGS "")
if(SENNIT_STACK_CLASH_PROTECTION)
  include(CheckCXXCompilerFlag)
  check_cxx_compiler_flag(-fstack-clash-protection SENNIT_HAS_STACK_CLASH_PROTECTION)
  if(SENNIT_HAS_STACK_CLASH_PROTECTION)
    list(APPEND SENNIT_STACK_CLASH_FLAGS -fstack-clash-protection)
    target_compile_options(sennit ${sennit_scope} "$<$<COMPILE_LANGUAGE:C,CXX>:-fstack-clash-protection>")
    if(SENNIT_ISA STREQUAL aarch64)
      # gcc probes every 64 KiB there unless told otherwise, and a guard may be as small as a page. (clang: every 4 KiB;
      # it would warn of the option.) Users may have another compiler than the library's; pkg-config cannot tell.
      set(probe_distance --param=stack-clash-protection-guard-size=12)
      target_compile_options(sennit ${sennit_scope} "$<$<COMPILE_LANG_AND_ID:C,GNU>:${probe_distance}>"
        "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:${probe_distance}>")
      if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
        list(APPEND SENNIT_STACK_CLASH_FLAGS ${probe_distance})
      endif()
    endif()
  endif()
endif()
if(SENNIT_BACKEND_DEFINITION)
  target_compile_definitions(sennit ${sennit_scope} ${SENNIT_BACKEND_DEFINITION})
endif()
if(NOT BUILD_SHARED_LIBS)
  # Programs in C of projects that have no C++ are linked as C.
  target_link_libraries(sennit INTERFACE "$<$<LINK_LANGUAGE:C>:stdc++>")
endif()

# A room that needs its own flags or definitions says so in src/<room>/room.cmake.
file(GLOB sennit_room_files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/*/room.cmake")
foreach(room_file IN LISTS sennit_room_files)
  include("${room_file}")
endforeach()

if(sennit_sources AND NOT SENNIT_ROOMS)
  sennit_precompile(sennit ${sennit_library_headers})
  if(SENNIT_UNITY)
    sennit_unity(sennit)
  endif()
endif()
