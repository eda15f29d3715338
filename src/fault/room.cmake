# What it undefines has been used in a precompiled header.
set_source_files_properties("${PROJECT_SOURCE_DIR}/src/fault/survive.cpp" PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
