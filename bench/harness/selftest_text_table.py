#!/usr/bin/env python3
"""Tests of tables as text."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from harness.text_table import aligned, markdown  # noqa: E402


class TextTable(unittest.TestCase):
    def test_markdown_aligns_all_columns_but_the_first(self):
        self.assertEqual(list(markdown(["", "n", "ns"], [["a", 1, 2.5]])),
                         ["|  | n | ns |", "| --- | ---: | ---: |", "| a | 1 | 2.5 |"])
        self.assertEqual(list(markdown(["a", "b"], [], align="---"))[1], "| --- | --- |")

    def test_a_line_of_markdown_is_yielded_before_the_next_row_is_computed(self):
        computed = []
        lines = markdown(["a"], (computed.append(i) or [i] for i in range(2)))
        self.assertEqual([next(lines) for _ in range(3)][-1], "| 0 |")
        self.assertEqual(computed, [0])

    def test_columns_are_aligned(self):
        self.assertEqual(list(aligned([["", "n"], ["longer", 12], ["b", 1]])), ["         n", "longer  12", "b        1"])
        self.assertEqual(list(aligned([["a", "bc"], ["de", ""]], left=2)), ["a   bc", "de"])


if __name__ == "__main__":
    unittest.main()
