# sennit_target_compile(TARGET [PREEMPT] [FIBER_TLS] [NO_CALLEE_SAVE]): has the plugin for clang 19 compile a target.
#
#   PREEMPT         fibers give way in loops, too, when their time slice is over
#   FIBER_TLS       no address of a thread-local variable, nor errno's, is kept across a switch
#   NO_CALLEE_SAVE  functions that switch need not save registers for their callers
#
# Without any of these, too, sennit/swapstack.h is the plugin's primitive there.
# With INTERPROCEDURAL_OPTIMIZATION lld loads the plugin, too. What is compiled with the plugin and without links
# together. The plugin is SENNIT_COMPILER_PLUGIN, which sennit-config.cmake sets, or this build's own.
function(sennit_target_compile)
  cmake_parse_arguments(PARSE_ARGV 0 arg "PREEMPT;FIBER_TLS;NO_CALLEE_SAVE" "" "")
  list(LENGTH arg_UNPARSED_ARGUMENTS count)
  if(NOT count EQUAL 1 OR NOT ARGV0 STREQUAL arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR
      "sennit_target_compile(${ARGV}) wants a target, and then PREEMPT, FIBER_TLS, NO_CALLEE_SAVE or none of them")
  endif()
  set(target "${ARGV0}")
  if(NOT TARGET "${target}")
    message(FATAL_ERROR "sennit_target_compile(${target}): there is no target of that name. Call it after "
      "add_executable or add_library.")
  endif()
  get_target_property(type "${target}" TYPE)
  get_target_property(imported "${target}" IMPORTED)
  get_target_property(alias "${target}" ALIASED_TARGET)
  if(type STREQUAL "INTERFACE_LIBRARY" OR type STREQUAL "UTILITY" OR imported OR alias)
    message(FATAL_ERROR "sennit_target_compile(${target}): nothing is compiled of an imported target, an alias, an "
      "INTERFACE library or a custom target. Name the targets whose sources the plugin is to compile.")
  endif()
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  foreach(language IN ITEMS C CXX)
    if(language IN_LIST languages AND NOT "${CMAKE_${language}_COMPILER_ID} ${CMAKE_${language}_COMPILER_VERSION}"
        MATCHES "^Clang 19\\.")
      message(FATAL_ERROR "sennit_target_compile(${target}): the plugin is for clang 19, and ${language} is compiled by "
        "${CMAKE_${language}_COMPILER_ID} ${CMAKE_${language}_COMPILER_VERSION}. "
        "Configure with -DCMAKE_C_COMPILER=clang-19 -DCMAKE_CXX_COMPILER=clang++-19.")
    endif()
  endforeach()
  if(TARGET sennit_compiler)
    set(plugin "$<TARGET_FILE:sennit_compiler>")
    add_dependencies(${target} sennit_compiler)
    # That is for linking: objects are compiled as soon as what is generated is there, the plugin or not.
    get_target_property(sources "${target}" SOURCES)
    get_target_property(folder sennit_compiler BINARY_DIR)
    set_property(SOURCE ${sources} TARGET_DIRECTORY "${target}" APPEND PROPERTY
      OBJECT_DEPENDS "${folder}/sennit_compiler.so")
  elseif(EXISTS "${SENNIT_COMPILER_PLUGIN}")
    set(plugin "${SENNIT_COMPILER_PLUGIN}")
  else()
    message(FATAL_ERROR "sennit_target_compile(${target}): this Sennit has no plugin. "
      "Configure Sennit itself with -DSENNIT_COMPILER=ON (it wants llvm-19-dev), and install it again.")
  endif()

  set(flags "-fplugin=${plugin}" "-fpass-plugin=${plugin}" -DSENNIT_COMPILER_SWAPSTACK=1)  # as sennit.cfg
  foreach(each IN ITEMS PREEMPT=polls FIBER_TLS=fiber-tls NO_CALLEE_SAVE=no-callee-save)
    string(REGEX MATCH "(.*)=(.*)" each "${each}")
    if(arg_${CMAKE_MATCH_1})
      list(APPEND flags "SHELL:-mllvm -sennit-${CMAKE_MATCH_2}")
    endif()
  endforeach()
  if(arg_PREEMPT AND TARGET sennit::sennit)
    # The flag that checks test is at no constant offset then.
    get_target_property(kind sennit::sennit TYPE)
    if(kind STREQUAL "SHARED_LIBRARY")
      list(APPEND flags "SHELL:-mllvm -sennit-polls-tls=initial-exec")
    endif()
  endif()
  foreach(flag IN LISTS flags)
    # Not for assembly: that takes no options of plugins.
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:C,CXX>:${flag}>")
  endforeach()
  set(optimized_at_link "$<BOOL:$<TARGET_PROPERTY:INTERPROCEDURAL_OPTIMIZATION>>")
  target_link_options(${target} PRIVATE "$<${optimized_at_link}:-fuse-ld=lld>"
    "$<${optimized_at_link}:LINKER:--load-pass-plugin=${plugin}>")
endfunction()
