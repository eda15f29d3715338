%% Erlang: processes that do nothing but yield; see yield.hpp. Eight different functions take turns.
-module(bench_yield).
-export([main/0]).

main() ->
    erlbench:run("erlang:yield", [{fibers, [2, 100], [2, 100]}], fun(Program) ->
        [measure(Fibers, Program) || Fibers <- erlbench:values(fibers, Program)]
    end).

measure(Fibers, Program) ->
    erlbench:measure("yield", [{fibers, Fibers}], "yield", Fibers, fun(Count) ->
        Kinds = [I rem 8 || I <- lists:seq(1, Fibers)],
        Depths = erlbench:at_once([fun() -> at_depth(Kind, function(Kind), Count) end || Kind <- Kinds]),
        erlbench:require(Depths =:= Kinds, "a process did not run")
    end, Program).

%% The work of process I is done I rem 8 calls deep.
at_depth(0, Function, Count) ->
    Function(Count),
    0;
at_depth(Depth, Function, Count) ->
    1 + at_depth(Depth - 1, Function, Count).

function(0) -> fun yield0/1;
function(1) -> fun yield1/1;
function(2) -> fun yield2/1;
function(3) -> fun yield3/1;
function(4) -> fun yield4/1;
function(5) -> fun yield5/1;
function(6) -> fun yield6/1;
function(7) -> fun yield7/1.

yield0(0) -> ok;
yield0(Left) -> erlang:yield(), yield0(Left - 1).
yield1(0) -> ok;
yield1(Left) -> erlang:yield(), yield1(Left - 1).
yield2(0) -> ok;
yield2(Left) -> erlang:yield(), yield2(Left - 1).
yield3(0) -> ok;
yield3(Left) -> erlang:yield(), yield3(Left - 1).
yield4(0) -> ok;
yield4(Left) -> erlang:yield(), yield4(Left - 1).
yield5(0) -> ok;
yield5(Left) -> erlang:yield(), yield5(Left - 1).
yield6(0) -> ok;
yield6(Left) -> erlang:yield(), yield6(Left - 1).
yield7(0) -> ok;
yield7(Left) -> erlang:yield(), yield7(Left - 1).
