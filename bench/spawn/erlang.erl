%% Erlang: spawn a process that does nothing and wait for its end; see spawn.hpp. It is told by a message from the
%% process, or by the monitor.
-module(bench_spawn).
-export([main/0]).

main() ->
    erlbench:run("spawn and a message, or spawn_monitor", [], fun(Program) ->
        erlbench:measure("message", [], "spawn", 1, fun by_message/1, Program),
        erlbench:measure("monitor", [], "spawn", 1, fun by_monitor/1, Program)
    end).

by_message(0) ->
    ok;
by_message(Left) ->
    Self = self(),
    Child = spawn(fun() -> Self ! self() end),
    receive Child -> by_message(Left - 1) end.

by_monitor(0) ->
    ok;
by_monitor(Left) ->
    {_, Monitor} = spawn_monitor(fun() -> ok end),
    receive {'DOWN', Monitor, process, _, normal} -> by_monitor(Left - 1) end.
