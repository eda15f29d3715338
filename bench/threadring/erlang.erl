%% Erlang: a token round a ring of processes; see threadring.hpp. The ring at random is the same processes linked anew;
%% where they lie in memory is the emulator's choice in both.
-module(bench_threadring).
-export([main/0]).

main() ->
    erlbench:run("messages", [{n, [503, 10_000, 100_000], [503, 10_000]}], fun(Program) ->
        [measure(N, Program) || N <- erlbench:values(n, Program)]
    end).

measure(N, Program) ->
    Main = self(),
    Nodes = list_to_tuple([spawn_link(fun() -> unlinked(Main) end) || _ <- lists:seq(1, N)]),
    [measure(N, Order, Nodes, Program) || Order <- ["memory", "random"]],
    [Node ! stop || Node <- tuple_to_list(Nodes)].

measure(N, Order, Nodes, Program) ->
    Ring = [element(I + 1, Nodes) || I <- erlbench:order(Order, N)],
    [Node ! {next, Next} || {Node, Next} <- lists:zip(Ring, tl(Ring) ++ [hd(Ring)])],
    erlbench:measure_rate("process", [{n, N}, {order, Order}], "hop", N, fun(Count) ->
        hd(Ring) ! Count * N,
        receive done -> ok end
    end, Program).

unlinked(Main) ->
    receive
        {next, Next} -> node(Next, Main);
        stop -> ok
    end.

node(Next, Main) ->
    receive
        0 -> Main ! done, node(Next, Main);
        Token when is_integer(Token) -> Next ! Token - 1, node(Next, Main);
        {next, Other} -> node(Other, Main);
        stop -> ok
    end.
