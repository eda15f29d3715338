# Cross build for AArch64.
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(SENNIT_TRIPLE aarch64-linux-gnu)
set(SENNIT_EMULATOR qemu-aarch64)
include("${CMAKE_CURRENT_LIST_DIR}/cross.cmake")
