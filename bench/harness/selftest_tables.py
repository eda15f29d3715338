#!/usr/bin/env python3
"""Tests of what ./run tables makes of counters, as programs write them."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tables"))

import tables  # noqa: E402


class Tables(unittest.TestCase):
    @staticmethod
    def run_of(workers=1, seconds=None, slept=(0, 0), **blocks):
        """`blocks`: by reason, how many without and with a stack. `seconds`: by stacks in use. `slept`: in all, and long."""
        return tables.Run(workers, {
            "blocks": [{"reason": reason.replace("_", " "), "without_stack": without, "with_stack": with_stack}
                       for reason, (without, with_stack) in (blocks or {"r": (1, 0)}).items()],
            "handoffs": 6, "nothing_ready": 2, "polls_due": 1, "continuations_called": 9, "recognized_without_stack": 0,
            "recognized_with_stack": 0, "sleeps": {"count": 1, "seconds": slept[0], "long_seconds": slept[1]},
            "stacks": {"seconds": seconds or {"1": 1.0}}})

    def work(self, name, workers=1, **counted):
        return tables.Work(name, workers, [self.run_of(workers, **counted)])

    @staticmethod
    def rows(lines):
        """The cells of a table's rows, by the first."""
        cells = ([cell.strip() for cell in line.split("|")[1:-1]] for line in "".join(lines).splitlines())
        return {first: rest for first, *rest in filter(None, cells)}

    def test_each_of_the_papers_reasons_has_its_row(self):
        work = self.work("w", readable=(10, 0), exception=(0, 20), page_fault=(0, 30), **{"yield": (5, 0)},
                         forced_yield=(0, 15), sleep=(8, 0), mutex=(12, 0))
        rows = {first: rest[0] for first, rest in
                self.rows(tables.table_1([work, self.work("kv_server", readable=(1, 0))])).items()}
        self.assertEqual({reason: rows[reason] for reason in tables.REASONS},
                         {"message receive": "10.0", "exception": "0.0", "page fault": "0.0", "thread switch": "5.0",
                          "preempt": "0.0", "internal threads": "8.0", "locks and the rest": "12.0"})
        self.assertEqual([rows[f"{reason}, with stack"] for reason in ("exception", "page fault", "preempt")],
                         ["20.0", "30.0", "15.0"])
        self.assertEqual((rows["**stack given up**"], rows["**stack kept**"]), ("**35.0**", "**65.0**"))

    def test_a_cell_is_the_median_of_the_runs_with_their_spread(self):
        self.assertEqual(tables.spread([3, 1, 10]), "3.0 (1.0-10.0)")
        self.assertEqual(tables.spread([99.98, 100, 100.01]), "100.0")  # as it is printed
        self.assertEqual(tables.spread([1234, 1000], ",.0f"), "1,117 (1,000-1,234)")
        self.assertEqual((tables.spread([None, 2.5]), tables.spread([None])), ("2.5", "-"))
        server = tables.Work("kv_server", 1, [self.run_of(readable=counts) for counts in ((9, 1), (10, 0), (5, 5))])
        self.assertEqual(self.rows(tables.table_1([server]))["**stack given up**"][0], "**90.0 (50.0-100.0)**")

    def test_workers_without_load_are_not_idle(self):
        run = self.run_of(workers=2, seconds={"1": 3.0, "2": 2.0}, slept=(6.0, 2.0))
        self.assertEqual((run.idle_share(served=False), run.idle_share(served=True)), (60.0, 50.0))

    def test_handoff_is_also_shown_of_the_blocks_that_allow_it(self):
        server = self.work("kv_server", readable=(10, 0))
        self.assertEqual(server.runs[0].handoff_share_of_possible(), 75.0)
        self.assertIsNone(self.run_of(readable=(2, 5)).handoff_share_of_possible())
        rows = self.rows(tables.table_2([server]))
        self.assertEqual([rows[name][0] for name in rows if "handoff" in name], ["60.0", "20.0", "10.0", "75.0"])
        self.assertEqual(rows["kv_server, 1 worker"], ["1", "60.0", "20.0", "10.0", "0.0"])  # of each run

    def test_each_place_where_a_fiber_blocks_is_a_site(self):
        run = tables.Run(1, {"blocks": [
            {"site": site, "reason": reason, "without_stack": without, "with_stack": with_stack}
            for site, reason, without, with_stack in (("0x1", "sleep", 40, 0), ("0x2", "sleep", 30, 0),
                                                      ("0x3", "sleep", 0, 20), ("0x3", "yield", 0, 10))]})
        self.assertEqual(len(run.sites), 4)
        self.assertEqual((run.of("internal threads", "without"), run.of("internal threads", "with")), (70, 20))

    def test_the_least_share_of_kv_servers_discards_counts(self):
        server = self.work("kv_server, pipeline 1", readable=(99, 1))
        contended = tables.Work("kv_server, pipeline 32", 2, [self.run_of(2, readable=(98, 2)),
                                                              self.run_of(2, readable=(90, 0), mutex=(0, 10))])
        pager = self.work("pager", page_fault=(0, 100))
        self.assertEqual(tables.least_discards([server, pager]), (99.0, "kv_server, pipeline 1, 1 worker"))
        self.assertEqual(tables.least_discards([server, contended, pager])[0], 90.0)
        for wanted, fails in ((None, False), (90.0, False), (95.0, True)):
            with self.subTest(wanted=wanted):
                self.assertEqual(tables.discards_too_little([server, contended, pager], wanted) is not None, fails)

    def test_stacks_beside_the_workers_are_too_many(self):
        works = [self.work(name, workers, seconds=seconds)
                 for name, workers, seconds in (("kv_server, a", 1, {"2": 2.0, "40": 1.0}),
                                                ("kv_server, b", 2, {"3": 0.9, "4": 1.0}), ("pager", 1, {"9": 1.0}))]
        for wanted, fails in ((None, False), (2, False), (1, True), (0, True)):
            with self.subTest(wanted=wanted):
                self.assertEqual(tables.spare_stacks_too_many(works, wanted) is not None, fails)

    def test_forced_yields_without_a_stack_are_counted_as_such(self):
        keeping, leaving = (self.work(name, forced_yield=counts) for name, counts in (("keep", (0, 9)), ("leave", (9, 0))))
        none = self.work("none", **{"yield": (9, 0)})
        self.assertIsNone(tables.forced_yields_miscounted(keeping, leaving))
        for each in ((leaving, keeping), (keeping, none), (none, leaving), (keeping, keeping)):
            self.assertIn("forced yields", tables.forced_yields_miscounted(*each))


if __name__ == "__main__":
    unittest.main()
