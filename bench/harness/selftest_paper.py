#!/usr/bin/env python3
"""Tests of ./run paper: what it makes of commands that print tables, print none, draw nothing, or fail."""

import contextlib
import io
import json
import sys
import tempfile
import unittest
from html.parser import HTMLParser
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "paper"))

import report  # noqa: E402
from items import PAPERS, Item, Paper  # noqa: E402

TABLE = r"printf 'Some machine, Linux 6.1; commit abc\n\n## Times\n\n| what | ns |\n| --- | ---: |\n| a <b> | 1 |\n| c | %s |\n'"


def item(key, command, **more):
    return Item(key, f"Table {key}", "3 < 4 microseconds", command, "It is another machine.", quick=command, **more)


def paper(*items):
    return Paper("9", "Nobody 1999", "A paper", "Nobody", "docs/none.md", items, (("A figure", "it has no numbers"),))


class Page(HTMLParser):
    """What a page has, and whether its elements are closed in order."""

    VOID = ("meta", "img", "br")

    def __init__(self, text):
        super().__init__()
        self.open, self.cells, self.images, self.links, self.text = [], 0, [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.cells += tag == "td"
        self.images += [dict(attrs)["src"]] if tag == "img" else []
        self.links += [dict(attrs)["href"]] if tag == "a" else []
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

    def handle_data(self, data):
        self.text += data


class Report(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = Path(folder.name) / "new" / "folder"

    def run_report(self, papers, *options):
        """(exit status, output, page of paper 9)."""
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            code = report.main(["--out", str(self.out), *options], papers)
        return code, output.getvalue(), Page((self.out / "9.html").read_text())

    def test_a_table_is_shown_with_what_the_paper_says(self):
        code, output, page = self.run_report([paper(item("1", TABLE % 2))])
        self.assertEqual(code, 0, output)
        self.assertEqual((page.open, page.cells), ([], 4))
        for text in ("3 < 4 microseconds", "a <b>", "Times", "It is another machine.", "Linux 6.1; commit abc", "A figure",
                     "it has no numbers"):
            self.assertIn(text, page.text)
        front = Page((self.out / "index.html").read_text())
        self.assertEqual((front.open, front.links), ([], ["9.html"]))
        self.assertIn("[1 of 1, about 60 s left]", output)  # how long it will take

    def test_what_fails_is_shown_and_does_not_end_the_rest(self):
        items = [item("1", "echo broken; exit 3"), item("2", "echo no table"), item("3", TABLE % "''"),
                 item("4", TABLE % 2, pictures=("none.svg",)), item("5", TABLE % 2)]
        code, output, page = self.run_report([paper(*items)])
        self.assertEqual(code, 1)
        for failure in ("exit status 3", "it printed no table", "1 cells are empty", "it drew no none.svg"):
            self.assertIn(failure, page.text)
            self.assertIn(failure, output)
        self.assertIn("broken", page.text)
        self.assertIn("5 tables and figures, 4 failed", output)

    def test_results_are_kept(self):
        counted = self.out.parent / "runs"
        one = item("1", f"mkdir -p {counted.parent}; echo x >> {counted}; {TABLE % 2}")
        self.run_report([paper(one)])
        code, _, page = self.run_report([paper(one, item("2", "false"))], "--item", "1", "--again")
        self.assertEqual((code, counted.read_text()), (1, "x\n"))  # the second was never run
        self.assertIn("It has not been run.", page.text)
        self.assertEqual(json.loads((self.out / "results/9-1.json").read_text())["failure"], "")

    def test_results_of_the_runner_become_bars(self):
        entry = {"workload": "switch", "metric": "ns", "unit": "ns/switch", "params": {}, "workers": 1, "runs": 3, "cycles": 2.0}
        results = [{**entry, "peer": peer, "variant": variant, "min": least, "median": least, "max": least}
                   for peer, variant, least in (("sennit", "inline", 1.0), ("libpth", "pth", 2000.0))]
        tables = report.tables_of_bench({"results": results})
        self.assertEqual(tables[0]["rows"][0][:3], ["sennit", "inline", "1"])
        self.assertEqual(tables[0]["marked"], [0])

    def test_misuse(self):
        for options, said in ((["nobody-knows-it"], "no paper is 'nobody-knows-it'"), (["--item", "x"], "no item is 'x'"),
                              (["--lwp", "/nonexistent"], "there is no folder /nonexistent")):
            errors = io.StringIO()
            with contextlib.redirect_stderr(errors), self.assertRaises(SystemExit) as end:
                report.main(options)
            self.assertEqual(end.exception.code, 2)
            self.assertIn(said, errors.getvalue())

    def test_the_five_papers(self):
        self.assertEqual([each.key for each in report.chosen(["000", "engelschall"])], ["000", "004"])
        self.assertEqual([each.key for each in PAPERS], ["000", "001", "002", "003", "004"])
        for each in PAPERS:
            for page in each.page.split(", "):
                self.assertTrue((report.ROOT / page).exists(), page)
            keys = [one.key for one in each.items]
            self.assertEqual(len(keys), len(set(keys)))
            for one in each.items:
                first = one.line(quick=True).split()[0]
                self.assertTrue((report.ROOT / first).exists(), first)


if __name__ == "__main__":
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        report.pictures.plotting = lambda program: None  # these tests draw nothing
    unittest.main()
