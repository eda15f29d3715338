#!/usr/bin/env python3
"""Tests of what ./run tables rethinkdb prints, and of what it reads of a process."""

import os
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tables"))

import rethinkdb  # noqa: E402


def tables(lines):
    """[{first cell: the others}] of the Markdown tables in a text, without the lines of dashes."""
    found, inside = [], False
    for line in "\n".join(lines).splitlines():
        if line.startswith("|"):
            if not inside:
                found.append({})
            first, *rest = (cell.strip() for cell in line.strip("|").split("|"))
            if first != "---":
                found[-1][first] = rest
        inside = line.startswith("|")
    return found


def measured(**values):
    return rethinkdb.Measured({quantity: list(each) for quantity, each in values.items()})


def everything(scale=1.0):
    """Results as they are measured; `scale`: how long a request takes."""
    def one(factor):
        return measured(per_second=[3000 / factor, 1000 / factor, 2000 / factor], cpu_us_per_request=[2 * factor] * 3,
                        busy_percent=[90, 100, 95], faults=[0.0] * 3, kernel_us=[1.0 * factor] * 3, reads=[0.5] * 3)

    return {"graph": {name: {f"-P {pipeline}": one(scale * (1 + number)) for pipeline in rethinkdb.PIPELINES}
                      for number, name in enumerate(rethinkdb.BARS)},
            "stacks": {name: {size: one(scale) for size in rethinkdb.SIZES} for name in rethinkdb.STACKS},
            "warm_up": {name: {phase: one(scale) for phase in ("first", "later")} for name in rethinkdb.DISK}}


class Rethinkdb(unittest.TestCase):
    def test_the_graph_compares_with_callbacks(self):
        rows = tables(rethinkdb.graph_table(everything()["graph"], "-P 32"))[0]
        self.assertEqual(rows["callbacks"], ["2,000 (1,000-3,000)", "100", "2.000", "1.00", "95 (90-100)"])
        self.assertEqual(rows["naive coroutines"][1:4], ["50", "4.000", "2.00"])
        self.assertEqual(list(rows)[1:], list(rethinkdb.BARS))

    def test_all_tables_are_printed_without_empty_cells(self):
        found = tables(rethinkdb.text("a machine", everything()))
        self.assertEqual([len(each) - 1 for each in found],
                         [len(rethinkdb.BARS)] * 2 + [len(rethinkdb.STACKS), len(rethinkdb.DISK)])
        for each in found:
            for first, rest in list(each.items())[1:]:
                self.assertTrue(first)
                self.assertNotIn("", rest)

    def test_results_are_the_same_after_json(self):
        found = everything(scale=2.5)
        again = rethinkdb.measured(rethinkdb.plain(found))
        self.assertEqual(list(rethinkdb.text("a machine", again)), list(rethinkdb.text("a machine", found)))

    def test_page_faults_and_kernel_time_of_a_process_are_read(self):
        stat = "77 (a ) name) S 1 77 77 0 -1 4194304 1234 0 5 0 300 200 0 0 20 0 3 0 999 1 2"
        faults, seconds = rethinkdb.faults_and_kernel_seconds(stat)
        self.assertEqual((faults, seconds * os.sysconf("SC_CLK_TCK")), (1234, 200))
        before = rethinkdb.faults_and_kernel_seconds(Path("/proc/self/stat").read_text(encoding="ascii"))[0]
        touched = bytearray(64 << 20)
        after = rethinkdb.faults_and_kernel_seconds(Path("/proc/self/stat").read_text(encoding="ascii"))[0]
        self.assertGreater(after, before, f"{len(touched)} bytes were zeroed")

    def test_an_environment_is_only_for_what_starts_in_it(self):
        name = "SENNIT_SELFTEST_RETHINKDB"
        with rethinkdb.environment({name: "1"}):
            self.assertEqual(os.environ[name], "1")
        self.assertNotIn(name, os.environ)


if __name__ == "__main__":
    unittest.main()
