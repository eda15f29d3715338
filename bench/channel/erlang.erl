%% Erlang: messages from one process to another; see channel.hpp. A rendezvous is a message that is acknowledged.
-module(bench_channel).
-export([main/0]).

main() ->
    Parameters = [{capacity, [0, 64], [0, 64]}, {bytes, [8, 64], [8, 64]}],
    erlbench:run("messages; capacity 0: acknowledged by another", Parameters, fun(Program) ->
        [measure(Capacity, Bytes, Program)
         || Capacity <- erlbench:values(capacity, Program), Bytes <- erlbench:values(bytes, Program)]
    end).

measure(0, Bytes, Program) when Bytes =:= 8; Bytes =:= 64 ->
    erlbench:measure("acknowledged", [{capacity, 0}, {bytes, Bytes}], "message", 1, fun(Count) ->
        run(Bytes, Count)
    end, Program);
measure(0, Bytes, Program) ->
    erlbench:unsupported("", [{capacity, 0}, {bytes, Bytes}], "messages are of 8 or 64 bytes", Program);
measure(Capacity, Bytes, Program) ->
    erlbench:unsupported("", [{capacity, Capacity}, {bytes, Bytes}], "a mailbox has no bound", Program).

run(Bytes, Count) ->
    Receiver = spawn_link(fun() -> receive {start, From} -> From ! {taken, receive_all(Count, 0)} end end),
    Receiver ! {start, self()},
    [Given] = erlbench:at_once([fun() -> send_all(Receiver, Bytes, 0, Count, 0) end]),
    receive {taken, Taken} -> erlbench:require(Given =:= Taken, "the channel lost a message") end.

send_all(_, _, Count, Count, Sum) ->
    Sum;
send_all(Receiver, Bytes, Next, Count, Sum) ->
    Receiver ! {self(), message(Bytes, Next)},
    receive received -> ok end,
    send_all(Receiver, Bytes, Next + 1, Count, Sum + Next).

receive_all(0, Sum) ->
    Sum;
receive_all(Left, Sum) ->
    receive
        {From, Message} ->
            From ! received,
            receive_all(Left - 1, Sum + first(Message))
    end.

message(8, Next) -> Next;
message(64, Next) -> {Next, 0, 0, 0, 0, 0, 0, 0}.

first(Message) when is_integer(Message) -> Message;
first(Message) -> element(1, Message).
