# Unwinding ends at the frames of this file: beyond lie a signal's frame, and a caller of long ago.
set_source_files_properties("${PROJECT_SOURCE_DIR}/src/arch/signalstack_backend.c" PROPERTIES
  COMPILE_OPTIONS "-fno-unwind-tables;-fno-asynchronous-unwind-tables")
