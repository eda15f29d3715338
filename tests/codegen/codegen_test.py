#!/usr/bin/env python3
"""What gcc and clang make of code around the switch at -O2, read from the disassembly."""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))
import disassembly  # noqa: E402

COMPILERS = {
    "gcc": {".c": ["gcc-12", "-std=c11"], ".cpp": ["g++-12", "-std=c++20"]},
    "clang": {".c": ["clang-19", "-std=c11"], ".cpp": ["clang++-19", "-std=c++20"]},
}


def compile(compiler, source, flags=("-O2", "-DNDEBUG")):
    """{name: disassembly.Function} of a file of this folder."""
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder) / "out.o"
        subprocess.run([*COMPILERS[compiler][pathlib.Path(source).suffix], *flags, "-fPIE", "-Wall", "-Werror",
                        f"-I{ROOT}/include", "-c", HERE / source, "-o", output], check=True)
        return disassembly.functions(output)


def faults_of_foo(function, recomputed, in_register=False):
    """What keeps a function from being as section 3.4 says.

    recomputed: how many loads of constants its loop must have. in_register: x may be in a register that the switch
    keeps (rbx, rbp), and not be spilled at all.
    """
    try:
        loop = disassembly.only_loop(function)
    except AssertionError as missing:
        return [str(missing)]
    faults = disassembly.faults_of_loop(loop)
    faults += [f"frame touched in the loop: {i}" for i in loop if i.touches_frame]
    outside = [i for i in function.outside(loop) if i.touches_frame]
    stores = [i for i in outside if i.stores_to_frame]
    loads = [i for i in outside if not i.stores_to_frame]
    if (len(stores), len(loads)) != (1, 1) and not (in_register and not stores + loads):
        faults.append(f"not one spill and one restore outside the loop: {[str(i) for i in outside]}")
    constants = [i for i in loop if i.mnemonic.startswith("movabs")]
    if len(constants) < recomputed:
        faults.append(f"{len(constants)} constants recomputed in the loop")
    return faults


class Section34(unittest.TestCase):
    def test_one_spill_one_restore_and_constants_recomputed(self):
        for compiler in COMPILERS:
            found = compile(compiler, "foo.c")
            for name, recomputed in (("foo", 0), ("foo_three", 2), ("foo_double", 0), ("foo_saving", 0)):
                with self.subTest(compiler=compiler, function=name):
                    self.assertEqual(faults_of_foo(found[name], recomputed, name == "foo_double"), [])

    def test_with_frame_pointer_and_position_independent(self):
        for compiler in COMPILERS:
            for flag in ("-fno-omit-frame-pointer", "-fPIC", "-O3", "-fcf-protection=full"):
                found = compile(compiler, "foo.c", ("-O2", flag))
                with self.subTest(compiler=compiler, flag=flag):
                    self.assertEqual(faults_of_foo(found["foo"], 0), [])

    def test_planted_faults_are_found(self):
        planted = {
            "calls": "a call: .*sennit_swapstack_call",
            "wrapped": "no loop around a switch",
            "spills_in_loop": "frame touched in the loop",
            "constant_in_memory": "frame touched in the loop",
            "leaves_by_return": "no loop around a switch",
        }
        for compiler in COMPILERS:
            found = compile(compiler, "bad.c")
            for name, fault in planted.items():
                with self.subTest(compiler=compiler, function=name):
                    faults = faults_of_foo(found[name], 0)
                    self.assertTrue(any(re.search(fault, f) for f in faults), faults)
            with self.subTest(compiler=compiler, function="foo, with more to recompute than there is"):
                self.assertNotEqual(faults_of_foo(compile(compiler, "foo.c")["foo"], 3), [])


class Landings(unittest.TestCase):
    """Where a jump through a register may arrive stands an instruction that allows it: at the first of each function
    of ours in assembly, and wherever an address is taken to be resumed at."""

    # The compilers, the flag, what must stand there, how an address is taken, objdump.
    ISAS = {
        "x86_64": (
            [["gcc-12"], ["clang-19"]], "-fcf-protection=full", r"endbr64", r"\tlea .*\(%rip\),%r9\s+# ([0-9a-f]+) <",
            "objdump"),
        "aarch64": (
            [["aarch64-linux-gnu-gcc-12"], ["clang-19", "--target=aarch64-linux-gnu"]], "-mbranch-protection=standard",
            r"(bti\t(c|j|jc)|paciasp)", r"\tadr\tx[0-9]+, ([0-9a-f]+) <", "aarch64-linux-gnu-objdump"),
    }

    RETURN_ADDRESSES = {"sennit_entered_root", "sennit_went_round", "sennit_served"}

    def missing(self, isa, compiler, source, flag):
        """(where a landing is missing, how many were looked for) in a file's disassembly."""
        _, _, landing, taken, objdump = self.ISAS[isa]
        with tempfile.TemporaryDirectory() as folder:
            output = pathlib.Path(folder) / "out.o"
            subprocess.run([*compiler, flag, "-O2", "-DNDEBUG", "-fPIE", f"-I{ROOT}/include", "-c", source, "-o", output],
                           check=True)
            text = subprocess.run([objdump, "-d", "--no-show-raw-insn", "-w", output], check=True, capture_output=True,
                                  text=True).stdout
        at = {int(where, 16): code for where, code in re.findall(r"^ *([0-9a-f]+):\t(.*)$", text, re.MULTILINE)}
        wanted = {int(where, 16): name for where, name in re.findall(r"^([0-9a-f]+) <(\w+)>:$", text, re.MULTILINE)
                  if name not in self.RETURN_ADDRESSES}
        wanted |= {int(where, 16): f"resumed at {where}" for where in re.findall(taken, text)}
        return [name for where, name in wanted.items() if not re.match(landing, at[where])], len(wanted)

    def test_everywhere_and_nowhere_without_the_flag(self):
        for isa, (compilers, flag, *_) in self.ISAS.items():
            sources = [ROOT / f"src/arch/switch_{isa}.S", HERE / "foo.c"]
            for compiler in compilers:
                for source in sources:
                    with self.subTest(compiler=compiler, source=source.name):
                        missing, count = self.missing(isa, compiler, source, flag)
                        self.assertEqual(missing, [])
                        self.assertGreater(count, 4)
                        missing, without = self.missing(isa, compiler, source, flag.split("=")[0] + "=none")
                        self.assertEqual(len(missing), without)


class Loops(unittest.TestCase):
    def test_the_generators_and_the_yields(self):
        wanted = ("sum_of", "generator<long>::run<even_numbers", "yield_often")
        # Now and then a yield looks outside; one beside a woken fiber, or under another policy than fifo, asks who
        # is next; one to a fiber that blocked without a stack finds one for it; one of a fiber with a yield
        # continuation goes on there. All are declared cold or unlikely, and stand outside of the straight way.
        cold = ("no_external_events", "rotate_slow", "stack_for", "finish_interrupted_yield")
        for compiler in COMPILERS:
            found = compile(compiler, "loops.cpp")
            for name in wanted:
                with self.subTest(compiler=compiler, function=name):
                    matching = [f for full, f in found.items()
                                if name in full and f.switches and ".cold" not in full]
                    self.assertEqual(len(matching), 1)
                    loop = disassembly.only_loop(matching[0])
                    self.assertEqual(disassembly.faults_of_loop(loop, cold), [])

    def test_planted_faults_are_found(self):
        for compiler in COMPILERS:
            found = compile(compiler, "bad.c")
            for name, fault in (("calls", "a call"), ("spills_dead_value", "spilled and not read")):
                with self.subTest(compiler=compiler, function=name):
                    faults = disassembly.faults_of_loop(disassembly.only_loop(found[name]))
                    self.assertTrue(any(re.search(fault, f) for f in faults), faults)


class Waits(unittest.TestCase):
    """What blocks switches in its user's own code: behind a call, whose return would then be mispredicted, it took up to
    three times as long."""

    def test_switch_where_they_are_written(self):
        for compiler in COMPILERS:
            switches = {name.split("(")[0]: bool(function.switches) for name, function in compile(compiler, "waits.cpp").items()
                        if re.match(r"(parallel|local)_", name) and ".cold" not in name}
            self.assertEqual(len(switches), 22)
            self.assertEqual([name for name, any_here in switches.items() if not any_here],
                             [name for name in switches if name.endswith("_locks")], compiler)


class OwnerPath(unittest.TestCase):
    """A worker works at its own ring, and a fiber yields to the next, without an atomic read-modify-write."""

    # What only a rare branch goes to: see Loops, work_ring.hpp for a thief that came between; or the program's end.
    RARE = r"parallel_try_yield|no_fiber_here|stack_for|finish_interrupted_yield|_contended|keeps_|_busy|sennit_suspend_dispatch|\.text\.unlikely"

    def faults(self, function):
        usual = function.usual_way()
        faults = [f"atomic: {i}" for i in usual if i.is_atomic]
        leaves = [i for i in usual if i.symbol and (i.is_call or i.mnemonic.startswith("j"))]
        return faults + [f"leaves: {i}" for i in leaves if not re.search(self.RARE, i.symbol)]

    @staticmethod
    def named(found, name):
        return found[next(full for full in found if re.match(name + r"\(.*\)$", full))]

    def test_has_no_read_modify_write(self):
        # Those with a light fence look whether it is free; a rotation has it for nothing.
        with_fence = ("ring_pop", "ring_pop_newest", "ring_put_next_slot", "ring_take_next_slot")
        for compiler in COMPILERS:
            found = compile(compiler, "owner_path.cpp")
            for name in (*with_fence, "ring_push", "ring_rotate", "parallel_yield_often"):
                with self.subTest(compiler=compiler, function=name):
                    function = self.named(found, name)
                    self.assertEqual(self.faults(function), [])
                    looks = [i for i in function.usual_way() if disassembly.FENCES in i.symbol]
                    self.assertEqual(len(looks), int(name in with_fence))
            with self.subTest(compiler=compiler, function="parallel_yield_often: its switches"):
                self.assertTrue(disassembly.only_loop(self.named(found, "parallel_yield_often")))

    def test_planted_faults_are_found(self):
        planted = {
            "counts_before": "lock (inc|add)",
            "claims_behind": "lock cmpxchg",
            "exchanges": "xchg",
            "stores_in_one_order": "xchg",
            "makes_a_full_fence": "lock or|mfence",
            "yields_and_counts": "lock (inc|add)",
            "calls": "leaves: .*elsewhere",
        }
        for compiler in COMPILERS:
            found = compile(compiler, "bad_owner_path.cpp")
            for name, fault in planted.items():
                with self.subTest(compiler=compiler, function=name):
                    faults = self.faults(self.named(found, name))
                    self.assertTrue(any(re.search(fault, f) for f in faults), faults)


if __name__ == "__main__":
    unittest.main()
