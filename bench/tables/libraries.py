#!/usr/bin/python3
"""Dolan et al. 2013, Figures 7 and 8: Sennit beside Pthreads, Pth, State Threads and LWP. Prints Markdown tables.

Run by ./run tables libraries. Figure 7 is sysbench's tests threads and mutex, a bounded queue (the paper's condvar),
and sort; Figure 8 is fib and threadring. Pthreads and Sennit's parallel runtime have two CPUs, as the paper's have all;
the others have one CPU. Times are also relative to Pthreads on two CPUs.
"""

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import pictures, runner  # noqa: E402
from harness.table import format_number  # noqa: E402
from harness.text_table import markdown  # noqa: E402

# What it is: its peer, variant (None: the best of all), and workers; its colour.
SYSTEMS = {
    "Pthreads, 2 CPUs": (("pthread", None, 2), "tab:gray"),
    "Sennit parallel, 2 CPUs": (("sennit", "parallel", 2), "tab:purple"),
    "Sennit local": (("sennit", "local", 1), "tab:pink"),
    "Pth": (("libpth", None, 1), "tab:red"),
    "LWP": (("liblwp", None, 1), "tab:orange"),
    "State Threads": (("libst", None, 1), "tab:green"),
    "Pthreads, 1 CPU": (("pthread", None, 1), None),  # not in the pictures
    "Sennit parallel, 1 CPU": (("sennit", "parallel", 1), None),
}
BASE = "Pthreads, 2 CPUs"

# The benchmarks of each figure: the paper's name, the workload, its parameters, and what is timed.
FIGURES = {
    7: (("threads", "sysbench", {"test": "threads"}, "a lock, a yield, an unlock"),
        ("mutex", "sysbench", {"test": "mutex", "loops": 10_000}, "10,000 loops, a lock, an unlock"),
        ("mutex, no loops", "sysbench", {"test": "mutex", "loops": 0}, "a lock, an unlock"),
        ("condvar", "queue", {}, "an item through a bounded queue"),
        ("sort", "sort", {}, "one of the sorted numbers")),
    8: (("fib", "fib", {}, "a fiber or thread of a call"),
        ("threadring", "threadring", {"order": "memory"}, "a hop round a ring of 503")),
}

# The runs of the runner; `n` means something else in each workload. And with --quick. The numbers that fib computes are
# those of a quick run: they suffice for the time.
RUNS = (("sysbench", "queue"), ("sort", "--set", "n=1000000"), ("fib", "--quick"),
        ("threadring", "--set", "n=503"))
QUICK_RUNS = (("sysbench", "queue"), ("sort", "--set", "n=1000"), ("fib", "--set", "n=5"),
              ("threadring", "--set", "n=20"))


def times(results):
    """{(workload's paper name, system): the least ns}"""
    found = {}
    for benchmarks in FIGURES.values():
        for name, workload, params, _ in benchmarks:
            for system, ((peer, variant, workers), _) in SYSTEMS.items():
                matching = [entry["min"] for entry in results
                            if (entry["workload"], entry["peer"], entry["workers"]) == (workload, peer, workers)
                            and variant in (None, entry["variant"]) and entry["metric"] == "ns"
                            and (params.items() <= entry["params"].items() or _shrunk(params, entry["params"]))]
                if matching:
                    found[name, system] = min(matching)
    return found


def _shrunk(wanted, params):
    """Whether a quick run of `mutex` has stood in for the one with sysbench's loops."""
    return wanted.get("loops") == 10_000 and params.get("test") == "mutex" and params["loops"] not in (0, 10_000)


def table(found, figure):
    """Yields lines of Markdown."""
    def cell(name, system):
        ns, base = found.get((name, system)), found.get((name, BASE))
        if ns is None:
            return "not measured"
        return format_number(ns) + (f" ({format_ratio(ns / base)})" if base else "")

    return markdown([f"Figure {figure}: ns, and relative to {BASE}", *SYSTEMS],
                    ([f"{name}: {timed}", *(cell(name, system) for system in SYSTEMS)]
                     for name, _, _, timed in FIGURES[figure]))


def format_ratio(ratio):
    if ratio < 0.01:
        return f"1/{1 / ratio:,.0f}"
    return f"{ratio:,.0f}" if ratio >= 99.5 else f"{ratio:.2g}"


def draw(found, figure, path, plt):
    names = [name for name, *_ in FIGURES[figure]]
    shown = [system for system, (_, colour) in SYSTEMS.items() if colour]
    canvas, axes = plt.subplots(figsize=(4 + 1.4 * len(names), 4.2), layout="constrained")
    width = 0.8 / len(shown)
    for i, system in enumerate(shown):
        (_, _, workers), colour = SYSTEMS[system]
        present = [(at, found[name, system] / found[name, BASE]) for at, name in enumerate(names)
                   if (name, system) in found and (name, BASE) in found]
        bars = axes.bar([at + (i - (len(shown) - 1) / 2) * width for at, _ in present], [ratio for _, ratio in present],
                        width, color=colour, hatch="//" if workers == 2 else None, edgecolor="white", label=system)
        axes.bar_label(bars, [format_ratio(ratio) for _, ratio in present], padding=2, fontsize=6, rotation=90)
    axes.axhline(1, color="black", linewidth=0.5)
    axes.set(yscale="log")
    axes.margins(y=0.15)  # for the numbers at the bars
    axes.set_xticks(range(len(names)), names)
    axes.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1, 1))
    pictures.finish(axes, f"Time, relative to {BASE}")
    pictures.save(canvas, path)


def main():
    parser = argparse.ArgumentParser(prog="./run tables libraries", description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--quick", action="store_true", help="short runs: to see that it works")
    parser.add_argument("--rounds", type=int, default=7, metavar="N", help="runs of each program (default: 7)")
    parser.add_argument("--seconds", default="0.2", metavar="S", help="time of one measurement (default: 0.2)")
    parser.add_argument("--build-dir", metavar="DIR", help="where CMake built the programs (default: build/release)")
    parser.add_argument("--lwp", metavar="DIR", help="the folder of LWP: lib-src/lwp of the Coda File System's sources")
    parser.add_argument("--pictures", type=Path, metavar="DIR",
                        help="draw both figures there: swapstack_2013_figure_7.svg, swapstack_2013_figure_8.svg")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there")
    parser.add_argument("--again", type=Path, metavar="FILE", help="print and draw the results in FILE; measure nothing")
    options = parser.parse_args()
    plt = pictures.plotting("libraries") if options.pictures else None
    if options.again:
        document = json.loads(options.again.read_text(encoding="utf-8"))
    else:
        peers = ",".join(dict.fromkeys(peer for (peer, _, _), _ in SYSTEMS.values()))
        rounds = () if options.quick else ("--rounds", str(options.rounds), "--seconds", options.seconds)
        parts = [runner.measured(*words, "--peers", peers, "--workers", "1,2", *rounds, quick=options.quick,
                                 build_dir=options.build_dir, lwp=options.lwp)
                 for words in (QUICK_RUNS if options.quick else RUNS)]
        document = {"machine": parts[0]["machine"], "results": [entry for part in parts for entry in part["results"]]}
    if options.json:
        options.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    print(f"{runner.about(document, options.quick)}")
    found = times(document["results"])
    for figure in FIGURES:
        print("\n" + "\n".join(table(found, figure)))
        if plt:
            draw(found, figure, options.pictures / f"swapstack_2013_figure_{figure}.svg", plt)


if __name__ == "__main__":
    main()
