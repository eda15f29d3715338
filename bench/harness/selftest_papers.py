#!/usr/bin/env python3
"""Tests of the tables of Dolan et al. 2013: libraries, the ring, and the comparison with sysbench."""

import argparse
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tables"))

import debian_sysbench  # noqa: E402
import libraries  # noqa: E402
import token_ring  # noqa: E402


def cells(lines):
    """{first cell: the others} of a Markdown table's rows."""
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    return {row[0]: row[1:] for row in rows}


class Libraries(unittest.TestCase):
    @staticmethod
    def entry(workload, peer, variant, workers, least, **params):
        return {"workload": workload, "peer": peer, "variant": variant, "workers": workers, "params": params,
                "metric": "ns", "min": least}

    def rows(self, figure, *entries):
        return cells(libraries.table(libraries.times(entries), figure))

    def test_times_are_relative_to_pthreads_on_two_cpus(self):
        rows = self.rows(7, self.entry("queue", "pthread", "pthread", 1, 300.0), self.entry("queue", "pthread", "pthread", 2, 200.0),
                         self.entry("queue", "sennit", "local", 1, 4.0), self.entry("queue", "libst", "mutex", 1, 9.0),
                         self.entry("queue", "libst", "no-mutex", 1, 6.0))
        row = dict(zip(libraries.SYSTEMS, rows["condvar: an item through a bounded queue"]))
        self.assertEqual(row["Pthreads, 2 CPUs"], "200 (1)")
        self.assertEqual(row["Pthreads, 1 CPU"], "300 (1.5)")
        self.assertEqual(row["Sennit local"], "4 (0.02)")
        self.assertEqual(row["State Threads"], "6 (0.03)", "the better of its variants")
        self.assertEqual(row["LWP"], "not measured")

    def test_the_tests_of_sysbench_are_told_apart(self):
        entries = [self.entry("sysbench", "pthread", "pthread", 2, least, **params)
                   for least, params in ((1.0, {"test": "threads", "fibers": 64, "yields": 1000}),
                                         (2.0, {"test": "mutex", "fibers": 64, "loops": 10_000}),
                                         (3.0, {"test": "mutex", "fibers": 64, "loops": 0}))]
        rows = self.rows(7, *entries)
        self.assertEqual([next(row for name, row in rows.items() if name.startswith(f"{test}:"))[0]
                          for test in ("threads", "mutex", "mutex, no loops")], ["1 (1)", "2 (1)", "3 (1)"])

    def test_only_the_ring_in_memory_order_counts(self):
        rows = self.rows(8, self.entry("threadring", "sennit", "parallel", 2, 9.0, n=503, order="random"))
        self.assertNotIn("9", "".join(rows["threadring: a hop round a ring of 503"]))


class TokenRing(unittest.TestCase):
    def program(self, text):
        file = tempfile.NamedTemporaryFile("w", suffix=".py", prefix="sennit_ring_", encoding="utf-8")
        self.addCleanup(file.close)
        file.write(text)
        file.flush()
        return (sys.executable, file.name)

    def test_sizes_are_bytes(self):
        self.assertEqual([token_ring.parse_bytes(text) for text in ("4G", "256M", "1K")], [4 << 30, 256 << 20, 1024])
        for text in ("4", "G", "0M", "4GB"):
            with self.assertRaises(argparse.ArgumentTypeError):
                token_ring.parse_bytes(text)

    def test_a_program_that_needs_more_memory_is_ended(self):
        greedy = self.program("import time\nheld = b'x' * (300 << 20)\ntime.sleep(60)\n")
        lines, peak, failure = token_ring.run_within(greedy, 100 << 20, 50)
        self.assertEqual((lines, failure), ([], "it needs more memory"))
        self.assertGreater(peak, 100 << 20)

    def test_a_program_that_takes_too_long_is_ended(self):
        self.assertEqual(token_ring.run_within(self.program("import time\ntime.sleep(60)\n"), 1 << 40, 0.2)[2],
                         "it takes more than 0.2 s")

    def test_the_last_line_of_a_failure_is_its_reason(self):
        self.assertEqual(token_ring.run_within(self.program("raise SystemExit('no more\\nfibers')\n"), 1 << 40, 50)[2], "fibers")

    def test_sizes_double_until_the_memory_is_used(self):
        program = """import sys
n = int(sys.argv[sys.argv.index("--n") + 1])
held = b"x" * (n * 100_000)
for order, rate in (("memory", 1e6), ("random", 5e6)):
    print('{"metric": "per_second", "params": {"n": %d, "order": "%s"}, "value": 1, "best": %g}' % (n, order, rate))
import time
time.sleep(0.1)
"""
        ring = token_ring.Ring(self.program(program), None)
        options = argparse.Namespace(rounds=2, memory=250 << 20, seconds=0.1, timeout=50)
        token_ring.measure({"it": ring}, options, lambda text: None)
        self.assertEqual(ring.rates, {503: 1e6, 1006: 1e6, 2012: 1e6})
        self.assertEqual(ring.ended, "4,024 fibers: it needs more memory")
        rows = cells(token_ring.table({"it": ring.rates, "another": {503: 2.5e6}}))
        self.assertEqual((rows["503"], rows["1,006"]), (["1", "2.5"], ["1", "-"]))


class DebianSysbench(unittest.TestCase):
    def test_events_are_counted_over_the_total_time(self):
        printed = "General statistics:\n    total time:                          3.5000s\n" \
                  "    total number of events:              140\n"
        self.assertEqual(debian_sysbench.sysbench_rate(printed), 40)
        with self.assertRaises(SystemExit):
            debian_sysbench.sysbench_rate("FATAL: unknown option")

    def test_an_event_is_so_many_operations_of_the_row(self):
        printed = '{"version":"2.36"}\n{"metric":"ns","value":2000,"best":1000}\n'
        self.assertEqual(debian_sysbench.row_rate(printed, 1000), 500)
        with self.assertRaises(SystemExit):
            debian_sysbench.row_rate("", 1000)


if __name__ == "__main__":
    unittest.main()
