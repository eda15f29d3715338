#!/usr/bin/env python3
"""Dolan et al. 2013, Table I: what handing control to and fro takes, the paper's rows beside. Prints Markdown.

Run by ./run tables context-switch: one way, in cycles, and how many times faster than that of Pthreads. Without a
scheduler as the workload `switch` has it, with one as `yield` has it for two threads or fibers. All on one CPU.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import runner  # noqa: E402
from harness.text_table import filled, markdown  # noqa: E402

PEERS = ("libst", "liblwp", "libpth", "pthread")
# What it is; its workload, peer and variant here; the paper's cycles and speed-up.
ROWS = [
    ("raw SWAPSTACK: Sennit's inline switch", ("switch", "sennit", "inline"), (5, 345.0)),
    ("fiber library: Sennit, local", ("yield", "sennit", "local"), (35, 33.8)),
    ("fiber library: Sennit, parallel", ("yield", "sennit", "parallel"), None),
    ("ST: State Threads", ("yield", "libst", "ring"), (105, 11.5)),
    ("LWP: of the Coda File System", ("yield", "liblwp", "lwp"), (191, 6.3)),
    ("Pthreads: to and fro by a futex", ("switch", "pthread", "futex"), (1207, 1.0)),
    ("Pthreads: sched_yield", ("yield", "pthread", "sched_yield"), None),
    ("Pth: GNU Portable Threads", ("yield", "libpth", "pth"), (6111, 0.2)),
    ("Pth: its contexts alone", ("switch", "libpth", "uctx"), None),
]
BASE = ("switch", "pthread", "futex")  # sched_yield gives way to whatever else the machine does


def cells(result, base):
    """Of one row: ns, cycles, and the speed-up over `base`; either result may be None."""
    if result is None:
        return ["not measured", "", ""]
    cycles = f"{result['cycles']:,.1f}" if result["cycles"] is not None else "no clock"
    return [f"{result['min']:,.2f}", cycles, f"{base['min'] / result['min']:,.1f}" if base else ""]


def table(results):
    """Yields lines of Markdown, from the runner's results."""
    found = {(entry["workload"], entry["peer"], entry["variant"]): entry for entry in results
             if entry["workers"] == 1 and entry["params"].get("fibers", 2) == 2 and entry["metric"] == "ns"}

    def row(name, key, paper):
        here = cells(found.get(key), found.get(BASE))
        return [name, *here, *([f"{paper[0]:,}", f"{paper[1]:.1f}"] if paper else ["", ""])]

    return markdown(["", "ns", "cycles", "speed-up over Pthreads", "the paper: cycles", "speed-up"],
                    filled(row(*each) for each in ROWS))


def main():
    parser = argparse.ArgumentParser(prog="./run tables context-switch",
                                     description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--quick", action="store_true", help="short runs: to see that it works")
    parser.add_argument("--build-dir", metavar="DIR", help="where CMake built the programs (default: build/release)")
    parser.add_argument("--lwp", metavar="DIR", help="the folder of LWP: lib-src/lwp of the Coda File System's sources")
    options = parser.parse_args()
    document = runner.measured("switch", "yield", "--peers", ",".join(PEERS), "--workers", "1", "--set", "fibers=2",
                               quick=options.quick, build_dir=options.build_dir, lwp=options.lwp)
    print(f"{runner.about(document, options.quick)}\n")
    print("\n".join(table(document["results"])))


if __name__ == "__main__":
    main()
