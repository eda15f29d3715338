#!/usr/bin/env python3
"""Tests of the comparison of instruction counts with their baseline."""

import io
import json
import sys
import tempfile
import unittest
from contextlib import redirect_stdout
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "instructions"))

import instructions  # noqa: E402

GCC = {"machine": "x86_64", "compiler": "g++-12 12.2.0", "libc": "glibc 2.36"}


class Baseline(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "baseline.json"

    def run_on(self, before, now, *arguments, made_with=None):
        """(exit status, last line of output) of the whole command, with counts in place of the programs."""
        instructions.write(self.path, GCC, before)
        output = io.StringIO()
        with mock.patch.multiple(instructions, BASELINE=self.path, ROOT=self.path.parent, count_all=lambda build: now,
                                 made_with=lambda build: made_with or GCC), redirect_stdout(output):
            status = instructions.main(arguments)
        return status, output.getvalue().splitlines()[-1]

    def test_equal_counts_pass(self):
        status, said = self.run_on({"yield": 38.58}, {"yield": 38.58})
        self.assertEqual((status, said), (0, "1 operations; none takes more instructions than the baseline"))

    def test_one_more_instruction_of_a_short_operation_fails(self):
        status, said = self.run_on({"yield": 38.58, "mutex": 10}, {"yield": 39.58, "mutex": 10})
        self.assertEqual(status, 1)
        self.assertIn("1 take more instructions than the baseline: yield", said)

    def test_two_percent_more_of_a_long_operation_fail(self):
        self.assertEqual(self.run_on({"rpc": 718}, {"rpc": 732.4})[0], 1)

    def test_half_a_percent_more_passes(self):
        self.assertEqual(self.run_on({"rpc": 718}, {"rpc": 721.6})[0], 0)

    def test_fewer_instructions_pass_and_ask_for_a_new_baseline(self):
        status, said = self.run_on({"yield": 38.58}, {"yield": 37})
        self.assertEqual(status, 0)
        self.assertIn(instructions.RENEW, said)

    def test_an_operation_that_only_one_side_has_fails(self):
        self.assertEqual(self.run_on({"yield": 38}, {"yield": 38, "spawn": 1})[0], 1)
        self.assertEqual(self.run_on({"yield": 38, "spawn": 1}, {"yield": 38})[0], 1)

    def test_another_compiler_fails_whatever_was_counted(self):
        status, said = self.run_on({"yield": 38}, {"yield": 38}, made_with={**GCC, "compiler": "g++-12 12.3.0"})
        self.assertEqual(status, 1)
        self.assertIn("12.3.0", said)

    def test_renew_writes_the_counts_and_what_they_were_made_with(self):
        newer = {**GCC, "compiler": "g++-12 12.3.0"}
        self.assertEqual(self.run_on({"yield": 38}, {"yield": 40}, "--renew", made_with=newer)[0], 0)
        self.assertEqual(json.loads(self.path.read_text()), {**newer, "instructions": {"yield": 40}})


class Count(unittest.TestCase):
    def test_a_program_without_a_result_is_an_error(self):
        operation = instructions.Operation("yield", "local", "fibers=2", 10)
        for output, collected in (("", 100), ('{"metric":"ns","operations":2}', 0)):
            done = mock.Mock(stdout=output, stderr=f"Collected : {collected}", returncode=0)
            with mock.patch("subprocess.run", return_value=done), self.assertRaises(instructions.CannotCount):
                instructions.count(operation, Path("build"))

    def test_is_for_each_operation(self):
        done = mock.Mock(stdout='{"metric":"ns","operations":2}', stderr="Collected : 100", returncode=0)
        operation = instructions.Operation("yield", "local", "fibers=2", 10)
        with mock.patch("subprocess.run", return_value=done):
            self.assertEqual(instructions.count(operation, Path("build")), 5)


if __name__ == "__main__":
    unittest.main()
