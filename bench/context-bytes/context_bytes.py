#!/usr/bin/env python3
"""The `context-bytes` workload: how much of a stack is kept while a context is suspended, by where it suspends itself.

Run by ./run bench context-bytes. Prints a line of JSON for each site:

  record   what the switch itself writes, whoever uses it
  stock    the whole stack of a context (sites.c) and of a fiber (fibers.cpp), by clang 19; `gcc`: by gcc 12
  plugin   the same, with -sennit-no-callee-save
  primitive, primitive-plugin   the same two, of sites.c, whose switch is the plugin's (docs/papers/swapstack_primitive.md)
  checks   what a check's stub saves, with the return address and rbp, on the average of all checks of a program;
           save-all: where it saves all that a call does not keep
"""

import re
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import plugin  # noqa: E402

HERE = Path(__file__).resolve().parent
FOLDER = plugin.FOLDER / "context-bytes"
# Without a red zone, what is spilled lies where it is counted.
FLAGS = ["-O2", "-DNDEBUG", "-mno-red-zone", f"-I{plugin.ROOT}/include"]
NO_CALLEE_SAVE = plugin.checks("no-callee-save")
NO_PRIMITIVE = [*NO_CALLEE_SAVE, "-USENNIT_COMPILER_SWAPSTACK"]
COMPILERS = {"stock": (["clang-19"], ["clang++-19"]), "gcc": (["gcc-12"], ["g++-12"]),
             "plugin": (["clang-19", *NO_PRIMITIVE], ["clang++-19", *NO_PRIMITIVE]),
             "primitive": (["clang-19", *plugin.checks()],), "primitive-plugin": (["clang-19", *NO_CALLEE_SAVE],)}
STUB = 16  # return address and rbp
PROGRAMS, QUICK = ("minimp3", "zlib", "sqlite", "lua"), ("minimp3",)
RECORD = "the switch alone"
RECORD_OF = {"stock": "record", "primitive": "primitive"}  # whose it is: what it is called


def sites(compilers):
    """{site: bytes}"""
    found = {}
    for command, source, language in zip(compilers, ("sites.c", "fibers.cpp"), ("c17", "c++20")):
        program = FOLDER / source.split(".", maxsplit=1)[0]
        plugin.done([*command, f"-std={language}", *FLAGS, HERE / source, plugin.LIBRARY, "-lstdc++", "-pthread",
                     "-o", program])
        for line in plugin.done([program]).stdout.splitlines():
            site, size = line.split("\t")
            found[site] = int(size)
    return found


def size_of(stub):
    """Bytes that a stub of that name (compiler/save_set.cpp) saves, without padding."""
    saved = stub.removeprefix("sennit_yield_").split("_")
    sizes = {"xmm": 16, "ymm": 32, "zmm": 64, "x87": 112, "avx": 0, "none": 0}
    return STUB + sum(sizes.get(re.match("[xyz]mm|x87|avx|none|", each).group(), 8) for each in saved)


def of_checks(name, *options):
    """What each check's stub saves, of a program."""
    built = plugin.build_beside(name, ["-O2", *plugin.checks(*options)])
    relocations = plugin.done(["readelf", "-rW", *built.program.parent.glob("*.o")]).stdout
    return [size_of(stub) for stub in re.findall(r"PLT32 .* (sennit_yield_\w+) ", relocations)]


def main(options):
    FOLDER.mkdir(parents=True, exist_ok=True)
    for variant, compilers in COMPILERS.items():
        if options.variant in (None, variant, "record"):
            found = sites(compilers)
            record = found.pop(RECORD)
            if variant in RECORD_OF:
                plugin.say(RECORD_OF[variant], {"site": RECORD}, "bytes", "bytes/context", record)
            for site, size in found.items():
                plugin.say(variant, {"site": site}, "bytes", "bytes/context", size)
    for name in QUICK if options.quick else PROGRAMS:
        for variant, flags in (("checks", ["polls"]), ("save-all", ["polls", "polls-save=all"])):
            if options.variant in (None, variant):
                sizes = of_checks(name, *flags)
                if not sizes:
                    raise plugin.Failed(f"{name} has no checks")
                plugin.say(variant, {"site": f"a check of {name}"}, "bytes", "bytes/context", statistics.mean(sizes))


if __name__ == "__main__":
    plugin.workload(__doc__, "clang 19 and gcc 12 -O2, without a red zone", main)
