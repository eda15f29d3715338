#!/usr/bin/env python3
"""Tests of the model of Jaaskelainen's processor (bench/mp3/register_file.py), on cases that were computed by hand."""

import sys
import unittest
from pathlib import Path

BENCH = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(BENCH), str(BENCH / "mp3")]

import model  # noqa: E402
import register_file  # noqa: E402


def operation(unit, writes="", reads="", loads=0, stores=0):
    return [unit, loads, stores, writes.split(), reads.split()]


def add(to, one, other):
    return operation("alu", to, f"{one} {other}")


LOAD, STORE = operation("move", "A", "P", loads=1), operation("move", "", "P A", stores=1)
JUMP = operation("jump")


class Parts(unittest.TestCase):
    machine = register_file.Machine()

    def cycles(self, *operations, **how):
        return register_file.cycles_of(self.machine, operations, **how)

    def test_two_operations_that_do_not_need_each_other_share_a_cycle(self):
        self.assertEqual(self.cycles(add("A", "X", "Y"), add("B", "X", "Y")), 1)

    def test_an_operation_waits_for_the_value_that_it_reads(self):
        self.assertEqual(self.cycles(add("A", "X", "Y"), add("B", "A", "Y")), 2)
        self.assertEqual(self.cycles(LOAD, add("B", "A", "Y")), 4)

    def test_an_operation_reads_a_register_before_a_later_one_writes_it(self):
        self.assertEqual(self.cycles(add("B", "A", "Y"), operation("move", "A")), 1)

    def test_a_second_write_of_a_register_comes_later(self):
        self.assertEqual(self.cycles(operation("move", "A"), operation("move", "A")), 2)

    def test_there_are_two_write_ports(self):
        self.assertEqual(self.cycles(*(operation("move", name) for name in "ABCDE")), 3)

    def test_there_are_four_read_ports(self):
        # Each takes no unit and writes nothing.
        self.assertEqual(self.cycles(*(operation("move", "", f"{name}1 {name}2 {name}3") for name in "AB")), 2)
        self.assertEqual(self.cycles(*(operation("move", "", f"{name}1 {name}2") for name in "ABC")), 2)

    def test_there_are_two_units_of_each_kind(self):
        self.assertEqual(self.cycles(*(operation("alu", "", "X") for _ in range(3))), 2)
        self.assertEqual(self.cycles(*(operation("mul", "", "X") for _ in range(3))), 3)  # 1 + a latency of 2

    def test_flags_are_not_in_the_register_file(self):
        compares = [operation("alu", f"F{n}", "X") for n in "12"]
        self.assertEqual(self.cycles(*compares, operation("move", "A"), operation("move", "B")), 2)
        compares = [operation("alu", "EFLAGS", "X")]
        self.assertEqual(self.cycles(*compares, operation("move", "A"), operation("move", "B")), 1)

    def test_a_load_follows_a_store(self):
        self.assertEqual(self.cycles(STORE, operation("move", "B", "Q", loads=1)), 4)

    def test_an_operation_on_memory_loads_computes_and_stores(self):
        self.assertEqual(self.cycles(operation("alu", "", "P X", loads=1, stores=1)), 3 + 1 + 1)

    def test_three_delay_slots_follow_a_jump_and_are_filled(self):
        self.assertEqual(self.cycles(JUMP), 4)
        self.assertEqual(self.cycles(LOAD, add("B", "A", "Y"), JUMP), 4)
        self.assertEqual(self.cycles(operation("alu", "EFLAGS", "X Y"), operation("jump", "", "EFLAGS")), 5)
        self.assertEqual(self.cycles(JUMP, JUMP), 4)

    def test_a_check_delays_only_the_jump(self):
        self.assertEqual(self.cycles(add("A", "X", "Y"), check=True), 4)
        self.assertEqual(self.cycles(LOAD, add("B", "A", "Y"), check=True), 4)
        self.assertEqual(self.cycles(LOAD, add("B", "A", "Y"), JUMP, check=True), 8)
        long = [add("A", "A", "Y") for _ in range(9)]
        self.assertEqual(self.cycles(*long, JUMP), 9)
        self.assertEqual(self.cycles(*long, JUMP, check=True), 9)


class Switches(unittest.TestCase):
    machine = register_file.Machine()

    def test_two_registers_are_saved_or_restored_in_a_cycle(self):
        self.assertEqual([register_file.save(self.machine, number) for number in (0, 1, 2, 3, 31)], [0, 1, 1, 2, 16])
        self.assertEqual([register_file.restore(self.machine, number) for number in (0, 1, 2, 3, 31)], [0, 3, 3, 4, 18])

    def test_a_turn_of_the_player_is_two_switches(self):
        # Four jumps of 4 cycles, a scheduler of 7 twice, a player of 8.
        self.assertEqual(register_file.turn(self.machine, 0, 0), 16 + 14 + 8)
        self.assertEqual(register_file.turn(self.machine, 10, 2), 38 + 5 + 7 + 1 + 3)
        self.assertEqual(register_file.turn(self.machine, 31, 31), 38 + 2 * (16 + 18))


# A loop of one block, which calls a function of one block.
PARTS = [
    {"part": 0, "block": True, "live": 4, "scratch": [2, 2, 0, 1],
     "operations": [add("A", "A", "X"), add("A", "A", "X"), add("A", "A", "X"), operation("call")]},  # 4 cycles
    {"part": 1, "block": False, "live": 3, "scratch": [1, 1],
     "operations": [operation("alu", "EFLAGS", "A"), operation("jump", "", "EFLAGS")]},               # 5 cycles
    {"part": 2, "block": True, "live": 6, "scratch": [3], "operations": [operation("jump")]},         # 4 cycles, 8
]


class Runs(unittest.TestCase):
    program = register_file.Program(register_file.Machine(), PARTS[::-1])
    parts = [0, 2, 1] * 100

    def run_with(self, period, size=300):
        return self.program.run([self.parts[at:at + size] for at in range(0, len(self.parts), size)], period, [2, 10])

    def test_cycles_are_counts_times_the_cycles_of_parts(self):
        ran = self.run_with(1000)
        self.assertEqual((self.program.plain, self.program.checked), ([4, 5, 4], [8, 5, 8]))
        self.assertEqual((ran.plain, ran.checked), (1300, 2100))
        self.assertEqual(ran.at_checks, {4: 100, 6: 100})

    def test_a_due_timer_waits_for_the_next_check_or_mark(self):
        # A round is 13 cycles: block 0 at 0, block 2 at 4, part 1 at 8. The only mark is at cycle 2 of a round. The timer
        # is due at 6, 12, 5, 11, 4, 10, 3, 9, 2, 8, 1, 7 and 0 of a round, and then again.
        ran = self.run_with(6)
        self.assertEqual(sum(ran.at_timer.values()), (1300 - 1) // 6 - 1)  # the last finds none
        # In 13 periods, block 2 is next at 4, 3, 2 and 1, and block 0 at the others.
        self.assertAlmostEqual(ran.at_timer[6] / sum(ran.at_timer.values()), 4 / 13, delta=0.02)
        # The mark is at most 2 cycles away at 0, 1 and 2, and at most 10 at 5 to 12 as well.
        self.assertAlmostEqual(ran.share_marked(2), 3 / 13, delta=0.02)
        self.assertAlmostEqual(ran.share_marked(10), 11 / 13, delta=0.02)

    def test_it_does_not_matter_how_the_trace_is_cut(self):
        whole = self.run_with(7)
        for size in (1, 2, 5, 64):
            cut = self.run_with(7, size)
            self.assertEqual((cut.plain, cut.at_timer), (whole.plain, whole.at_timer))
            self.assertAlmostEqual(cut.share_marked(10), whole.share_marked(10), delta=0.02)

    def test_the_parts_of_two_units_are_refused(self):
        with self.assertRaises(ValueError):
            register_file.Program(register_file.Machine(), PARTS + PARTS)

    def test_the_tables_have_the_papers_columns(self):
        ran = self.run_with(1000)
        often = self.program.run([self.parts], 100, model.LIMITS)
        text = "\n".join(model.tables(self.program, often, often, register_file.Machine(), 1))
        self.assertIn("| no threading | 1,300 | - | 0.00 |", text)
        self.assertIn("| the paper: full save | 21,116,286,373 | 23.8 | 352 |", text)
        # At each of 200 checks a turn of 106 cycles.
        self.assertIn(f"| full save | {ran.checked + 200 * 106:,} | {100 * (ran.checked + 21200) / 1300 - 100:.1f} |", text)
        self.assertIn("deferred to a mark, at most 10 cycles", text)


if __name__ == "__main__":
    unittest.main()
