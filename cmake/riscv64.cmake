# Cross build for RISC-V 64.
set(CMAKE_SYSTEM_PROCESSOR riscv64)
set(SENNIT_TRIPLE riscv64-linux-gnu)
set(SENNIT_EMULATOR qemu-riscv64)
include("${CMAKE_CURRENT_LIST_DIR}/cross.cmake")
