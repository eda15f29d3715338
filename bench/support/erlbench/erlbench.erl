%% What ../bench.hpp is to the C++ programs: options, one warm-up and one timed run per measurement, and the lines the
%% runner reads.
-module(erlbench).
-export([run/3, values/2, measure/6, measure_rate/6, unsupported/4, require/2, at_once/1, order/2]).

%% Reads the options, prints the first line (with the flag that harness/toolchains.py has) and calls Main with the
%% program. Parameters are {Name, values taken without the option, values taken with --quick}. The emulator ends with
%% Main.
run(Configuration, Parameters, Main) ->
    try
        Arguments = init:get_plain_arguments(),
        Quick = lists:member("--quick", Arguments),
        Given = [{Name, if Quick -> Few; true -> Full end} || {Name, Full, Few} <- Parameters],
        Seconds = if Quick -> 0.05; true -> 0.2 end,
        Defaults = #{variant => any, seconds => Seconds, workers => 1, values => maps:from_list(Given)},
        Program = options([Argument || Argument <- Arguments, Argument =/= "--quick"], Defaults),
        io:format("{\"version\":\"~s\",\"configuration\":\"~s; +S 1:1\"}~n", [version(), Configuration]),
        case maps:get(workers, Program) of
            1 -> Main(Program);
            Workers ->
                io:format("{\"variant\":\"\",\"workers\":~b,\"params\":{},"
                          "\"unsupported\":\"it is started with one scheduler\"}~n", [Workers])
        end
    of
        _ -> halt(0)
    catch
        throw:{wrong, Message} -> stop(2, Message);
        _:Reason -> stop(1, io_lib:format("~0p", [Reason]))
    end.

stop(Code, Message) ->
    io:format(standard_error, "~s~n", [Message]),
    halt(Code).

%% The release's own number, such as 25.2.3; of the release alone where that file is missing.
version() ->
    Release = erlang:system_info(otp_release),
    case file:read_file(filename:join([code:root_dir(), "releases", Release, "OTP_VERSION"])) of
        {ok, Text} -> string:trim(Text);
        {error, _} -> Release
    end.

options([], Program) ->
    Program;
options([Option, Text | Rest], Program = #{values := Values}) ->
    Name = list_to_atom(string:prefix(Option, "--")),
    Next = case Name of
        variant -> Program#{variant := Text};
        seconds -> Program#{seconds := number(Option, Text)};
        workers -> Program#{workers := number(Option, Text)};
        _ when is_map_key(Name, Values) ->
            Program#{values := Values#{Name := [number(Option, Each) || Each <- string:split(Text, ",", all)]}};
        _ -> throw({wrong, "unknown option " ++ Option})
    end,
    options(Rest, Next);
options([Option], _) ->
    throw({wrong, Option ++ " needs a value"}).

number(Option, Text) ->
    case {string:to_integer(Text), string:to_float(Text)} of
        {{Number, ""}, _} -> Number;
        {_, {Number, ""}} -> Number;
        _ -> throw({wrong, io_lib:format("~s: '~s' is not a number or a list like 2,100", [Option, Text])})
    end.

values(Name, #{values := Values}) ->
    maps:get(Name, Values).

%% Ends the program unless the condition holds: a peer that loses work must not get a number.
require(true, _) -> ok;
require(false, Message) -> stop(1, Message).

%% Prints that this measurement cannot be made, and why.
unsupported(Variant, Params, Reason, _Program) ->
    io:format("~s,\"unsupported\":\"~s\"}~n", [begin_line(Variant, Params), Reason]).

%% Calls Run(Count), which must do Count times Operations operations, first to warm up, then timed.
measure(Variant, Params, Operation, Operations, Run, Program) ->
    measured(Variant, Program, Run, Operations, fun(Mean, Best) ->
        report(Variant, Params, "ns", ["ns/", Operation], Mean, Best)
    end).

%% As measure, and prints operations per second too.
measure_rate(Variant, Params, Operation, Operations, Run, Program) ->
    measured(Variant, Program, Run, Operations, fun(Mean, Best) ->
        report(Variant, Params, "ns", ["ns/", Operation], Mean, Best),
        report(Variant, Params, "per_second", [Operation, "s/s"], 1.0e9 / Mean, 1.0e9 / Best)
    end).

measured(Variant, #{variant := Wanted, seconds := Seconds}, Run, Operations, Report)
  when Wanted =:= any; Wanted =:= Variant ->
    {Mean, Best} = search(1, nanoseconds(Run, 1), Seconds * 1.0e9, Run),
    Report(Mean / Operations, Best / Operations);
measured(_, _, _, _, _) ->
    ok.

%% Nanoseconds per count: of a whole timed run, and of the fastest of the slices it was timed in. The count grows
%% eightfold at most at once, and again if it was too short: one run, on a machine that has other work, tells little.
search(Before, Elapsed, Wanted, Run) ->
    Count = max(1, trunc(Before * min(8, Wanted / Elapsed))),
    Slice = max(1, Count div 10),
    Slices = Count div Slice,
    Times = [nanoseconds(Run, Slice) || _ <- lists:seq(1, Slices)],
    case lists:sum(Times) of
        Sum when Sum >= Wanted / 2 -> {Sum / (Slice * Slices), lists:min(Times) / Slice};
        Sum -> search(Slice * Slices, Sum, Wanted, Run)
    end.

nanoseconds(Run, Count) ->
    Start = erlang:monotonic_time(nanosecond),
    Run(Count),
    max(1, erlang:monotonic_time(nanosecond) - Start).

begin_line(Variant, Params) ->
    Fields = [io_lib:format("\"~s\":~s", [Name, json(Value)]) || {Name, Value} <- Params],
    ["{\"variant\":\"", Variant, "\",\"workers\":1,\"params\":{", lists:join(",", Fields), "}"].

json(Value) when is_integer(Value) -> integer_to_list(Value);
json(Value) -> ["\"", Value, "\""].

report(Variant, Params, Metric, Unit, Value, Best) ->
    io:format("~s,\"metric\":\"~s\",\"unit\":\"~s\",\"value\":~p,\"best\":~p}~n",
              [begin_line(Variant, Params), Metric, Unit, float(Value), float(Best)]).

%% Runs each function in a process of its own, and returns what they returned, in their order.
at_once(Functions) ->
    Self = self(),
    Pids = [spawn_link(fun() -> Self ! {self(), Function()} end) || Function <- Functions],
    [receive {Pid, Result} -> Result end || Pid <- Pids].

%% The numbers below N in the order of that name: "memory", or "random", which is the same in every run.
order("memory", N) ->
    lists:seq(0, N - 1);
order("random", N) ->
    rand:seed(exsss, 1),
    [Number || {_, Number} <- lists:sort([{rand:uniform(), Number} || Number <- lists:seq(0, N - 1)])].
