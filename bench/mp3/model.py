"""Table 3 of Jaaskelainen et al. 2008 by a static model of the paper's processor (register_file.py), applied to the blocks
that minimp3 executes. `./run tables mp3 --model` prints it. Nothing of it depends on the machine that runs it."""

import array
import json
import os
import subprocess
import tempfile
from pathlib import Path

import register_file
from harness import plugin
from harness.text_table import filled, markdown

SAMPLES = 44_100  # of a second: turns of the player
BETWEEN_TURNS = 7_700  # cycles: 22 us of the paper's processor
# Section 5's rival waits for a mark at most so many cycles.
LIMITS = (10, 100, 1_000)
# One operation an instruction, on one value: the paper's processor has no vectors.
OPTIONS = ["-O2", "-DMINIMP3_NO_SIMD", "-fno-vectorize", "-fno-slp-vectorize", "-mno-red-zone"]
ALL = 31  # registers: 15 general ones, without the stack pointer, and 16 with a floating-point number each
KEPT = 6  # of these a call keeps; the rival's scratch registers are the others
TRACE = Path(__file__).with_name("trace.c")


def compiled(folder, name, options, objects=()):
    """minimp3 and its driver as one program."""
    program = folder / name
    plugin.done(["clang-19", *options, *OPTIONS, "-w", f"-I{plugin.program_named('minimp3').folder}", "-c",
                 plugin.DRIVERS / "minimp3.c", "-o", folder / f"{name}.o"])
    plugin.done(["clang-19", folder / f"{name}.o", *objects, "-o", program])
    return program


def build(folder):
    """(program that writes the parts that it executes, program that does not, the parts)"""
    described, trace = folder / "parts.jsonl", folder / "trace.o"
    plugin.done(["clang-19", "-O2", "-mgeneral-regs-only", "-c", TRACE, "-o", trace])
    traced = compiled(folder, "traced", plugin.checks(f"block-trace={described}"), [trace])
    return traced, compiled(folder, "stock", []), [json.loads(line) for line in
                                                   described.read_text(encoding="utf-8").splitlines()]


def executed(program, arguments, wanted, folder):
    """The parts that a run of the program executes: lists, in their order. It must print what is wanted."""
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen([program, *map(str, arguments)], env={**os.environ, "SENNIT_PARTS": str(pipe)},
                          stdout=subprocess.PIPE, text=True) as running:
        with pipe.open("rb") as file:
            while data := file.read(1 << 18):
                yield array.array("I", data)
        output = running.stdout.read()
    pipe.unlink()
    if running.returncode != 0 or output != wanted:
        raise plugin.Failed(f"the traced program ended with {running.returncode} and printed '{output}', not '{wanted}'")


def count(seconds, machine):
    """(Program, Ran with a turn for each sample, Ran with one in 7,700 cycles)"""
    with tempfile.TemporaryDirectory(prefix="sennit_parts_") as name:
        folder = Path(name)
        traced, stock, parts = build(folder)
        program = register_file.Program(machine, parts)
        words = [1, plugin.music(seconds)]
        wanted = plugin.done([stock, *words]).stdout
        rare = program.run(executed(traced, words, wanted, folder), BETWEEN_TURNS, LIMITS)
        period = max(1, rare.plain // (SAMPLES * seconds))
        return program, program.run(executed(traced, words, wanted, folder), period, LIMITS), rare


def methods(machine, ran):
    """[(method, cycles where nothing is due, mean of the registers saved, cycles of a turn)]"""
    full = register_file.turn(machine, ALL, ALL)
    found = [("optimized: the live set is saved", ran.checked, register_file.mean(ran.at_timer),
              register_file.mean_turn(machine, ran.at_timer, register_file.PLAYER_LIVE)),
             ("full save", ran.checked, float(ALL), full)]
    for limit in LIMITS:
        share = ran.share_marked(limit)
        # The player gives way at a mark. The timer's interrupt is a change of control, as the call of a stub is.
        at_mark = register_file.turn(machine, KEPT, KEPT)
        beside = register_file.turn(machine, ALL, KEPT)
        found.append((f"deferred to a mark, at most {limit:,} cycles ({100 * share:.1f} % find one)", ran.plain,
                      share * KEPT + (1 - share) * ALL, share * at_mark + (1 - share) * beside))
    return found


def table(header, rows):
    return "\n".join(markdown(header, filled(rows))) + "\n"


COLUMNS = ["method", "runtime, cycles", "overhead, %", "required MHz", "turns", "registers saved", "cycles of a turn"]


def rows_of(rows, base, seconds, turns_of):
    """Rows of COLUMNS. `turns_of`: how many turns there are, from the cycles without them and those of one."""
    yield ["no threading", f"{base:,}", "", f"{base / seconds / 1e6:.2f}", "", "", ""]
    for name, idle, saved, turn in rows:
        turns = turns_of(idle, turn)
        cycles = idle + turns * turn
        yield [name, f"{cycles:,.0f}", f"{100 * (cycles / base - 1):.1f}", f"{cycles / seconds / 1e6:.2f}", f"{turns:,.0f}",
               f"{saved:.1f}", f"{turn:.1f}"]


def paper_rows():
    for name, cycles, overhead, required in (("no threading", "17,051,815,737", "", 284),
                                             ("optimized", "19,194,172,482", 12.6, 318),
                                             ("full save", "21,116,286,373", 23.8, 352)):
        yield [f"the paper: {name}", cycles, overhead, required, "", "", ""]


def tables(program, often, rare, machine, seconds):
    """The texts of the three tables."""
    base = often.plain
    blocks = sum(often.at_checks.values())
    yield (f"Two write ports, four read ports, three delay slots. The {len(program.parts):,} parts of blocks are executed "
           f"{sum(often.executions.values()):,} times. {blocks:,} checks are passed, which take "
           f"{100 * (often.checked / base - 1):.1f} % of the cycles. At a check {register_file.mean(often.at_checks):.1f} of "
           f"{ALL} registers are live.\n")
    yield f"## Table 3 by the model, a turn of the player for each sample ({SAMPLES:,} a second)\n"
    yield table(COLUMNS, [*rows_of(methods(machine, often), base, seconds, lambda idle, turn: SAMPLES * seconds),
                          *paper_rows()])
    yield f"## Table 3 by the model, a turn every {BETWEEN_TURNS:,} cycles\n"
    yield table(COLUMNS, rows_of(methods(machine, rare), base, seconds,
                                 lambda idle, turn: idle / (BETWEEN_TURNS - turn)))
    yield "## Table 3 by the model, a turn at each check\n"
    at_each = [("optimized: the live set is saved", often.checked, register_file.mean(often.at_checks),
                register_file.mean_turn(machine, often.at_checks, register_file.PLAYER_LIVE)),
               ("full save", often.checked, float(ALL), register_file.turn(machine, ALL, ALL))]
    yield table(COLUMNS, rows_of(at_each, base, seconds, lambda idle, turn: blocks))


def texts(seconds):
    machine = register_file.Machine()
    yield from tables(*count(seconds, machine), machine, seconds)
