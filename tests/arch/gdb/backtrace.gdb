# Names each scenario and prints a backtrace in it. Read by gdb_backtrace_test.py.
set debuginfod enabled off
set width 0
set print frame-arguments none
break backtrace_here
commands
silent
printf "SCENARIO %s %d\n", backtrace_scenario, backtrace_goes_on
bt
continue
end
run
