# Cross build for PowerPC 64 LE.
set(CMAKE_SYSTEM_PROCESSOR ppc64le)
set(SENNIT_TRIPLE powerpc64le-linux-gnu)
set(SENNIT_EMULATOR qemu-ppc64le)
include("${CMAKE_CURRENT_LIST_DIR}/cross.cmake")
