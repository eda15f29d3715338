# Cross build for MIPS 64 LE, which has no switch of its own.
set(CMAKE_SYSTEM_PROCESSOR mips64el)
set(SENNIT_TRIPLE mips64el-linux-gnuabi64)
set(SENNIT_EMULATOR qemu-mips64el)
include("${CMAKE_CURRENT_LIST_DIR}/cross.cmake")
