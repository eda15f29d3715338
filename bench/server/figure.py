#!/usr/bin/python3
"""Draws what `./run bench server --json FILE` measured: what a request costs by how it is executed.

    bench/server/figure.py FILE PICTURE.svg
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from harness import pictures  # noqa: E402

BARS = (
    ("callback", "callbacks, no coroutine", "tab:blue"),
    ("fiber", "a fiber per connection", "tab:purple"),
    ("pooled-swap", "coroutine per request: pooled, swap", "tab:pink"),
    ("unpooled-swap", "... not pooled", "tab:orange"),
    ("pooled-ucontext", "... by swapcontext", "tab:orange"),
    ("unpooled-ucontext", "... neither: the naive corner", "tab:red"),
)
STACKS = (("pooled-swap", "pooled", "tab:pink"), ("unpooled-swap", "not pooled", "tab:orange"))


def read(path):
    """{(variant, params): median CPU us per request}"""
    with open(path, encoding="utf-8") as file:
        results = json.load(file)["results"]
    return {(entry["variant"], tuple(sorted(entry["params"].items()))): entry["median"] for entry in results
            if entry["workload"] == "server" and entry["metric"] == "cpu_us_per_request"}


def look_up(values, variant, **params):
    key = (variant, tuple(sorted({"command": "get", "clients": 50, "pipeline": 32, **params}.items())))
    if key not in values:
        sys.exit(f"figure: the results lack {variant} with {params}: run `./run bench server` whole")
    return values[key]


def draw_square(axes, values):
    heights = [look_up(values, variant, square=1) for variant, _, _ in BARS]
    bars = axes.barh([label for _, label, _ in BARS], heights, color=[colour for _, _, colour in BARS])
    axes.bar_label(bars, [f"{height:.2f}  ({height / heights[0]:.2f} x)" for height in heights], padding=3)
    axes.invert_yaxis()
    axes.set_xlim(0, max(heights) * 1.25)
    axes.set_title("CPU time of a GET, 50 clients, -P 32 (us)", loc="left")


def draw_stacks(axes, values):
    sizes = (64, 256, 1024)
    for variant, label, colour in STACKS:
        for zeroed, style in ((0, "--"), (1, "-")):
            axes.plot(sizes, [look_up(values, variant, stack_kib=size, zeroed=zeroed) for size in sizes], style,
                      color=colour, marker="o", label=label + (", zeroed" if zeroed else ""))
    axes.set(xscale="log", yscale="log", xlabel="stack (KiB)")
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.minorticks_off()
    axes.legend()
    axes.set_title("... by the coroutines' stacks (us)", loc="left")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    plt = pictures.plotting("figure")
    values = read(sys.argv[1])
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 3.4), width_ratios=(2, 1), layout="constrained")
    draw_square(left, values)
    draw_stacks(right, values)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    pictures.save(figure, sys.argv[2])


if __name__ == "__main__":
    main()
