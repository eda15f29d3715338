#!/usr/bin/env python3
"""Runs every table and figure of the five papers, and writes a report: what the paper says, what Sennit measures, and why
they differ.

Keeps the result of each in build/paper/results/, and writes build/paper/index.html with a page for each paper.
"""

import argparse
import datetime
import html
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BENCH = Path(__file__).resolve().parents[1]
ROOT = BENCH.parent
sys.path[:0] = [str(BENCH), str(BENCH / "paper")]
from harness import pictures, table  # noqa: E402
from harness.text_table import filled  # noqa: E402
from items import PAPERS  # noqa: E402

STYLE = """
body { font: 16px/1.5 sans-serif; margin: 2em auto; max-width: 70em; padding: 0 1em; color: #222; }
table { border-collapse: collapse; margin: 1em 0; font-size: 14px; display: block; overflow-x: auto; }
th, td { border: 1px solid #ccc; padding: .25em .6em; text-align: right; }
th:first-child, td:first-child { text-align: left; }
tr.sennit { background: #eef6ff; font-weight: bold; }
caption { text-align: left; font-weight: bold; padding: .3em 0; }
blockquote { border-left: 4px solid #88a; margin: 1em 0; padding: .2em 1em; background: #f4f4f8; }
code { background: #f0f0f0; padding: .1em .3em; overflow-wrap: anywhere; }
img { max-width: 100%; }
.failed { color: #b00; font-weight: bold; }
pre { background: #f8f8f8; padding: .6em; overflow-x: auto; }
"""


class Wrong(Exception):
    """What a user can put right."""


# ---- Results.

def tables_in(text):
    """The Markdown tables of a text: {"title", "header", "rows"}."""
    found, title = [], ""
    lines = iter([*text.splitlines(), ""])
    for line in lines:
        if not line.startswith("|"):
            title = line.strip("#* :") if line.strip() else title
            continue
        block = []
        while line.startswith("|"):
            block.append([cell.strip() for cell in line.strip().strip("|").split("|")])
            line = next(lines)
        if len(block) > 2 and all(re.fullmatch(r":?-+:?", cell) for cell in block[1]):
            found.append({"title": title, "header": block[0], "rows": block[2:]})
        title = ""
    return found


def tables_of_bench(document):
    """The tables of ./run bench, from its JSON file."""
    found = []
    for title, header, rows in table.tables(document["results"]):
        found.append({"title": title, "header": header[1:], "rows": list(filled(row[1:] for row in rows)),
                      "marked": [number for number, row in enumerate(rows) if row[0]]})
    return found


def empty_cells(tables):
    """How many cells have nothing in them. "-" is something: what a peer does not have, or what is not asked for."""
    return sum(cell == "" for each in tables for row in each["rows"] for cell in row[1:])


class Results:
    """The results that are kept, one file each."""

    def __init__(self, folder):
        self.folder = folder

    def path(self, paper, item):
        return self.folder / f"{paper.key}-{item.key}.json"

    def get(self, paper, item):
        path = self.path(paper, item)
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None

    def put(self, paper, item, result):
        self.folder.mkdir(parents=True, exist_ok=True)
        self.path(paper, item).write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


# ---- Running.

def run_item(item, line, folder):
    """Runs one command line and returns its result."""
    is_bench = line.startswith("./run bench ")
    with tempfile.TemporaryDirectory(prefix="sennit_paper_") as place:
        output = Path(place) / "out.json"
        began = time.monotonic()
        done = subprocess.run(["bash", "-c", f"{line} --json {output}" if is_bench else line], cwd=ROOT,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False, errors="replace")
        seconds = time.monotonic() - began
        document = json.loads(output.read_text(encoding="utf-8")) if is_bench and output.exists() else None
    found = tables_of_bench(document) if document else tables_in(done.stdout)
    failure = ""
    if done.returncode != 0:
        failure = f"exit status {done.returncode}"
    elif not found:
        failure = "it printed no table"
    elif missing := [name for name in item.pictures if not (folder / name).exists()]:
        failure = f"it drew no {', '.join(missing)}"
    elif count := empty_cells(found):
        failure = f"{count} cells are empty"
    return {"command": line, "seconds": round(seconds, 1), "failure": failure, "tables": found,
            "about": about(document, done.stdout), "end": done.stdout[-3000:] if failure else "",
            "when": datetime.datetime.now().isoformat(timespec="minutes")}


def about(document, text):
    """The machine."""
    if document:
        machine = document["machine"]
        return f"{machine['cpu']}, {machine['cpus']} CPUs, Linux {machine['kernel']}; commit {machine['commit']}"
    line = re.search(r"^.*\bLinux \d.*$", text, re.MULTILINE)
    return line.group(0) if line else ""


def draw_bars(result, title, path, plt):
    """The first columns of the tables of ./run bench as bars: the least value of each row."""
    groups = [each for each in result["tables"] if each["header"][:3] == ["peer", "variant", "min"]]
    if not groups:
        return False
    rows = sum(len(each["rows"]) for each in groups)
    figure, panels = plt.subplots(len(groups), 1, figsize=(9, 0.9 * len(groups) + 0.24 * rows), squeeze=False,
                                  gridspec_kw={"height_ratios": [len(each["rows"]) + 2 for each in groups]})
    for axes, each in zip(panels[:, 0], groups):
        names = [" ".join(row[:2]).removesuffix(" -") for row in each["rows"]][::-1]
        values = [float(row[2].replace(",", "")) for row in each["rows"]][::-1]
        colours = ["tab:blue" if name.startswith("sennit") else "tab:gray" for name in names]
        axes.barh(names, values, color=colours)
        if min(values) > 0 and max(values) > 20 * min(values):
            axes.set_xscale("log")
        pictures.finish(axes, each["title"])
    figure.suptitle(title)
    figure.tight_layout()
    pictures.save(figure, path)
    plt.close(figure)
    return True


# ---- The pages.

def text_of(value):
    return html.escape(str(value), quote=False)


def html_table(each):
    marked = set(each.get("marked", ()))
    lines = ["<table>"]
    if each["title"]:
        lines.append(f"<caption>{text_of(each['title'])}</caption>")
    lines.append("<tr>" + "".join(f"<th>{text_of(cell)}</th>" for cell in each["header"]) + "</tr>")
    for number, row in enumerate(each["rows"]):
        lines.append(('<tr class="sennit">' if number in marked else "<tr>")
                     + "".join(f"<td>{text_of(cell.replace('**', ''))}</td>" for cell in row) + "</tr>")
    return "\n".join([*lines, "</table>"])


def html_page(title, body):
    return (f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta name="viewport" content="width=device-width">\n<title>{text_of(title)}</title>\n<style>{STYLE}</style>\n'
            f"</head>\n<body>\n{body}\n</body>\n</html>\n")


def html_item(item, result, shown):
    lines = [f'<h2 id="{item.key}">{text_of(item.title)}</h2>', f"<blockquote>{text_of(item.paper)}</blockquote>"]
    if result is None:
        return "\n".join([*lines, '<p class="failed">It has not been run.</p>', f"<p><code>{text_of(item.command)}</code></p>"])
    if result["failure"]:
        lines += [f'<p class="failed">It failed: {text_of(result["failure"])}.</p>', f"<pre>{text_of(result['end'])}</pre>"]
    lines += [f'<p><img src="{name}" alt="{text_of(item.title)}"></p>' for name in shown]
    lines += map(html_table, result["tables"])
    lines += [f"<p><b>Why it differs.</b> {text_of(item.why)}</p>",
              f"<p><code>{text_of(result['command'])}</code>: {result['seconds']:.0f} s, {result['when']}. "
              f"{text_of(result['about'])}</p>"]
    return "\n".join(lines)


def write_pages(out, papers, results, quick, plt):
    """Returns (number of items, failures)."""
    failures, count = [], 0
    front = ["<h1>Sennit and five papers</h1>",
             "<p>Each table and figure of the papers on which Sennit is based, run again. A page shows what the paper says, what "
             "this machine measured, and why the two differ.</p>"]
    if quick:
        front.append('<p class="failed">This was --quick: it shows that everything runs. Its numbers mean nothing.</p>')
    front.append("<table><tr><th>paper</th><th>tables and figures</th><th>failed</th><th>cannot be had</th></tr>")
    for paper in papers:
        body = [f"<p><a href=\"index.html\">All papers</a></p><h1>{text_of(paper.title)}</h1>", f"<p>{text_of(paper.authors)}. "
                f"Where each section is in the code, and longer measurements: <code>{text_of(paper.page)}</code>.</p>"]
        failed = 0
        for item in paper.items:
            count += 1
            result = results.get(paper, item)
            shown = [name for name in item.pictures if (out / name).exists()]
            if result and not shown and draw_bars(result, item.title, out / f"{paper.key}-{item.key}.svg", plt):
                shown = [f"{paper.key}-{item.key}.svg"]
            body.append(html_item(item, result, shown))
            if result is None or result["failure"]:
                failed += 1
                failures.append(f"{paper.short}, {item.title}: {result['failure'] if result else 'not run'}")
        body.append("<h2>What cannot be had</h2>\n<ul>")
        body += [f"<li><b>{text_of(what)}</b>: {text_of(why)}.</li>" for what, why in paper.absent]
        body.append("</ul>")
        (out / f"{paper.key}.html").write_text(html_page(paper.title, "\n".join(body)), encoding="utf-8")
        front.append(f'<tr><td><a href="{paper.key}.html">{text_of(paper.short)}: {text_of(paper.title)}</a></td>'
                     f"<td>{len(paper.items)}</td><td>{failed}</td><td>{len(paper.absent)}</td></tr>")
    front.append("</table>")
    (out / "index.html").write_text(html_page("Sennit and five papers", "\n".join(front)), encoding="utf-8")
    return count, failures


# ---- The command.

def chosen(names, papers=PAPERS):
    """The papers of that number or name; all, if none is named."""
    found = []
    for name in names:
        fits = ([paper for paper in papers if name == paper.key] or
                [paper for paper in papers if name.lower() in f"{paper.short} {paper.title}".lower()])
        if not fits:
            raise Wrong(f"no paper is '{name}'. The papers are: "
                        + ", ".join(f"{paper.key} ({paper.short})" for paper in papers))
        found += [paper for paper in fits if paper not in found]
    return found or list(papers)


def minutes(seconds):
    return f"{seconds / 60:.0f} min" if seconds > 90 else f"{seconds:.0f} s"


def main(arguments=None, papers=PAPERS):
    parser = argparse.ArgumentParser(prog="./run paper", description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("seeds", nargs="*", metavar="PAPER",
                        help="the papers to run, by number or a word of their names, as in 000 or dolan (default: all)")
    parser.add_argument("--quick", action="store_true", help="little work: to see that all of it runs")
    parser.add_argument("--item", action="append", metavar="KEY", help="only this table or figure; may be repeated (--list)")
    parser.add_argument("--list", action="store_true", help="list the tables and figures with their commands, and end")
    parser.add_argument("--again", action="store_true", help="run nothing: write the pages from the results that are kept")
    parser.add_argument("--lwp", metavar="DIR", default="", help="measure LWP, too: lib-src/lwp of the Coda File System's sources")
    parser.add_argument("--out", type=Path, metavar="DIR", default=ROOT / "build/paper", help="where (default: build/paper)")
    options = parser.parse_args(arguments)
    try:
        wanted = chosen(options.seeds, papers)
        if options.lwp and not Path(options.lwp).is_dir():
            raise Wrong(f"--lwp: there is no folder {options.lwp}")
        if options.item:
            known = {item.key for paper in wanted for item in paper.items}
            if unknown := set(options.item) - known:
                raise Wrong(f"no item is '{min(unknown)}'. The items are: {', '.join(sorted(known))}")
    except Wrong as wrong:
        parser.error(str(wrong))
    jobs = [(paper, item, item.line(options.quick, options.lwp, options.out)) for paper in wanted for item in paper.items
            if not options.item or item.key in options.item]
    if options.list:
        for paper, item, line in jobs:
            print(f"{paper.key} {item.key:14} {item.title}\n{'':19}{line}")
        return 0
    plt = pictures.plotting("paper")
    options.out.mkdir(parents=True, exist_ok=True)
    results = Results(options.out / "results")
    left = sum(item.seconds[options.quick] for _, item, _ in jobs)
    for number, (paper, item, line) in enumerate([] if options.again else jobs, 1):
        print(f"[{number} of {len(jobs)}, about {minutes(left)} left] {paper.short}: {item.title}\n    {line}", flush=True)
        for name in item.pictures:
            (options.out / name).unlink(missing_ok=True)
        result = run_item(item, line, options.out)
        results.put(paper, item, result)
        print(f"    {result['seconds']:.0f} s{', FAILED: ' + result['failure'] if result['failure'] else ''}", flush=True)
        left -= item.seconds[options.quick]
    shutil.rmtree(options.out / "__pycache__", ignore_errors=True)
    count, failures = write_pages(options.out, wanted, results, options.quick, plt)
    print(f"{options.out / 'index.html'}: {len(wanted)} papers, {count} tables and figures, {len(failures)} failed")
    for failure in failures:
        print(f"  {failure}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
