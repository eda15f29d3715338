#!/usr/bin/env python3
"""Draves et al. 1991's tables of blocks, their costs, and stacks. Prints Markdown.

Run by ./run tables, which builds preset counters, where the runtime counts blocks on real work: kv_server's fiber
front under redis-benchmark (50 clients), a pipeline over a source tree (examples/word_count.cpp) by continuation and
with stacks, a pager (examples/pager.cpp), and fibers that compute beside one that sleeps, with a time slice
(bench/support/computing.cpp). What blocks cost is measured by programs of ./run bench, in preset
release, and under valgrind.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench/server"))
sys.path.insert(0, str(ROOT / "bench"))

from harness import instructions, machine  # noqa: E402
from harness.programs import find_programs  # noqa: E402
from harness.text_table import filled, markdown  # noqa: E402
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
A message is received by who waits for a channel, a port, a future, a select, a socket to read (kv_server's
clients send it), or faults to serve. An exception or a page fault is a fault that waits for an exception
server's verdict. A thread switch is a yield. Preempted is who is made to yield at a check in its code: of these
only `computing` has checks. Internal threads are what the program runs for itself: fibers that sleep, accept, or
wait for signals. The rest: locks, semaphores, joins, wait groups, and who waits to write or to send. Only blocks
count: a wait that finds what it waits for does not block."""

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
    return parser.parse_args()


class Work:
    """What a program has counted."""

    def __init__(self, name, workers, counted):
        self.name, self.workers, self.counted = name, workers, counted
        self.sites = sorted(((count, each["reason"], form) for each in counted["blocks"]
                             for form, count in (("without", each["without_stack"]), ("with", each["with_stack"]))
                             if count), reverse=True)
        self.blocks = sum(site[0] for site in self.sites)
        self.discards = sum(count for count, _, form in self.sites if form == "without")
        if not self.blocks:
            raise ServerError(f"{name}: no blocks were counted: is {name} of a build with SENNIT_COUNTERS?")

    def of(self, reason, form):
        """Blocks for one of the paper's reasons."""
        return sum(count for count, ours, how in self.sites if how == form and paper_reason(ours) == reason)

    def share(self, count):
        return percent(count, self.blocks)

    def stack_share(self, most):
        """For how many percent of the time no more than so many stacks were in use."""
        seconds = self.counted["stacks"]["seconds"]
        return 100 * sum(time for n, time in seconds.items() if int(n) <= most) / sum(seconds.values())


def least_discards(all_work):
    """The least share of kv_server's blocks that have given up the stack, in percent, and at which load."""
    of_server = [each for each in all_work if each.name.startswith("kv_server")]
    least = min(of_server, key=lambda each: each.discards / each.blocks)
    return 100 * least.discards / least.blocks, titles([least])[0]


def discards_too_little(all_work, wanted):
    """What to say if there are fewer than wanted, or None."""
    share, where = least_discards(all_work)
    if wanted is None or share >= wanted:
        return None
    return f"kv_server gives up the stack in only {share:.1f} % of its blocks, not {wanted:g} %: {where}"


def spare_stacks_too_many(all_work, wanted):
    """The same of the stacks that are in use beside one for each worker."""
    for each in all_work if wanted is not None else ():
        share = each.stack_share(each.workers + wanted)
        if each.name.startswith("kv_server") and share < 50:
            return (f"kv_server has more than {wanted} stacks in use beside its workers' for {100 - share:.0f} % of the "
                    f"time: {titles([each])[0]}")
    return None


def forced_yields_miscounted(keeping, leaving):
    """What to say if the counts of programs whose fibers are forced to yield, and keep their stacks or leave them,
    do not show that, or None."""
    for each, form, other in ((keeping, "with", "without"), (leaving, "without", "with")):
        if each.of("preempt", other) or not each.of("preempt", form):
            return (f"{each.name}: {each.of('preempt', form)} forced yields {form} a stack were counted, and "
                    f"{each.of('preempt', other)} {other} one")
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


def serve(binary, workers, pipeline, requests):
    server_cpu, client_cpu = choose_cpus()

    def run(environment):
        os.environ.update(environment)  # the server inherits it
        try:
            words = ["--front", "fiber"] + (["--workers", str(workers)] if workers > 1 else [])
            with ServerProcess(lambda port: kv_server_command(binary, port, *words),
                               cpu=server_cpu if workers == 1 else None) as server:
                for test in ("set", "get"):
                    Client(client_cpu if workers == 1 else None).run(server, test, requests, CLIENTS, pipeline)
                if server.stop() != 0:
                    raise ServerError(f"kv_server did not end well:\n{server.output()}")
        finally:
            for name in environment:
                del os.environ[name]

    return Work(f"kv_server, pipeline {pipeline}", workers, counted_by(run))


def run_program(name, workers, command, outputs):
    def run(environment):
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=600, check=False,
                              env={**os.environ, **environment})
        if done.returncode != 0:
            raise ServerError(f"{name}: status {done.returncode}:\n{done.stdout}{done.stderr}")
        outputs.append(done.stdout)

    return Work(name, workers, counted_by(run))


def work(options):
    examples = options.build_dir / "examples"
    for pipeline in (1, 32):
        for workers in (1, 2):
            requests = 1000 * pipeline if options.quick else 60_000 if pipeline == 1 else 1_000_000
            yield serve(str(examples / "kv_server/kv_server"), workers, pipeline, requests)
    tree = ROOT / "include" if options.quick else options.tree
    outputs = []
    yield run_program("word_count", 2, [examples / "word_count", tree, 2], outputs)
    yield run_program("word_count --stacks", 2, [examples / "word_count", "--stacks", tree, 2], outputs)
    if outputs[0] != outputs[1]:
        raise ServerError("word_count has found different words by continuation and with stacks")
    yield run_program("pager", os.cpu_count(), [examples / "pager", 50 if options.quick else 2000], outputs)
    yield compute(options)


def compute(options, *words):
    turns = 20 if options.quick or words else 1000
    return run_program(" ".join(("computing", *words)), 1, [options.build_dir / "bench/bench_computing", turns, *words], [])


def table(header, rows):
    return "\n".join(markdown(header, filled(rows))) + "\n"


def titles(all_work):
    return [f"{each.name}, {each.workers} worker{'s' if each.workers > 1 else ''}" for each in all_work]


# The two kinds of runtime, and how the variants of benchmarks begin for each.
KINDS = {"local": "", "parallel": "parallel-"}


def paper_titles():
    return [f"MK40, {name}" for name in PAPER]


def table_1(all_work):
    def row(reason, form):
        paper = [percent(each[reason] if form == "without" else 0, each["all"]) if reason in each else "-"
                 for each in PAPER.values()] if form == "without" else ["" for _ in PAPER]
        return [f"{reason}, {form} stack" if form == "with" else reason,
                *(each.share(each.of(reason, form)) for each in all_work), *paper]

    reasons = [reason for reason in REASONS]
    yield "## Table 1: blocks by reason, percent of all\n"
    yield table(["reason", *titles(all_work), *paper_titles()], [
        *(row(reason, "without") for reason in reasons),
        ["**stack given up**", *(f"**{each.share(each.discards)}**" for each in all_work),
         *(percent(each["all"] - each["kept"], each["all"]) for each in PAPER.values())],
        *(row(reason, "with") for reason in reasons if any(each.of(reason, "with") for each in all_work)),
        ["**stack kept**", *(f"**{each.share(each.blocks - each.discards)}**" for each in all_work),
         *(percent(each["kept"], each["all"]) for each in PAPER.values())],
        ["blocks", *(f"{each.blocks:,}" for each in all_work), *(f"{each['all']:,}" for each in PAPER.values())],
    ])
    yield MAPPING + "\n"
    share, where = least_discards(all_work)
    yield f"Of kv_server's blocks under load, {share:.1f} % and more give up the stack (least: {where}; the aim: 95 %).\n"


def table_2(all_work):
    def row(name, ours, paper):
        return [name, *(each.share(each.counted[ours]) for each in all_work),
                *(percent(each[paper], each["all"]) if paper else "" for each in PAPER.values())]

    yield "## Table 2: handoff and recognition, percent of all blocks\n"
    yield table(["", *titles(all_work), *paper_titles()], [
        row("stack handoff", "handoffs", "handoff"),
        row("recognition, of who has no stack", "recognized_without_stack", "recognition"),
        row("the same, of who has one", "recognized_with_stack", None),
        ["continuations called", *(f"{each.counted['continuations_called']:,}" for each in all_work),
         *("" for _ in PAPER)],
    ])
    yield ("Handoff: the next fiber goes on at once on the stack that was given up, which does not go through the "
           "pool.\nRecognition: a channel's or port's waker has put the value into the sleeper's continuation, or "
           "taken the one\nthat it offered. A socket's event only says that there is something to read.\n")


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
           "handler.\n")


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
    descriptor = all_work[0].counted["descriptor_bytes"]
    stack = all_work[0].counted["stack_bytes"]
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
    yield "## Stacks in use\n"
    yield table(["", *titles(all_work), "MK40, three tests"], [
        ["on average (time)", *(f"{each.counted['stacks']['average']:.2f}" for each in all_work), "2.002"],
        ["at most", *(each.counted["stacks"]["most"] for each in all_work), "3, 6, 3"],
        ["% of the time no more than workers + 1", *(f"{each.stack_share(each.workers + 1):.1f}" for each in all_work), ""],
        ["% of the time no more than workers + 3", *(f"{each.stack_share(each.workers + 3):.1f}" for each in all_work), ""],
        ["most, in tenths of the time", *(course(each) for each in all_work), ""],
    ])


def course(each):
    points = each.counted["stacks"]["course"]
    count = min(10, len(points))
    return " ".join(str(max(points[i * len(points) // count:(i + 1) * len(points) // count])) for i in range(count))


def sites(all_work):
    yield "## Blocking sites (section 2.7)\n"
    yield table(["", *titles(all_work), "Mach 3.0"], [
        ["sites where any fiber blocked", *(len(each.sites) for each in all_work), "about 60 in all"],
        ["% of blocks at the first six", *(each.share(sum(site[0] for site in each.sites[:6])) for each in all_work),
         "over 99"],
    ])
    yield ("A site is a place in the code at which a fiber leaves its stack: in the library, or where that is inlined;\n"
           "of one without a stack, a combination of wait, function and state. The first six of each:\n")
    for title, each in zip(titles(all_work), all_work):
        first = ", ".join(f"{reason} {form} {each.share(count)} %" for count, reason, form in each.sites[:6])
        yield f"- {title}: {first}"
    yield ""


def report(options, all_work):
    described = machine.describe(ROOT, options.build_dir)
    yield (f"{described['cpu']}, {described['cpus']} CPUs, Linux {described['kernel']}; commit {described['commit']}"
           f"{'; --quick: too little work to say anything' if options.quick else ''}\n")
    for each in work(options):
        print(f"{each.name}, workers: {each.workers}: {each.blocks:,} blocks", file=sys.stderr, flush=True)
        all_work.append(each)
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
            forced_yields_miscounted(all_work[-1], compute(options, "leave")))


if __name__ == "__main__":
    try:
        failure = main()
    except (ServerError, OSError, subprocess.TimeoutExpired) as error:
        failure = str(error)
    sys.exit(f"tables: {failure}" if failure else 0)
