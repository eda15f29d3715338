#!/usr/bin/python3
"""Dolan et al. 2013, Figure 6: how many hops a token makes in a second, by the number of fibers in the ring.

Run by ./run tables ring, on one CPU: Sennit, Go, GHC and Erlang, from 503 fibers, doubled until a process has used
the memory it may use, or fails. Prints a Markdown table. Each round measures all sizes of all systems.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

BENCH = Path(__file__).resolve().parents[1]
ROOT = BENCH.parent
sys.path.insert(0, str(BENCH))
from harness import machine, pictures  # noqa: E402
from harness.programs import BuildMissing, find_programs  # noqa: E402
from harness.text_table import markdown  # noqa: E402

FIRST = 503

# What it is: its peer and variant (None: it has one); its colour and style.
SYSTEMS = {
    "Sennit, local": (("sennit", "local"), "tab:pink", "-"),
    "Sennit, parallel": (("sennit", "parallel"), "tab:purple", "-"),
    "Sennit, local actors": (("sennit", "local-actor"), "tab:pink", "--"),
    "Sennit, local, stackless": (("sennit", "local-continuation"), "tab:blue", "-"),
    "Sennit, local actors, stackless": (("sennit", "local-actor-stackless"), "tab:blue", "--"),
    "Go": (("go", None), "tab:orange", "-"),
    "GHC": (("ghc", None), "tab:green", "-"),
    "Erlang": (("erlang", None), "tab:red", "-"),
}


def parse_bytes(text):
    """4G, 256M or 1000K as bytes."""
    found = re.fullmatch(r"([1-9]\d*)([KMG])", text)
    if not found:
        raise argparse.ArgumentTypeError(f"'{text}' is no size like 4G or 256M")
    return int(found[1]) << {"K": 10, "M": 20, "G": 30}[found[2]]


def peak_memory(pid):
    """The most bytes that the process has had in memory so far; 0 if it has ended."""
    try:
        found = re.search(r"^VmHWM:\s*(\d+) kB", Path(f"/proc/{pid}/status").read_text(encoding="ascii"), re.MULTILINE)
    except OSError:
        return 0
    return int(found[1]) << 10 if found else 0


def run_within(command, limit, timeout):
    """Runs a program, and ends it if it takes more memory or time: (its lines, its peak memory, why it failed or None)."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    started, peak, failure = time.monotonic(), 0, None
    while process.poll() is None:
        peak = max(peak, peak_memory(process.pid))
        if peak > limit:
            failure = "it needs more memory"
        elif time.monotonic() - started > timeout:
            failure = f"it takes more than {timeout} s"
        if failure:
            os.killpg(process.pid, signal.SIGKILL)
            break
        time.sleep(0.01)
    output, errors = process.communicate()
    if process.returncode != 0 and not failure:
        failure = (errors.strip().splitlines() or [f"exit code {process.returncode}"])[-1][:100]
    return [json.loads(line) for line in output.splitlines() if line.startswith("{")], peak, failure


def rate_of(lines):
    """(hops a second, or None; why a program says that it cannot do it, or None)"""
    rates = [line["best"] for line in lines
             if line.get("metric") == "per_second" and line["params"].get("order") == "memory"]
    reasons = [line["unsupported"] for line in lines if "unsupported" in line]
    return (max(rates) if rates else None), (reasons[0] if reasons else None)


class Ring:
    """What one system has done."""

    def __init__(self, command, variant):
        self.command = (*command, "--workers", "1")
        # Only these programs take --only; the others measure a ring at random as well.
        self.only = bool(variant)
        if variant:
            self.command += ("--variant", variant)
        self.rates = {}
        self.most = 0  # bytes, of the largest ring
        self.ended = None

    def measure(self, n, limit, seconds, timeout):
        """Whether it was done within the limit."""
        only = ("--only", f"n={n},order=memory") if self.only else ()
        lines, peak, failure = run_within([*self.command, "--n", str(n), "--seconds", str(seconds), *only], limit, timeout)
        rate, unsupported = rate_of(lines)
        reason = failure or unsupported or (None if rate else "it printed no result")
        if reason:
            self.ended = f"{n:,} fibers: {reason}"
            return False
        self.rates[n] = max(rate, self.rates.get(n, 0))
        self.most = max(self.most, peak)
        return True


def measure(rings, options, say):
    """Measures all of them, round by round."""
    sizes = None  # unknown, in the first round
    for round_number in range(1, options.rounds + 1):
        active, n = dict(rings), FIRST
        while active:
            say(f"round {round_number} of {options.rounds}: {n:,} fibers: {'; '.join(active)}")
            for name, ring in list(active.items()):
                # What was too much in one round is not tried in the next ones.
                if (sizes and n not in sizes[name]) or not ring.measure(n, options.memory, options.seconds, options.timeout):
                    del active[name]
            n *= 2
        sizes = {name: set(ring.rates) for name, ring in rings.items()}


def table(rates):
    """Yields lines of Markdown of {system: {n: hops a second}}."""
    def cell(rate):
        return f"{rate / 1e6:.3g}" if rate else "-"

    sizes = sorted({n for each in rates.values() for n in each})
    return markdown(["fibers; millions of hops a second", *rates],
                    ([f"{n:,}", *(cell(each.get(n)) for each in rates.values())] for n in sizes))


def draw(rates, path, plt):
    canvas, axes = plt.subplots(figsize=(9, 5), layout="constrained")
    for name, line in rates.items():
        _, colour, style = SYSTEMS[name]
        axes.plot(list(line), list(line.values()), style, color=colour, marker="o", markersize=4, label=name)
    axes.set(xscale="log", yscale="log", xlabel="fibers, processes or threads in the ring")
    axes.legend(fontsize=7, loc="lower left")
    pictures.finish(axes, "Hops of the token in a second")
    pictures.save(canvas, path)


def find_rings(build_dir, say):
    """{system: Ring}, and what is missing."""
    peers = {peer for (peer, _), _, _ in SYSTEMS.values()}
    programs, absent = find_programs(BENCH, build_dir, ROOT / "build" / "bench",
                                     lambda workload, peer: workload == "threadring" and peer in peers, say)
    commands = {program.peer: program.command for program in programs}
    pinned = ("taskset", "-c", str(machine.choose_cpus(1)[0]))
    rings = {name: Ring((*pinned, *commands[peer]), variant)
             for name, ((peer, variant), _, _) in SYSTEMS.items() if peer in commands}
    return rings, [f"{each.peer}: {each.reason}" for each in absent]


def main():
    parser = argparse.ArgumentParser(prog="./run tables ring", description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--memory", type=parse_bytes, default="256M", metavar="SIZE",
                        help="what a process may use, as 4G, which the paper has (default: 256M)")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="runs of each size (default: 3)")
    parser.add_argument("--seconds", type=float, default=0.1, metavar="S", help="time of one measurement (default: 0.1)")
    parser.add_argument("--timeout", type=int, default=300, metavar="S",
                        help="after how many seconds a process is given up (default: 300)")
    parser.add_argument("--build-dir", type=Path, default=ROOT / "build" / "release", metavar="DIR",
                        help="where CMake built the programs (default: build/release)")
    parser.add_argument("--picture", type=Path, metavar="FILE.svg", help="draw the figure there")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there")
    parser.add_argument("--again", type=Path, metavar="FILE", help="print and draw the results in FILE; measure nothing")
    options = parser.parse_args()
    plt = pictures.plotting("ring") if options.picture else None

    def say(text):
        print(text, file=sys.stderr, flush=True)

    if options.again:
        document = json.loads(options.again.read_text(encoding="utf-8"))
    else:
        try:
            rings, missing = find_rings(options.build_dir, say)
        except BuildMissing as error:
            sys.exit(str(error))
        measure(rings, options, say)
        about = machine.describe(ROOT, options.build_dir)
        document = {
            "machine": f"{about['cpu']}, Linux {about['kernel']}; commit {about['commit']}; the most of "
                       f"{options.rounds} rounds; at most {options.memory >> 20:,} MiB for each",
            "rates": {name: ring.rates for name, ring in rings.items()},
            "bytes": {name: ring.most for name, ring in rings.items()},
            "ended": {name: ring.ended for name, ring in rings.items()},
            "missing": missing,
        }
    if options.json:
        options.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    rates = {name: {int(n): rate for n, rate in each.items()} for name, each in document["rates"].items()}
    print(f"{document['machine']}\n\n" + "\n".join(table(rates)) + "\n")
    print("\n".join(markdown(["", "most fibers", "bytes for each", "the next ring"],
                             ([name, f"{max(each, default=0):,}",
                               f"{document['bytes'][name] / max(each):,.0f}" if each else "-",
                               document["ended"][name]] for name, each in rates.items()))))
    for each in document["missing"]:
        print(f"\nnot measured: {each}")
    if plt:
        draw(rates, options.picture, plt)
    if not any(rates.values()):
        sys.exit("ring: nothing was measured")


if __name__ == "__main__":
    main()
