"""Runs ./run bench for programs that make tables of its results."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

RUNNER = Path(__file__).resolve().parents[1] / "run_bench.py"


def measured(*words, quick=False, build_dir=None, lwp=None):
    """The content of the runner's JSON file. Ends the program if it has no results, or if a quick run had a failure: that
    is made to see whether all works. The runner names programs that failed on stderr."""
    command = [sys.executable, RUNNER, *words]
    command += ["--quick", "--rounds", "1", "--seconds", "0.001"] if quick else []
    command += ["--build-dir", build_dir] if build_dir else []
    command += ["--lwp", lwp] if lwp else []
    with tempfile.NamedTemporaryFile(prefix="sennit_bench_", suffix=".json") as file:
        ran = subprocess.run([*map(str, command), "--json", file.name], stdout=subprocess.PIPE, text=True, check=False)
        written = Path(file.name).read_text(encoding="utf-8")
        if not written or (quick and ran.returncode != 0):
            sys.exit(f"{ran.stdout}{' '.join(words)}: nothing to make a table of")
        return json.loads(written)


def about(document, quick=False):
    """The line about the machine, for above the table."""
    machine = document["machine"]
    return (f"{machine['cpu']}, Linux {machine['kernel']}; commit {machine['commit']}; the least of "
            f"{machine['rounds']} rounds{'; --quick: too little work to say anything' if quick else ''}")
