# sennit_unity(TARGET): compiles the library's sources in TARGET a room at a time: a third of the time to compile all, and
# a change in one of them compiles its room. Those that would not go with others go alone.
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
