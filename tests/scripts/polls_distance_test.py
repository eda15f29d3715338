#!/usr/bin/env python3
"""tools/sennit-polls-distance adds up paths over calls as computed by hand."""

import importlib.machinery
import importlib.util
import json
import unittest
from pathlib import Path

TOOL = Path(__file__).resolve().parents[2] / "tools/sennit-polls-distance"
loader = importlib.machinery.SourceFileLoader("sennit_polls_distance", str(TOOL))
tool = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
loader.exec_module(tool)


def part(steps, *following, checked=False):
    """`steps`: numbers of instructions, of two cycles each, and names of called functions."""
    return {"checked": checked, "next": list(following),
            "steps": steps and [[each, 2 * each] if isinstance(each, int) else each for each in steps]}


def function(name, *parts, unit=None):
    return json.dumps({"function": name, "shown": name, "unit": unit or "one.c", "local": unit is not None, "parts": parts})


# 3 instructions to its check, and 4 behind it.
CHECKS = function("checks", part([3], 1, checked=True), part([4]))


class Distances(unittest.TestCase):
    def longest(self, *lines):
        """{function: instructions}; the cycles are twice as many."""
        found = {each.shown: each.longest() for each in tool.Program(lines).functions}
        for instructions, cycles in found.values():
            self.assertEqual(cycles, 2 * instructions)
        return {name: each[0] for name, each in found.items()}

    def test_the_longest_path_of_a_function_counts(self):
        self.assertEqual(self.longest(function("f", part([1], 1, 2), part([10], 3), part([20], 3), part([2]))), {"f": 23})

    def test_a_path_ends_and_begins_at_a_check(self):
        self.assertEqual(self.longest(CHECKS), {"checks": 4})

    def test_a_path_leads_round_a_loop_to_the_next_check(self):
        # A check at the end of part 1; the loop's other block is part 2.
        self.assertEqual(self.longest(function("f", part([1], 1), part([5], 2, 3, checked=True), part([30], 1), part([1]))),
                         {"f": 35})

    def test_a_call_without_a_check_is_part_of_the_path(self):
        self.assertEqual(self.longest(function("f", part([1, "g", 2, "g", 4])), function("g", part([10]))),
                         {"f": 27, "g": 10})

    def test_a_called_function_with_a_check_divides_the_path(self):
        self.assertEqual(self.longest(function("f", part([20, "checks", 5, "checks", 7])), CHECKS)["f"], 23)
        self.assertEqual(self.longest(function("f", part([1, "checks", 5, "checks", 7])), CHECKS)["f"], 12)
        self.assertEqual(self.longest(function("f", part([1, "checks", 50])), CHECKS)["f"], 54)

    def test_a_called_function_may_or_may_not_pass_its_check(self):
        both = function("both", part([1], 1, 2), part([2], 3, checked=True), part([100], 3), part([1]))
        self.assertEqual(self.longest(function("f", part([10, "both", 10])), both)["f"], 122)

    def test_a_local_function_is_that_of_its_unit(self):
        one = function("f", part([1, "g", 1]), unit="one.c")
        self.assertEqual(self.longest(one, function("g", part([10]), unit="one.c"),
                                      function("g", part([90]), unit="two.c"))["f"], 12)
        program = tool.Program([one, function("g", part([90]), unit="two.c")])
        self.assertEqual(program.unknown, {"g"})

    def test_unknown_functions_and_pointers_are_named(self):
        self.assertEqual(tool.Program([function("f", part([1, "memcpy", 1, None, 1]))]).unknown, {"memcpy", "(pointer)"})

    def test_a_recursion_is_named_and_has_an_end(self):
        program = tool.Program([function("f", part([1], 1, checked=True), part([2, "g", 3])),
                                function("g", part([4, "f", 5]))])
        self.assertEqual([each.recursive for each in program.functions], [True, True])
        # Each has a check only by f: to that of an inner f, and from that through the ends of f, of g and of f again.
        f, g = program.functions
        self.assertEqual((f.enter[0], f.between[0]), (1, 2 + 4 + 1))
        self.assertEqual((g.enter[0], g.through[0]), (4 + 1, tool.NEVER))
        # One further level is counted.
        self.assertEqual((f.leave[0], g.leave[0]), (5 + 3, 3 + 5))

    def test_a_cycle_that_nothing_bounds_is_named(self):
        self.assertEqual([each.unbounded for each in
                          tool.Program([function("f", part([1], 1), part(None, 2), part([1]))]).functions], [True])

    def test_times(self):
        self.assertEqual([tool.time_of(text) for text in ("20us", "1.5ms", "7ns", "2s")], [20e3, 1.5e6, 7, 2e9])


if __name__ == "__main__":
    unittest.main()
