# sennit_batch(TARGET): compiles a target's sources in C++ five at a time: what all of them parse and instantiate is most
# of what they take. So no two sources of a room, or of a folder, may have the same name for things of their own.
function(sennit_batch target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 5)
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.c$")
  set_property(SOURCE ${sources} PROPERTY SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# sennit_unity(TARGET): compiles the library's sources in TARGET a room at a time, which takes less than half as long, but
# a change in one of them compiles its room. Those that would not go with others go alone. (What src/*/room.cmake says
# of sources is known to the library's own target only, so what counts is said again.)
function(sennit_unity target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  set_property(SOURCE "${PROJECT_SOURCE_DIR}/src/fault/survive.cpp" PROPERTY SKIP_PRECOMPILE_HEADERS ON)
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "/src/.*\\.cpp$")
  list(FILTER sources EXCLUDE REGEX "/(no_yield_calls|survive|watchdog)\\.cpp$")
  foreach(source IN LISTS sources)
    string(REGEX REPLACE ".*/src/([^/]*)/.*" "\\1" room "${source}")
    set_property(SOURCE "${source}" PROPERTY UNITY_GROUP "${room}")
  endforeach()
endfunction()
