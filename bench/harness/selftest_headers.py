#!/usr/bin/env python3
"""Tests of the compile times of headers."""

import shutil
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "headers"))

import headers  # noqa: E402


class Rows(unittest.TestCase):
    def verdicts(self, mutex, channel):
        seconds = {"sennit/mutex.hpp": mutex, "sennit/channel.hpp": channel, "mutex": 0.4}
        contents = dict.fromkeys(seconds, (1, 1, 1))
        _, *rows = headers.rows(["sennit/mutex.hpp", "sennit/channel.hpp"], seconds, contents)
        return {row[0]: row[5] for row in rows}

    def test_a_header_misses_if_it_exceeds_both_limits(self):
        self.assertEqual(self.verdicts(0.61, 0.46), {"sennit/mutex.hpp": "missed", "sennit/channel.hpp": "missed"})

    def test_a_header_within_one_limit_does_not_miss(self):
        self.assertEqual(self.verdicts(0.59, 0.44), {"sennit/mutex.hpp": "", "sennit/channel.hpp": ""})


@unittest.skipUnless(shutil.which("g++-12"), "the headers are compiled by g++-12")
class Contents(unittest.TestCase):
    def test_own_headers_and_lines_are_counted(self):
        with tempfile.TemporaryDirectory() as folder:
            files, own, lines = headers.Meter(folder).contents("sennit/run_policy.hpp")
        self.assertEqual(files, 1)
        self.assertLess(own, 10)
        self.assertGreater(lines, own)

    def test_a_compilation_takes_time(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertGreater(headers.Meter(folder).seconds("sennit/run_policy.hpp"), 0)


if __name__ == "__main__":
    unittest.main()
