#!/usr/bin/env python3
"""Draves et al. 1991's tables of blocks, their costs, and stacks. Prints Markdown.

Run by ./run tables, which builds preset counters, where the runtime counts blocks on real work: kv_server's fiber
front under redis-benchmark (50 clients), a pipeline over a source tree (examples/word_count.cpp) by continuation and
with stacks, a pager (examples/pager.cpp), guests whose instructions are emulated (bench/support/emulating.cpp), and
fibers that compute beside one that sleeps, with a time slice, and keep their stacks or leave them
(bench/support/computing.cpp). All of them run several times, in turns. What blocks cost is measured by programs of
./run bench, in preset release, and under valgrind.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench/server"))
sys.path.insert(0, str(ROOT / "bench"))

from harness import instructions, machine  # noqa: E402
from harness.programs import find_programs  # noqa: E402
from harness.text_table import filled, markdown, spread  # noqa: E402
from load import Client, ServerError, ServerProcess, choose_cpus, kv_server_command  # noqa: E402

CLIENTS = 50

# The paper's reasons, and ours, by the text that the runtime has for each. All others are the last.
MESSAGE = "message receive"
REASONS = {
    MESSAGE: ("channel receive", "port receive", "port call", "port serve", "readable", "socket read", "select", "future",
              "exception receive"),
    "exception": ("exception",),
    "page fault": ("page fault",),
    "thread switch": ("yield",),
    "preempt": ("forced yield",),
    "internal threads": ("sleep", "socket accept", "signal"),
    "locks and the rest": (),
}
MAPPING = """\
A fiber receives a message if it waits for a channel, a port, a future, a select, a fault to serve, or a socket to read,
to which kv_server's clients send. An exception or a page fault is a fault that waits for the verdict of an exception
server. A thread switch is a yield. A preempted fiber is made to yield at a check in its code; only `computing` has
checks. With `leave`, its fibers have a yield continuation, and are preempted without a stack. Internal threads are
fibers that sleep, accept connections, or wait for signals. The rest are locks, semaphores, joins, wait groups, and waits
to write or to send. A wait that finds what it waits for does not block, and does not count."""

# Draves et al. 1991: MK40 on a Toshiba 5200. Counts, Tables 1 and 2; Table 5, DS3100.
PAPER = {
    "compile": {MESSAGE: 3113, "exception": 0, "page fault": 34, "thread switch": 0, "preempt": 288,
                "internal threads": 239, "kept": 60, "all": 3734, "handoff": 3614, "recognition": 2247},
    "kernel build": {MESSAGE: 1391769, "exception": 882, "page fault": 3278, "thread switch": 114, "preempt": 78602,
                     "internal threads": 135756, "kept": 2117, "all": 1612518, "handoff": 1608320,
                     "recognition": 1166449},
    "DOS": {MESSAGE: 200167, "exception": 137367, "page fault": 144, "thread switch": 4, "preempt": 19101,
            "internal threads": 5791, "kept": 7, "all": 362581, "handoff": 362567, "recognition": 311277},
}


def parse_arguments():
    parser = argparse.ArgumentParser(prog="./run tables", description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--quick", action="store_true", help="little work: to see that it works")
    parser.add_argument("--runs", type=int, metavar="N", help="how often each program runs (default: 5, with --quick 1)")
    parser.add_argument("--real-time", action="store_true",
                        help="count at real-time priority, for a machine with other work (needs root)")
    parser.add_argument("--tree", type=pathlib.Path, default=pathlib.Path("/usr/include"), metavar="DIRECTORY",
                        help="the source tree that the pipeline reads (default: /usr/include)")
    parser.add_argument("--build-dir", type=pathlib.Path, default=ROOT / "build" / "counters", metavar="DIR",
                        help="where CMake built the programs that count (default: build/counters)")
    parser.add_argument("--bench-dir", type=pathlib.Path, default=ROOT / "build" / "release", metavar="DIR",
                        help="where it built the benchmarks (default: build/release)")
    parser.add_argument("--discard-at-least", type=float, metavar="PERCENT",
                        help="fail if kv_server gives up the stack in fewer of its blocks, at any load (the aim: 95)")
    parser.add_argument("--spare-stacks-at-most", type=int, metavar="COUNT",
                        help="fail if kv_server has more stacks in use than workers and so many, half of the time")
    parser.add_argument("--output", type=pathlib.Path, metavar="FILE", help="write the report there too")
    options = parser.parse_args()
    if options.runs is None:
        options.runs = 1 if options.quick else 5
    if options.runs < 1:
        parser.error("--runs is at least 1")
    return options


class Run:
    """What a program has counted in one run."""

    def __init__(self, workers, counted):
        self.workers, self.counted = workers, counted
        self.sites = sorted(((count, each["reason"], form) for each in counted["blocks"]
                             for form, count in (("without", each["without_stack"]), ("with", each["with_stack"]))
                             if count), reverse=True)
        self.blocks = sum(site[0] for site in self.sites)
        self.discards = sum(count for count, _, form in self.sites if form == "without")
        if not self.blocks:
            raise ServerError("no blocks were counted: is the program of a build with SENNIT_COUNTERS?")

    def of(self, reason, form):
        """Blocks for one of the paper's reasons."""
        return sum(count for count, ours, how in self.sites if how == form and paper_reason(ours) == reason)

    def share(self, count):
        return 100 * count / self.blocks

    def stack_share(self, most):
        """For how many percent of the time no more than so many stacks were in use."""
        seconds = self.counted["stacks"]["seconds"]
        return 100 * sum(time for n, time in seconds.items() if int(n) <= most) / sum(seconds.values())

    def idle_share(self, served):
        """For how many percent of the time the workers slept. A server sleeps for long when it has no load: before it,
        after it, and between its parts. That does not count."""
        sleeps = self.counted["sleeps"]
        without_load = sleeps["long_seconds"] if served else 0
        time = self.workers * sum(self.counted["stacks"]["seconds"].values()) - without_load
        return 100 * (sleeps["seconds"] - without_load) / time if time > 0 else 0

    def handoff_share_of_possible(self):
        """Handoffs in percent of the blocks that give up the stack while another fiber is ready; None: no such block."""
        possible = self.discards - self.counted["nothing_ready"]
        return 100 * self.counted["handoffs"] / possible if possible > 0 else None


class Work:
    """A program, and what it has counted in each of its runs."""

    def __init__(self, name, workers, runs):
        self.name, self.workers, self.runs = name, workers, runs
        self.served = name.startswith("kv_server")
        self.title = f"{name}, {workers} worker{'s' if workers > 1 else ''}"

    def cell(self, value_of, form=".1f"):
        """A cell of a table: what a function of a run says, over all runs."""
        return spread([value_of(run) for run in self.runs], form)


def least_discards(all_work):
    """The least share of kv_server's blocks that have given up the stack in any run, in percent, and at which load."""
    return min((run.share(run.discards), each.title) for each in all_work if each.served for run in each.runs)


def discards_too_little(all_work, wanted):
    """What to say if there are fewer than wanted, or None."""
    share, where = least_discards(all_work)
    if wanted is None or share >= wanted:
        return None
    return f"kv_server gives up the stack in only {share:.1f} % of its blocks, not {wanted:g} %: {where}"


def spare_stacks_too_many(all_work, wanted):
    """The same of the stacks that are in use beside one for each worker."""
    for each in all_work if wanted is not None else ():
        share = statistics.median(run.stack_share(each.workers + wanted) for run in each.runs)
        if each.served and share < 50:
            return (f"kv_server has more than {wanted} stacks in use beside its workers' for {100 - share:.0f} % of the "
                    f"time: {each.title}")
    return None


def forced_yields_miscounted(keeping, leaving):
    """What to say if the counts of programs whose fibers are forced to yield, and keep their stacks or leave them,
    do not show that, or None."""
    for each, form, other in ((keeping, "with", "without"), (leaving, "without", "with")):
        for run in each.runs:
            if run.of("preempt", other) or not run.of("preempt", form):
                return (f"{each.name}: {run.of('preempt', form)} forced yields {form} a stack were counted, and "
                        f"{run.of('preempt', other)} {other} one")
    return None


def paper_reason(ours):
    return next((reason for reason, all_ours in REASONS.items() if ours in all_ours), list(REASONS)[-1])


def percent(part, whole):
    return f"{100 * part / whole:.1f}" if whole else "-"


def counted_by(run):
    """What a program counts that `run(environment)` runs."""
    with tempfile.TemporaryDirectory(prefix="sennit_tables_") as directory:
        path = pathlib.Path(directory) / "counters.json"
        run({"SENNIT_COUNTERS": str(path)})
        if not path.exists():
            raise ServerError("the program wrote no counters: it is not of a build with SENNIT_COUNTERS")
        return json.loads(path.read_text())


def serve(binary, workers, pipeline, requests, *more):
    server_cpu, client_cpu = choose_cpus()

    def run(environment):
        os.environ.update(environment)  # the server inherits it
        try:
            words = ["--front", "fiber"] + (["--workers", str(workers)] if workers > 1 else []) + [*more]
            with ServerProcess(lambda port: kv_server_command(binary, port, *words),
                               cpu=server_cpu if workers == 1 else None) as server:
                for test in ("set", "get"):
                    Client(client_cpu if workers == 1 else None).run(server, test, requests, CLIENTS, pipeline)
                if server.stop() != 0:
                    raise ServerError(f"kv_server did not end well:\n{server.output()}")
        finally:
            for name in environment:
                del os.environ[name]

    return run


def program(command, outputs=None):
    def run(environment):
        words = [str(word) for word in command]
        done = subprocess.run(words, capture_output=True, text=True, timeout=600, check=False,
                              env={**os.environ, **environment})
        if done.returncode != 0:
            raise ServerError(f"{' '.join(words)}: status {done.returncode}:\n{done.stdout}{done.stderr}")
        if outputs is not None:
            outputs.append(done.stdout)

    return run


WORKERS_OF_WORD_COUNT = WORKERS_OF_PAGER = 2


def programs(options, outputs):
    """(name, workers, function that runs it) of each."""
    examples, support = options.build_dir / "examples", options.build_dir / "bench"
    quick = options.quick
    for pipeline in (1, 32):
        for workers in (1, 2):
            requests = 1000 * pipeline if quick else 60_000 if pipeline == 1 else 1_000_000
            yield (f"kv_server, pipeline {pipeline}", workers,
                   serve(str(examples / "kv_server/kv_server"), workers, pipeline, requests))
    yield ("kv_server, the waker reads", 1,
           serve(str(examples / "kv_server/kv_server"), 1, 1, 1000 if quick else 60_000, "--waker-reads"))
    tree = ROOT / "include" if quick else options.tree
    for more in ([], ["--stacks"]):
        yield (" ".join(["word_count", *more]), WORKERS_OF_WORD_COUNT,
               program([examples / "word_count", *more, tree, WORKERS_OF_WORD_COUNT], outputs))
    yield ("pager", WORKERS_OF_PAGER,
           program([examples / "pager", 50 if quick else 2000, "--workers", WORKERS_OF_PAGER]))
    yield ("pager, restartable", WORKERS_OF_PAGER,
           program([examples / "pager", 50 if quick else 2000, "--workers", WORKERS_OF_PAGER, "--without-stacks"]))
    yield "emulating", 1, program([support / "bench_emulating", 200 if quick else 20_000])
    for more in ([], ["leave"]):
        yield " ".join(["computing", *more]), 1, program([support / "bench_computing", 20 if quick else 1000, *more])


def work(options):
    """Runs all programs in turns, so that a change of the machine meets all of them."""
    outputs = []
    chosen = list(programs(options, outputs))
    all_work = [Work(name, workers, []) for name, workers, _ in chosen]
    for number in range(options.runs):
        for each, (name, workers, run) in zip(all_work, chosen):
            try:
                each.runs.append(Run(workers, counted_by(run)))
            except ServerError as error:
                raise ServerError(f"{name}: {error}") from error
            print(f"run {number + 1} of {options.runs}: {each.title}: {each.runs[-1].blocks:,} blocks", file=sys.stderr,
                  flush=True)
    if len(set(outputs)) > 1:
        raise ServerError("word_count has found different words by continuation and with stacks")
    return all_work


def table(header, rows):
    return "\n".join(markdown(header, filled(rows))) + "\n"


def titles(all_work):
    return [each.title for each in all_work]


# The two kinds of runtime, and how the variants of benchmarks begin for each.
KINDS = {"local": "", "parallel": "parallel-"}


def paper_titles():
    return [f"MK40, {name}" for name in PAPER]


def of_blocks(each, count_of):
    """A cell: what a function of a run counts, in percent of the run's blocks."""
    return each.cell(lambda run: run.share(count_of(run)))


def table_1(all_work):
    def row(reason, form):
        paper = [percent(each[reason] if form == "without" else 0, each["all"]) if reason in each else "-"
                 for each in PAPER.values()] if form == "without" else ["" for _ in PAPER]
        return [f"{reason}, {form} stack" if form == "with" else reason,
                *(of_blocks(each, lambda run: run.of(reason, form)) for each in all_work), *paper]

    reasons = [reason for reason in REASONS]
    yield "## Table 1: blocks by reason, percent of all\n"
    yield table(["reason", *titles(all_work), *paper_titles()], [
        *(row(reason, "without") for reason in reasons),
        ["**stack given up**", *(f"**{of_blocks(each, lambda run: run.discards)}**" for each in all_work),
         *(percent(each["all"] - each["kept"], each["all"]) for each in PAPER.values())],
        *(row(reason, "with") for reason in reasons
          if any(run.of(reason, "with") for each in all_work for run in each.runs)),
        ["**stack kept**", *(f"**{of_blocks(each, lambda run: run.blocks - run.discards)}**" for each in all_work),
         *(percent(each["kept"], each["all"]) for each in PAPER.values())],
        ["blocks", *(each.cell(lambda run: run.blocks, ",.0f") for each in all_work),
         *(f"{each['all']:,}" for each in PAPER.values())],
        ["workers asleep, % of the time", *(idle(each) for each in all_work), *("" for _ in PAPER)],
    ])
    yield MAPPING + "\n"
    share, where = least_discards(all_work)
    yield f"Of kv_server's blocks under load, {share:.1f} % and more give up the stack (least: {where}; the aim: 95 %).\n"


def idle(each):
    return each.cell(lambda run: run.idle_share(each.served))


def table_2(all_work):
    def row(name, ours, paper):
        return [name, *(of_blocks(each, lambda run: run.counted[ours]) for each in all_work),
                *(percent(each[paper], each["all"]) if paper else "" for each in PAPER.values())]

    yield "## Table 2: handoff and recognition, percent of all blocks\n"
    yield table(["", *titles(all_work), *paper_titles()], [
        row("stack handoff", "handoffs", "handoff"),
        row("no handoff: no other fiber was ready", "nothing_ready", None),
        row("no handoff: the worker had to poll for events", "polls_due", None),
        ["handoff, % of the blocks that give up the stack while another fiber is ready",
         *(each.cell(lambda run: run.handoff_share_of_possible()) for each in all_work), *("" for _ in PAPER)],
        row("recognition, of fibers without a stack", "recognized_without_stack", "recognition"),
        row("recognition, of fibers with a stack", "recognized_with_stack", None),
        ["continuations called", *(each.cell(lambda run: run.counted["continuations_called"], ",.0f") for each in all_work),
         *("" for _ in PAPER)],
        ["workers asleep, % of the time", *(idle(each) for each in all_work), *("" for _ in PAPER)],
    ])
    yield ("Handoff: the next fiber goes on at once on the stack that was given up, which does not go through the "
           "pool.\nRecognition: a channel's or port's waker has put the value into the sleeper's continuation, or "
           "taken the one\nthat it offered. A socket's event only says that there is something to read. The waker reads: "
           "with --waker-reads, it\nreads into the sleeper's buffer.\n")
    yield from handoff_and_idle(all_work)


def handoff_and_idle(all_work):
    """Each run of kv_server, which shows what handoff depends on."""
    served = [each for each in all_work if each.served]
    yield "## Handoff in each run of kv_server, %\n"
    yield table(["load", "run", "handoff", "nothing was ready", "a poll was due", "asleep, % of the time"], [
        [each.title, number, *(f"{value:.1f}" for value in (
            *(run.share(run.counted[name]) for name in ("handoffs", "nothing_ready", "polls_due")), run.idle_share(True)))]
        for each in served for number, run in enumerate(each.runs, 1)])
    yield ("Two things prevent a handoff. A server that is quicker than its client sleeps, is woken by a request, serves "
           "it, and finds\nnothing else to run. A server that is slower finds the requests of many clients at once, and "
           "must look for events at\nleast every 0.3 ms; if each of its turns takes long, as with pipelines or on a CPU "
           "with other work, this comes after a\nfew turns. Then the stack goes through the pool.\n")


def bench(options, *words):
    """What the benchmark runner measures: {(peer, variant, metric): the least}; of faults, those that skip."""
    with tempfile.TemporaryDirectory(prefix="sennit_tables_") as directory:
        path = pathlib.Path(directory) / "results.json"
        quick = ["--quick", "--rounds", "1", "--seconds", "0.001"] if options.quick else []
        command = [sys.executable, ROOT / "bench/run_bench.py", *words, *quick, "--workers", "1", "--json", path,
                   "--build-dir", options.bench_dir]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=1200,
                              check=False)
        if done.returncode != 0:
            raise ServerError(f"./run bench {' '.join(words)}: status {done.returncode}:\n{done.stdout}{done.stderr}")
        return {(each["peer"], each["variant"], each["metric"]): each["min"]
                for each in json.loads(path.read_text())["results"] if each["params"].get("fault") != "page"}


def table_3(options):
    rpc = bench(options, "rpc", "--peers", "sennit", "--set", "clients=1")
    exception = bench(options, "exception", "--peers", "sennit,handler")
    variants = ("continuation", "stack", "queued", "lrpc")

    def exceptions(prefix):
        ways = (f"{exception['sennit', prefix + way, 'ns']:,.0f}" for way in variants[:3])
        return [*ways, f"{exception['handler', '', 'ns']:,.0f}"]

    yield "## Table 3: times of a call and of an exception\n"
    yield table(["", "by continuation: MK40", "with two stacks: MK32", "queued: Mach 2.5", "by the caller itself"], [
        *([f"null RPC, {kind}, ns", *(f"{rpc['sennit', prefix + each, 'ns']:,.1f}" for each in variants)]
          for kind, prefix in KINDS.items()),
        *([f"exception, {kind}, ns", *exceptions(prefix)] for kind, prefix in KINDS.items()),
        ["DS3100: null RPC, µs", 95, 110, 185, ""],
        ["exception, µs", 135, 425, 380, ""],
        ["Toshiba 5200: null RPC, µs", 535, 510, 890, ""],
        ["exception, µs", 525, 1155, 1410, ""],
    ])
    yield ("The least of all runs of `./run bench rpc exception`, with one client. An exception is an illegal "
           "instruction that\nis left out; its server waits as the column says. By the caller itself: LRPC; a plain signal "
           "handler.\nNeither a DS3100 nor a Toshiba 5200 can be had: the rows of these machines are the paper's.\n")


def counted_instructions(options):
    """{(workload, variant): [instructions, loads, stores]}, of one operation."""
    workloads = {"tables": lambda each: not options.quick or not each["variant"].startswith("parallel"),
                 "switch": lambda each: each["variant"] == "inline",
                 "rpc": lambda each: not options.quick and each["params"] == {"clients": 1}}
    programs, absent = find_programs(ROOT / "bench", options.bench_dir, ROOT / "build/bench",
                                     lambda workload, peer: workload in workloads and peer == "sennit", print)
    if absent:
        raise ServerError(f"{absent[0].workload}: {absent[0].reason}")
    return {(each["workload"], each["variant"]): [each["value"], each["loads"], each["stores"]]
            for each in instructions.count(programs, lambda text: print(text, file=sys.stderr, flush=True),
                                           lambda program, entry: workloads[program.workload](entry))}


def table_4(options):
    counted = counted_instructions(options)
    none = [""] * 3

    def cells(values):
        return [round(each) for each in values]

    def more(variant, than):
        return cells(a - b for a, b in zip(counted["tables", variant], counted["tables", than]))

    def pairs(name, workload, without, with_stack):
        for kind, prefix in KINDS.items():
            if (workload, prefix + without) in counted:
                yield [f"{name}, {kind}", *cells(counted[workload, prefix + without]),
                       *cells(counted[workload, prefix + with_stack]), *none, *none]

    yield "## Table 4: instructions, loads and stores\n"
    yield table(["", *(f"{how}: {what}" for how in ("without a stack", "with one", "MK40", "MK32")
                       for what in ("instructions", "loads", "stores"))], [
        ["entry: `become()` makes a continuation", *more("leave", "handoff"), *none, 64, 7, 25, 67, 8, 20],
        ["exit: `call_continuation` calls it", *more("call", "handoff"), *none, 35, 21, 1, 24, 11, 1],
        ["stack handoff: `stack_detach`, `stack_attach`", *more("handoff", "loop"), *none, 83, 22, 18, *none],
        ["context switch: `sennit_swapstack`", *none, *cells(counted["switch", "inline"]), *none, 250, 52, 27],
        *pairs("a yield to another fiber", "tables", "yield-continuation", "yield"),
        *pairs("a call that blocks, and one that wakes", "tables", "wake-continuation", "wake"),
        *pairs("a call that need not block", "tables", "free-continuation", "free"),
        *pairs("null RPC", "rpc", "continuation", "stack"),
    ])
    yield ("By cachegrind, from two counts of operations (preset release). The yields and calls are whole: with "
           "entry, exit,\nqueue, and a look outside at about every 61st. They wait for a semaphore. A call that need "
           "not block costs a fiber that\nhas a stack the same whether or not it ever gives it up; who asks by "
           "continuation gives it up to itself.\n")


def table_5(options, all_work):
    counted = all_work[0].runs[0].counted
    descriptor, stack = counted["descriptor_bytes"], counted["stack_bytes"]
    fibers = 1000 if options.quick else 1_000_000
    # A process each: they would share its peak.
    grown = [bench(options, "parked", "--peers", "sennit", "--set", f"n={fibers}", "--variant", variant,
                   *(() if options.quick else ("--rounds", "1", "--seconds", "0.001")))["sennit", variant, "bytes"]
             for variant in ("local-continuation", "local")]
    yield "## Table 5: bytes of a blocked fiber\n"
    yield table(["", "without a stack", "with one", "MK40", "MK32"], [
        ["descriptor; continuation and 48 bytes of state are in it", descriptor, descriptor, 484, 452],
        ["registers (with a stack: on it)", 0, 0, 206, 0],
        ["stack: the least that is touched; its own descriptor is there", 0, stack, 0, 4096],
        ["virtual memory's state of it", 0, 0, 0, 116],
        ["all", descriptor, descriptor + stack, 690, 4664],
        [f"by how much a process with {fibers:,} has grown, for each", *(f"{each:,.0f}" for each in grown), "", ""],
    ])
    yield ("The last row is measured by `./run bench parked`: what the kernel keeps for itself (page tables) is not in "
           "it.\n")


def stacks(all_work):
    def least(count):
        return [each.cell(lambda run: run.stack_share(run.workers + count)) for each in all_work]

    yield "## Stacks in use (section 3.4)\n"
    yield table(["", *titles(all_work), "MK40, three tests"], [
        ["on average (time)", *(each.cell(lambda run: run.counted["stacks"]["average"], ".2f") for each in all_work), "2.002"],
        ["at most", *(each.cell(lambda run: run.counted["stacks"]["most"], ".0f") for each in all_work), "3, 6, 3"],
        ["% of the time no more than workers + 1", *least(1), "over 99"],
        ["% of the time no more than workers + 3", *least(3), ""],
        ["most, in tenths of the time of the first run", *(course(each.runs[0]) for each in all_work), ""],
    ])


def course(run):
    points = run.counted["stacks"]["course"]
    count = min(10, len(points))
    return " ".join(str(max(points[i * len(points) // count:(i + 1) * len(points) // count])) for i in range(count))


def sites(all_work):
    yield "## Blocking sites (section 2.7)\n"
    yield table(["", *titles(all_work), "Mach 3.0"], [
        ["sites where any fiber blocked", *(each.cell(lambda run: len(run.sites), ".0f") for each in all_work),
         "about 60 in all"],
        ["% of blocks at the first six",
         *(of_blocks(each, lambda run: sum(site[0] for site in run.sites[:6])) for each in all_work), "over 99"],
    ])
    yield ("A site is a place in the code at which a fiber leaves its stack: in the library, or where that is inlined;\n"
           "of one without a stack, a combination of wait, function and state. The first six of each, in the first run:\n")
    for each in all_work:
        run = each.runs[0]
        first = ", ".join(f"{reason} {form} {run.share(count):.1f} %" for count, reason, form in run.sites[:6])
        yield f"- {each.title}: {first}"
    yield ""


def report(options, all_work):
    described = machine.describe(ROOT, options.build_dir)
    yield (f"{described['cpu']}, {described['cpus']} CPUs, Linux {described['kernel']}; commit {described['commit']}; load "
           f"{os.getloadavg()[0]:.1f} at the beginning{', counted in real time' if options.real_time else ''}"
           f"{'; --quick: too little work to say anything' if options.quick else ''}\n")
    if options.real_time:  # what it starts inherits it
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    all_work += work(options)
    if options.real_time:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    if options.runs > 1:
        yield (f"Cells of counts are the median of {options.runs} runs of each program, with the least and the greatest in "
               "brackets.\n")
    yield from table_1(all_work)
    yield from table_2(all_work)
    yield from table_3(options)
    yield from table_4(options)
    yield from table_5(options, all_work)
    yield from stacks(all_work)
    yield from sites(all_work)


def main():
    options = parse_arguments()
    all_work = []
    text = "\n".join(report(options, all_work))
    print(text)
    if options.output:
        options.output.write_text(text + "\n")
    return (discards_too_little(all_work, options.discard_at_least) or
            spare_stacks_too_many(all_work, options.spare_stacks_at_most) or
            forced_yields_miscounted(*all_work[-2:]))


if __name__ == "__main__":
    try:
        failure = main()
    except (ServerError, OSError, subprocess.TimeoutExpired) as error:
        failure = str(error)
    sys.exit(f"tables: {failure}" if failure else 0)
