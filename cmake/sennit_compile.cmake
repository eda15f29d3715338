# sennit_target_compile(TARGET [PREEMPT] [FIBER_TLS] [NO_CALLEE_SAVE]): has the plugin for clang 19 compile a target.
#
#   PREEMPT         fibers give way in loops, too, when their time slice is over
#   FIBER_TLS       no address of a thread-local variable, nor errno's, is kept across a switch
#   NO_CALLEE_SAVE  functions that switch need not save registers for their callers
#
# Without any of these, too, sennit/swapstack.h is the plugin's primitive there.
# With INTERPROCEDURAL_OPTIMIZATION, to be set before, lld loads the plugin, too. What is compiled with the plugin and
# without links together. The plugin is SENNIT_COMPILER_PLUGIN, which sennit-config.cmake sets, or this build's own.
function(sennit_target_compile target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "PREEMPT;FIBER_TLS;NO_CALLEE_SAVE" "" "")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR
      "sennit_target_compile(${ARGV}) wants a target, and then PREEMPT, FIBER_TLS, NO_CALLEE_SAVE or none of them")
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
  get_target_property(optimized_at_link ${target} INTERPROCEDURAL_OPTIMIZATION)
  if(optimized_at_link)
    target_link_options(${target} PRIVATE -fuse-ld=lld "LINKER:--load-pass-plugin=${plugin}")
  endif()
endfunction()
