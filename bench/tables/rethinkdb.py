#!/usr/bin/python3
"""The graph of "Making coroutines fast" (RethinkDB): a server by callbacks, by naive coroutines and by fast ones.

Run by ./run tables rethinkdb: kv_server under redis-benchmark, one CPU each. Prints Markdown tables of the graph, with
requests a second beside the server's CPU time; of the coroutines' stacks, whose size the post calls unimportant; and of
the first requests to a store on disk (bench/support/disk_server.cpp). All servers of a table take turns.
"""

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

BENCH = Path(__file__).resolve().parents[1]
ROOT = BENCH.parent
sys.path[:0] = [str(BENCH), str(BENCH / "server")]
from harness import machine, pictures  # noqa: E402
from harness.text_table import markdown, spread  # noqa: E402
from load import (  # noqa: E402
    Client, ServerError, ServerProcess, choose_cpus, connect, kv_server_command, receive)

CLIENTS = 50
PIPELINES = (32, 1)
COROUTINE = "--coroutine-per-request"

# The bars: the paper's colours; its words; what executes a request.
BARS = {
    "callbacks": ("tab:blue", ["--front", "callback"]),
    "naive coroutines": ("tab:red", ["--front", "callback", COROUTINE, "unpooled-ucontext"]),
    "only reuse": ("tab:orange", ["--front", "callback", COROUTINE, "pooled-ucontext"]),
    "only the light switch": ("tab:olive", ["--front", "callback", COROUTINE, "unpooled-swap"]),
    "both": ("tab:pink", ["--front", "callback", COROUTINE, "pooled-swap"]),
    "Sennit: a fiber for each connection": ("tab:purple", ["--front", "fiber"]),
}

# Sizes, and how the stacks are got: options of kv_server.
SIZES = {"8 KiB": "8kb", "64 KiB": "64kb", "1 MiB": "1mb"}
STACKS = {
    "pooled": ("pooled-swap", []),
    "pooled, zeroed when made": ("pooled-swap", ["--coroutine-zeroed"]),
    "pooled, zeroed before each request": ("pooled-swap", ["--coroutine-zeroed", "--coroutine-zeroed-again"]),
    "not pooled, malloc": ("unpooled-swap", []),
    "not pooled, calloc": ("unpooled-swap", ["--coroutine-zeroed"]),
    "not pooled, mmap": ("unpooled-swap", ["--coroutine-mapped"]),
}
# The first call of a function of a shared library saves all registers of the CPU on the stack: more than 8 KiB.
BOUND = {"LD_BIND_NOW": "1"}

# The store on disk: how stacks are got, their bytes, options.
KEYS_ON_DISK = 4000
DISK_CLIENTS = 200
DISK = {f"{name}, {size}": [*words, "--stack", str(stack)]
        for name, words in (("pooled", []), ("pooled, zeroed before each request", ["--zeroed"]), ("not pooled", ["--unpooled"]),
                            ("not pooled, zeroed", ["--unpooled", "--zeroed"]))
        for size, stack in (("8 KiB", 8 << 10), ("64 KiB", 64 << 10), ("1 MiB", 1 << 20))}


# ---- Measuring.

def faults_and_kernel_seconds(stat):
    """(minor faults, seconds in the kernel) of a process and its threads, from the text of /proc/PID/stat."""
    fields = stat.rpartition(")")[2].split()
    return int(fields[7]), int(fields[12]) / os.sysconf("SC_CLK_TCK")


def read_stat(server):
    return faults_and_kernel_seconds(Path(f"/proc/{server.pid}/stat").read_text(encoding="ascii"))


@contextlib.contextmanager
def environment(more):
    """Servers that start meanwhile inherit `more`."""
    os.environ.update(more)
    try:
        yield
    finally:
        for name in more:
            del os.environ[name]


class Measured:
    """What was measured of one server: {quantity: [of each run]}."""

    def __init__(self, values=None):
        self.values = values or {}

    def add(self, got):
        for quantity, value in got.items():
            self.values.setdefault(quantity, []).append(value)

    def median(self, quantity):
        return statistics.median(self.values[quantity])

    def cell(self, quantity, form):
        return spread(self.values[quantity], form)


def run_client(client, server, requests, **case):
    """What Client.run returns, and the server's page faults and kernel time, for each request."""
    before = read_stat(server)
    got = client.run(server, "get", requests, **case)
    faults, kernel = (after - first for first, after in zip(before, read_stat(server)))
    return {**got, "faults": faults / requests, "kernel_us": kernel * 1e6 / requests}


class Bench:
    def __init__(self, options, say):
        self.options, self.say = options, say
        server_cpu, client_cpu = choose_cpus()
        if server_cpu is None:
            raise ServerError("it needs two CPUs, one for the server and one for the client")
        self.cpu, self.client = server_cpu, Client(client_cpu)
        self.seconds = 0.1 if options.quick else 0.7
        self.binary = str(options.build_dir / "examples/kv_server/kv_server")

    def start(self, words, environ=None):
        with environment(environ or {}):
            server = ServerProcess(lambda port: kv_server_command(self.binary, port, *words), cpu=self.cpu)
        self.client.run(server, "set", 20_000 if self.options.quick else 100_000, CLIENTS, 32)
        return server

    def in_turns(self, servers, cases):
        """{server's name: {case's name: Measured}}: `servers` by name; `cases`: arguments of the client by name."""
        found = {name: {case: Measured() for case in cases} for name in servers}
        for number in range(self.options.runs):
            for case, arguments in cases.items():
                for name in servers if number % 2 == 0 else reversed(servers):
                    server = servers[name]
                    asked = dict(arguments)
                    requests = asked.pop("requests", None) or self.fitting(server, asked)
                    found[name][case].add(run_client(self.client, server, requests, **asked))
        return found

    def fitting(self, server, case):
        """How many requests take about the wanted time."""
        rate = self.client.run(server, "get", 2000 + 100 * case["pipeline"], **case)["per_second"]
        return max(int(rate * self.seconds), 200 * case["pipeline"])

    def graph(self):
        self.say("the graph")
        cases = {f"-P {pipeline}": {"clients": CLIENTS, "pipeline": pipeline} for pipeline in PIPELINES}
        with contextlib.ExitStack() as stack:
            servers = {name: stack.enter_context(self.start(words)) for name, (_, words) in BARS.items()}
            return self.in_turns(servers, cases)

    def stacks(self):
        """{how stacks are got: {size: Measured}}"""
        found = {name: {} for name in STACKS}
        for size, option in SIZES.items():
            self.say(f"stacks of {size}")
            with contextlib.ExitStack() as stack:
                servers = {}
                for name, (kind, words) in STACKS.items():
                    words = ["--front", "callback", COROUTINE, kind, "--coroutine-stack", option, *words]
                    servers[name] = stack.enter_context(self.start(words, BOUND))
                got = self.in_turns(servers, {size: {"clients": CLIENTS, "pipeline": 32}})
            for name, by_size in got.items():
                found[name].update(by_size)
        return found

    def warm_up(self):
        """{how stacks are got: {phase: Measured}}, of new servers, whose requests wait for the disk at first."""
        found = {name: {"first": Measured(), "later": Measured()} for name in DISK}
        binary = self.options.build_dir / "bench/bench_disk_server"
        few = DISK_CLIENTS if self.options.quick else 1000
        with tempfile.NamedTemporaryFile(dir=self.options.build_dir, prefix="disk_store_") as file:
            file.write(os.urandom(KEYS_ON_DISK * 4096))
            file.flush()
            os.fsync(file.fileno())
            for number in range(self.options.runs):
                self.say(f"a store on disk: run {number + 1} of {self.options.runs}")
                for name, words in DISK.items() if number % 2 == 0 else reversed(DISK.items()):
                    self.one_warm_up([str(binary), "--file", file.name, *words], few, found[name])
        return found

    def one_warm_up(self, command, few, found):
        with ServerProcess(lambda port: [*command, "--port", str(port)], cpu=self.cpu) as server:
            found["first"].add(self.on_disk(server, few))
            with connect(server.port) as client:  # all other blocks
                client.sendall(b"LOAD\r\n")
                receive(client, len(b"+OK\r\n"))
            found["later"].add(self.on_disk(server, few))

    def on_disk(self, server, requests):
        before = blocks_read(server)
        got = run_client(self.client, server, requests, clients=DISK_CLIENTS, keys=KEYS_ON_DISK)
        return {**got, "reads": (blocks_read(server) - before) / requests}


def blocks_read(server):
    with connect(server.port) as client:
        client.sendall(b"BLOCKS\r\n")
        return int(client.recv(100)[1:])


# ---- Printing.

def graph_table(graph, case):
    first = graph["callbacks"][case]
    yield f"## The graph: {CLIENTS} clients, {case}\n"
    yield from markdown(
        ["", "requests/s", "% of callbacks", "server's CPU, us/request", "x callbacks", "server busy, %"],
        ([name, got.cell("per_second", ",.0f"), f"{100 * got.median('per_second') / first.median('per_second'):.0f}",
          got.cell("cpu_us_per_request", ".3f"),
          f"{got.median('cpu_us_per_request') / first.median('cpu_us_per_request'):.2f}", got.cell("busy_percent", ".0f")]
         for name, got in ((name, by_case[case]) for name, by_case in graph.items())))
    yield ""


def stacks_table(stacks):
    yield f"## Stacks: {CLIENTS} clients, -P 32\n"
    quantities = (("CPU, us/request", "cpu_us_per_request", ".2f"), ("of it in the kernel", "kernel_us", ".2f"),
                  ("page faults/request", "faults", ".2f"))
    yield from markdown(
        ["", *(f"{size}: {title}" for size in SIZES for title, _, _ in quantities)],
        ([name, *(by_size[size].cell(quantity, form) for size in SIZES for _, quantity, form in quantities)]
         for name, by_size in stacks.items()))
    yield """
A stack costs what is touched of it. A request touches one or two pages of its stack, whatever the size is. With a pool, or
if malloc returns the memory that was just freed, these pages exist already: no page fault, and no cost of the size. If
each stack is a new mmap, the kernel makes and zeroes the touched pages for each request. That costs page faults and two
system calls, and does not depend on the size. The size counts only if all of the stack is zeroed: before each request, or by
a calloc of memory that has been used.
"""


def warm_up_table(warm_up):
    yield f"## Warm-up: the first requests of {DISK_CLIENTS} clients to a new server, whose data are on disk\n"
    quantities = (("blocks read/request", "reads", ".2f"), ("requests/s", "per_second", ",.0f"),
                  ("CPU, us/request", "cpu_us_per_request", ".1f"), ("page faults/request", "faults", ".2f"))
    yield from markdown(
        ["stacks", *(f"{phase}: {title}" for title, _, _ in quantities for phase in ("first", "later"))],
        ([name, *(by_phase[phase].cell(quantity, form) for _, quantity, form in quantities for phase in ("first", "later"))]
         for name, by_phase in warm_up.items()))
    yield """
"Later" are as many requests when all blocks are in memory. While requests wait for the disk, many have a stack at the same
time. These stacks are new, so a pool does not help yet. They cost a page or two each, if they are not zeroed: then the
first requests are slower because of the disk. Zeroed stacks get all their pages: the page faults grow with the size.
"""


# ---- Drawing.

def draw(found, path, plt):
    figure, panels = plt.subplots(2, 2, figsize=(12, 7.5), layout="constrained", width_ratios=(3, 2))
    names = list(BARS)
    for axes, quantity, unit, title, form in (
            (panels[0, 0], "per_second", 1000, "Thousands of requests a second", "{:,.0f}"),
            (panels[1, 0], "cpu_us_per_request", 1, "The server's CPU time, us/request", "{:.2f}")):
        values = [[value / unit for value in found["graph"][name]["-P 32"].values[quantity]] for name in names]
        heights = [statistics.median(each) for each in values]
        errors = [[height - min(each) for height, each in zip(heights, values)],
                  [max(each) - height for height, each in zip(heights, values)]]
        bars = axes.barh(names, heights, xerr=errors, color=[colour for colour, _ in BARS.values()], ecolor="0.4")
        axes.bar_label(bars, [form.format(height) for height in heights], padding=12)
        axes.invert_yaxis()
        axes.set_xlim(0, max(map(max, values)) * 1.2)
        pictures.finish(axes, f"{title}: GET, {CLIENTS} clients, -P 32")
    axes = panels[0, 1]
    for name, by_size in found["stacks"].items():
        axes.plot(list(by_size), [each.median("cpu_us_per_request") for each in by_size.values()],
                  ":" if "mmap" in name else "-" if "zeroed before" in name or "calloc" in name else "--", marker="o",
                  markersize=4, label=name)
    axes.set_yscale("log")
    axes.legend(fontsize=7)
    pictures.finish(axes, "CPU time by stacks, us/request")
    axes = panels[1, 1]
    names = [name.replace(" before each request", "") for name in found["warm_up"]]
    for number, phase in enumerate(("first", "later")):
        places = [place + 0.4 * number for place in range(len(names))]
        axes.barh(places, [by_phase[phase].median("cpu_us_per_request") for by_phase in found["warm_up"].values()], 0.38,
                  label=f"{phase} requests", color=("tab:red", "tab:gray")[number])
    axes.set_yticks([place + 0.2 for place in range(len(names))], names, fontsize=7)
    axes.invert_yaxis()
    axes.legend(fontsize=7)
    pictures.finish(axes, "A store on disk: CPU time, us/request")
    pictures.save(figure, path)


# ---- The command.

def plain(found):
    """As JSON has it."""
    return {part: {name: {key: each.values for key, each in row.items()} for name, row in rows.items()}
            for part, rows in found.items()}


def measured(document):
    return {part: {name: {key: Measured(values) for key, values in row.items()} for name, row in rows.items()}
            for part, rows in document.items()}


def text(about, found):
    yield about + "\n"
    for pipeline in PIPELINES:
        yield from graph_table(found["graph"], f"-P {pipeline}")
    yield from stacks_table(found["stacks"])
    yield from warm_up_table(found["warm_up"])


def main():
    parser = argparse.ArgumentParser(prog="./run tables rethinkdb", description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--quick", action="store_true", help="one short run of each: to see that it works")
    parser.add_argument("--runs", type=int, metavar="N", help="runs of each server (default: 5, with --quick 1)")
    parser.add_argument("--real-time", action="store_true",
                        help="at real-time priority, for a machine with other work (needs root)")
    parser.add_argument("--build-dir", type=Path, default=ROOT / "build" / "release", metavar="DIR",
                        help="where CMake built the programs (default: build/release)")
    parser.add_argument("--picture", type=Path, metavar="FILE.svg", help="draw the graph there")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there")
    parser.add_argument("--again", type=Path, metavar="FILE", help="print and draw the results in FILE; measure nothing")
    options = parser.parse_args()
    options.runs = options.runs or (1 if options.quick else 5)
    plt = pictures.plotting("rethinkdb") if options.picture else None
    if options.again:
        document = json.loads(options.again.read_text(encoding="utf-8"))
    else:
        described = machine.describe(ROOT, options.build_dir)
        load = os.getloadavg()[0]
        if options.real_time:  # the servers and clients inherit it
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        bench = Bench(options, lambda line: print(line, file=sys.stderr, flush=True))
        found = {"graph": bench.graph(), "stacks": bench.stacks(), "warm_up": bench.warm_up()}
        document = {"about": f"{described['cpu']}, {described['cpus']} CPUs, Linux {described['kernel']}; commit "
                             f"{described['commit']}; load {load:.1f} at the beginning"
                             f"{', in real time' if options.real_time else ''}; the median of {options.runs} runs, with the "
                             "least and the greatest in brackets", "found": plain(found)}
    if options.json:
        options.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    found = measured(document["found"])
    print("\n".join(text(document["about"], found)))
    if plt:
        draw(found, options.picture, plt)


if __name__ == "__main__":
    try:
        main()
    except (ServerError, OSError, subprocess.TimeoutExpired) as failure:
        sys.exit(f"rethinkdb: {failure}")
