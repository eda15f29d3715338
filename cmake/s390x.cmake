# Cross build for s390x.
set(CMAKE_SYSTEM_PROCESSOR s390x)
set(SENNIT_TRIPLE s390x-linux-gnu)
set(SENNIT_EMULATOR qemu-s390x)
include("${CMAKE_CURRENT_LIST_DIR}/cross.cmake")
