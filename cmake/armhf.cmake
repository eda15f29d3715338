# Cross build for ARM 32.
set(CMAKE_SYSTEM_PROCESSOR armv7l)
set(SENNIT_TRIPLE arm-linux-gnueabihf)
set(SENNIT_EMULATOR qemu-arm)
# Functions that cannot throw have no unwind tables otherwise, and neighbours with equal tables are one function:
# tests look at backtraces.
set(CMAKE_C_FLAGS_INIT -funwind-tables)
set(CMAKE_CXX_FLAGS_INIT -funwind-tables)
set(CMAKE_EXE_LINKER_FLAGS_INIT -Wl,--no-merge-exidx-entries)
include("${CMAKE_CURRENT_LIST_DIR}/cross.cmake")
