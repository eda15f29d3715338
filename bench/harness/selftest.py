#!/usr/bin/env python3
"""Tests of the harness, with small shell programs in place of the real ones."""

import io
import json
import os
import sys
import tempfile
import tomllib
import unittest
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import run_bench  # noqa: E402
from harness import instructions, machine, measure, plugin, table  # noqa: E402
from harness.programs import BuildMissing, Program, find_programs  # noqa: E402
from harness.results import Collection  # noqa: E402
from harness.toolchains import TOOLCHAINS, Recipe, Toolchain, find_tool  # noqa: E402
from harness.workloads import PEERS  # noqa: E402

RESULT_FIELDS = {"workload", "peer", "variant", "workers", "params", "metric", "unit", "min", "median", "max", "runs",
                 "cycles"}


def line(value, variant="v", params=None, metric="ns", unit="ns/switch", workers=1):
    return json.dumps({"variant": variant, "workers": workers, "params": params or {}, "metric": metric, "unit": unit,
                       "value": value})


class FakeClock:
    ghz = 2.0

    def read(self):
        pass


class Harness(unittest.TestCase):
    """Makes shell programs and a build directory that holds them."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.build = Path(directory.name)
        (self.build / "bench").mkdir()
        self.entries, self.absent = [], []
        self.program_path("bench_clock", 'echo \'{"ghz": 2.0}\'')

    def program_path(self, name, script):
        path = self.build / "bench" / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return path

    def add(self, workload, peer, *lines, script=""):
        """A program that prints `lines` and then does `script`."""
        text = "\n".join(f"echo '{text}'" for text in lines) + "\n" + script
        path = self.program_path(f"bench_{workload}_{peer}_{len(self.entries)}", text)
        self.entries.append({"workload": workload, "peer": peer, "program": str(path)})
        return Program(workload, peer, (str(path),))

    def run_bench(self, *arguments):
        """Runs the whole command on the programs added: (exit code, stdout, stderr, the JSON file's content)."""
        (self.build / "bench" / "programs.json").write_text(json.dumps(self.entries))
        (self.build / "bench" / "absent.json").write_text(json.dumps(self.absent))
        written = self.build / "results.json"
        output, errors = io.StringIO(), io.StringIO()
        with redirect_stdout(output), redirect_stderr(errors):
            try:
                code = run_bench.main([*arguments, "--build-dir", str(self.build), "--json", str(written)])
            except SystemExit as stop:
                code = stop.code
        content = json.loads(written.read_text()) if written.exists() else None
        return code, output.getvalue(), errors.getvalue(), content


class Aggregation(Harness):
    def test_minimum_median_and_maximum_over_rounds(self):
        counter = self.build / "count"
        program = self.add("switch", "call", script=f"""
            echo x >> {counter}
            case $(wc -l < {counter}) in 1) v=5;; 2) v=1.5;; *) v=3;; esac
            echo '{line("VALUE")}' | sed "s/\\"VALUE\\"/$v/" """)
        collection = Collection()
        job = measure.Job(program, 1, ())
        measure.measure([job], 3, FakeClock(), measure.Progress([job], 3, io.StringIO()), collection)
        (result,) = collection.results(2.0)
        self.assertEqual(set(result), RESULT_FIELDS)
        self.assertEqual((result["min"], result["median"], result["max"], result["runs"]), (1.5, 3, 5, 3))
        self.assertEqual(result["cycles"], 3.0)

    def test_the_best_slice_counts_for_the_minimum_only(self):
        self.add("threadring", "libst", json.dumps({**json.loads(line(5)), "best": 4}),
                 json.dumps({**json.loads(line(2e8, metric="per_second", unit="hops/s")), "best": 2.5e8}))
        _, _, _, content = self.run_bench("threadring", "--peers", "libst", "--rounds", "1", "--set", "n=5")
        spread = {entry["metric"]: (entry["min"], entry["median"], entry["max"]) for entry in content["results"]}
        self.assertEqual(spread, {"ns": (4, 5, 5), "per_second": (2e8, 2e8, 2.5e8)})

    def test_rounds_interleave_the_programs_and_begin_with_another(self):
        log = self.build / "log"
        programs = [self.add("switch", peer, line(1), script=f"echo {peer} >> {log}") for peer in ("call", "setjmp")]
        jobs = [measure.Job(program, 1, ()) for program in programs]
        measure.measure(jobs, 3, FakeClock(), measure.Progress(jobs, 3, io.StringIO()), Collection())
        self.assertEqual(log.read_text().split(), ["setjmp", "call", "call", "setjmp", "setjmp", "call"])

    def test_rates_have_no_cycles_and_their_best_is_the_highest(self):
        self.add("threadring", "libst", line(10, params={"order": "memory", "n": 5}, unit="ns/hop"),
                 line(1e8, params={"order": "memory", "n": 5}, metric="per_second", unit="hops/s"))
        _, output, _, content = self.run_bench("threadring", "--peers", "libst", "--rounds", "1", "--set", "n=5")
        rate = next(entry for entry in content["results"] if entry["metric"] == "per_second")
        self.assertIsNone(rate["cycles"])
        self.assertEqual(list(rate["params"]), ["n", "order"])
        self.assertIn("100,000,000", output)

    def test_more_workers_than_cpus_only_when_asked_for(self):
        many = len(os.sched_getaffinity(0)) + 1
        self.add("yield", "libst", line(1, workers=many))
        arguments = ("yield", "--peers", "libst", "--rounds", "1", "--workers", str(many))
        reasons = [entry["reason"] for entry in self.run_bench(*arguments)[3]["not_measured"]]
        self.assertTrue(any(reason.startswith(f"needs {many} CPUs") for reason in reasons), reasons)
        self.assertEqual(self.run_bench(*arguments, "--oversubscribe")[3]["results"][0]["workers"], many)

    def test_each_size_of_a_split_parameter_has_its_process(self):
        self.add("threadring", "libst", line(1), script='test "$4" != 7 || kill -SEGV $$')
        self.add("threadring", "libpth", line(1))
        _, _, _, content = self.run_bench("threadring", "--peers", "libst,libpth", "--rounds", "1", "--set", "n=5,7")
        crashed = [entry for entry in content["not_measured"] if entry["failed"]]
        self.assertEqual([(entry["peer"], entry["params"]) for entry in crashed], [("libst", {"n": 7})])


class Tables(Harness):
    def test_best_first_and_sennit_marked(self):
        self.add("switch", "call", line(2))
        self.add("switch", "sennit", line(1, variant="inline"))
        self.add("switch", "setjmp", line(8))
        _, output, _, _ = self.run_bench("switch", "--peers", "call,setjmp", "--rounds", "1")
        rows = [row.split() for row in output.splitlines() if "1" in row.split()[-1:]]
        self.assertEqual([row[:3] for row in rows],
                         [[">", "sennit", "inline"], ["call", "v", "2"], ["setjmp", "v", "8"]])
        self.assertEqual(rows[2][5], "8.00")
        self.assertEqual(rows[2][6], "16")

    def test_other_work_and_other_sizes_have_their_own_tables(self):
        def entry(variant, params):
            return {"workload": "switch", "peer": "call", "variant": variant, "workers": 1, "params": params,
                    "metric": "ns", "unit": "ns/switch", "min": 1, "median": 1, "max": 1, "runs": 1, "cycles": 1}
        text = table.format_workload(
            "switch", [entry("live10-gcc", {}), entry("x", {"n": 100}), entry("x", {"n": 9})], [], [])
        titles = [row for row in text.splitlines() if "ns/switch" in row]
        self.assertEqual(titles, ["n 9, 1 worker, ns/switch", "n 100, 1 worker, ns/switch",
                                  "live10, 1 worker, ns/switch"])

    def test_numbers(self):
        self.assertEqual([table.format_number(value) for value in (None, 0.123, 0.9951, 9.99, 12.34, 999.7, 12345.6)],
                         ["-", "0.12", "0.995", "9.99", "12.3", "1,000", "12,346"])

    def test_configuration_and_version_are_shown(self):
        self.add("switch", "call", '{"version":"1.2","configuration":"as it comes"}', line(2))
        _, output, _, content = self.run_bench("switch", "--peers", "call", "--rounds", "1")
        self.assertRegex(output, r"call +1\.2 +as it comes")
        self.assertEqual(content["machine"]["peers"], {"call": "1.2"})


class Failures(Harness):
    def not_measured(self, *lines, script, timeout=60):
        outcome = measure.run_process(self.add("switch", "call", *lines, script=script).command, timeout)
        return outcome

    def test_crash_keeps_what_was_printed_before(self):
        outcome = self.not_measured(line(2), script="kill -SEGV $$")
        self.assertIn("crashed (SIGSEGV)", outcome.failure)
        self.assertEqual(len(outcome.lines), 1)

    def test_exit_code_with_the_last_message(self):
        outcome = self.not_measured(script="echo first >&2; echo the reason >&2; exit 3")
        self.assertEqual(outcome.failure, "failed (exit code 3): the reason")

    def test_timeout_kills_the_program_and_its_children(self):
        outcome = self.not_measured(line(2), script="sleep 100 & sleep 100", timeout=1)
        self.assertIn("timed out after 1 s", outcome.failure)
        self.assertEqual(len(outcome.lines), 1)

    def test_no_result_and_nonsense(self):
        self.assertEqual(self.not_measured(script="true").failure, "printed no result")
        self.assertIn("printed what is no result: hello", self.not_measured(line(2), script="echo hello").failure)

    def test_crashed_absent_and_unsupported_are_printed_as_such(self):
        self.add("yield", "libst", line(5))
        self.add("yield", "libpth", script="kill -ABRT $$")
        self.add("yield", "pthread",
                 '{"variant":"v","workers":1,"params":{"fibers":9},"unsupported":"too many"}')
        self.absent.append({"workload": "yield", "peer": "boost-fiber", "reason": "not installed"})
        code, output, _, content = self.run_bench("yield", "--peers", "libst,libpth,pthread,boost-fiber,tbb",
                                                  "--rounds", "2")
        self.assertEqual(code, 0)
        self.assertRegex(output, r"libpth +crashed \(SIGABRT\)")
        self.assertRegex(output, r"pthread +v, fibers 9 +too many")
        self.assertRegex(output, r"boost-fiber +not installed")
        self.assertRegex(output, r"tbb +it has no program for yield")
        self.assertEqual([entry["peer"] for entry in content["not_measured"] if entry["failed"]], ["libpth"])

    def test_no_parameters_may_be_null(self):  # as Go writes a map that was not made
        self.add("yield", "go", '{"variant":"v","workers":1,"params":null,"unsupported":"too few"}', line(5))
        code, output, _, _ = self.run_bench("yield", "--peers", "go")
        self.assertEqual(code, 0)
        self.assertRegex(output, r"go +v +too few")

    def test_a_program_that_only_fails_is_run_once(self):
        log = self.build / "log"
        self.add("yield", "libst", script=f"echo run >> {log}; exit 1")
        self.add("yield", "libpth", line(1))
        self.run_bench("yield", "--peers", "libst,libpth", "--rounds", "3")
        self.assertEqual(log.read_text().split(), ["run"])

    def test_too_few_cpus(self):
        program = self.add("mutex", "std", line(1))
        job = measure.Job(program, 100_000, ())
        collection = Collection()
        measure.measure([job], 1, FakeClock(), measure.Progress([job], 1, io.StringIO()), collection)
        self.assertIn("needs 100000 CPUs", collection.not_measured()[0]["reason"])


class Command(Harness):
    def test_json_file(self):
        self.add("switch", "call", line(2))
        code, _, _, content = self.run_bench("switch", "--peers", "call", "--rounds", "1")
        self.assertEqual(code, 0)
        self.assertEqual(set(content), {"machine", "results", "not_measured"})
        self.assertLessEqual({"cpu", "kernel", "compilers", "commit", "peers", "clock_ghz"}, set(content["machine"]))
        for entry in content["results"]:
            self.assertEqual(set(entry), RESULT_FIELDS)

    def test_nothing_to_measure_is_an_error_that_says_why(self):
        self.absent.append({"workload": "switch", "peer": "call", "reason": "not installed"})
        code, _, errors, _ = self.run_bench("switch", "--peers", "call")
        self.assertEqual(code, 1)
        self.assertIn("switch call: not installed", errors)

    def test_nothing_measured_is_an_error(self):
        self.add("switch", "call", script="exit 1")
        code, _, errors, _ = self.run_bench("switch", "--peers", "call", "--rounds", "1")
        self.assertEqual(code, 1)
        self.assertIn("nothing was measured", errors)

    def test_a_failing_peer_fails_only_a_strict_run_and_sennit_fails_any(self):
        self.add("switch", "call", line(1))
        self.add("switch", "setjmp", script="exit 1")
        arguments = ["switch", "--peers", "call,setjmp", "--rounds", "1"]
        self.assertEqual(self.run_bench(*arguments)[0], 0)
        self.assertEqual(self.run_bench(*arguments, "--strict")[0], 1)
        self.add("switch", "sennit", script="exit 1")
        self.assertEqual(self.run_bench(*arguments)[0], 1)

    def test_wrong_arguments_are_refused(self):
        for arguments in (["nonsense"], ["switch", "--peers", "nobody"], ["--workers", "0"], ["--set", "fibers"],
                          ["switch", "--set", "fibers=2"], ["--rounds", "-1"]):
            code, _, errors, _ = self.run_bench(*arguments)
            self.assertEqual(code, 2, arguments)
            self.assertIn("error", errors)

    def test_options_reach_the_programs(self):
        log = self.build / "log"
        self.add("yield", "libst", line(1), script=f'echo "$@" > {log}')
        self.run_bench("yield", "--peers", "libst", "--quick", "--rounds", "1", "--set", "fibers=2,9",
                       "--seconds", "0.5")
        self.assertEqual(log.read_text().strip(), "--workers 1 --quick --seconds 0.5 --fibers 2,9")

    def test_list_measures_nothing(self):
        self.add("switch", "call", script="exit 1")
        self.absent.append({"workload": "switch", "peer": "libpth", "reason": "not installed"})
        code, output, _, content = self.run_bench("switch", "--peers", "call,libpth", "--list")
        self.assertEqual(code, 0)
        self.assertIn("peers: call", output)
        self.assertIn("absent: libpth: not installed", output)
        self.assertIsNone(content)

    def test_what_needs_the_plugin_is_absent_without_it_and_says_why(self):
        with mock.patch.object(plugin, "missing", lambda: "no plugin"):
            code, _, errors, _ = self.run_bench("mp3")
        self.assertEqual(code, 1)
        self.assertIn("mp3 sennit: no plugin", errors)

    def test_programs_that_are_not_built(self):
        with self.assertRaises(BuildMissing):
            find_programs(Path("/nowhere"), self.build, self.build, lambda workload, peer: True, print)


class Instructions(Harness):
    def counted(self, workload):
        """What a program of the workload is told by the counting."""
        log = self.build / "log"
        entry = json.dumps({**json.loads(line(1)), "operations": 1})
        program = self.add(workload, "tbb", entry, script=f'echo "$@" >> {log}')
        with mock.patch.object(instructions, "_count", lambda command: [1] * 5):
            list(instructions.count([program], lambda text: None))
        return log.read_text().strip() if log.exists() else None

    def test_each_workload_is_counted_at_a_size_of_its_own_or_not_at_all(self):
        self.assertIsNone(self.counted("sort"))
        self.assertEqual(self.counted("fib"), "--quick --n 8 --count 1")


class ContextSwitchTable(unittest.TestCase):
    """bench/switch/context_switch.py, from results that the runner could have."""

    def rows(self, *results):
        sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "switch"))
        import context_switch  # noqa: PLC0415
        entries = [{"workload": workload, "peer": peer, "variant": variant, "workers": 1, "params": params,
                    "metric": "ns", "min": least, "cycles": cycles}
                   for workload, peer, variant, params, least, cycles in results]
        rows = [row.strip("| ").split(" | ") for row in list(context_switch.table(entries))[2:]]
        return {row[0]: row[1:] for row in rows}

    def test_speed_ups_are_over_two_pthreads_and_fibers_are_two(self):
        rows = self.rows(("switch", "pthread", "futex", {}, 400.0, 800.0),
                         ("yield", "libst", "ring", {"fibers": 2}, 20.0, 40.0),
                         ("yield", "libst", "ring", {"fibers": 100}, 1.0, 2.0),
                         ("switch", "sennit", "inline", {}, 0.5, 1.0))
        self.assertEqual(rows["raw SWAPSTACK: Sennit's inline switch"], ["0.50", "1.0", "800.0", "5", "345.0"])
        self.assertEqual(rows["ST: State Threads"], ["20.00", "40.0", "20.0", "105", "11.5"])
        self.assertEqual(rows["Pthreads: to and fro by a futex"], ["400.00", "800.0", "1.0", "1,207", "1.0"])

    def test_what_was_not_measured_says_so_and_published_rows_stay(self):
        rows = self.rows(("switch", "sennit", "inline", {}, 0.5, None))
        self.assertEqual(rows["raw SWAPSTACK: Sennit's inline switch"][:3], ["0.50", "no clock", "-"])
        self.assertEqual(rows["ST: State Threads"], ["not measured", "-", "-", "105", "11.5"])
        self.assertEqual(rows["LWP: of the Coda File System"], ["not measured", "-", "-", "191", "6.3"])


class Plugin(unittest.TestCase):
    """What is compiled with checks, and what that is compared by."""

    def test_only_programs_that_decode_the_same_are_compared(self):
        sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "mp3"))
        import mp3  # noqa: PLC0415
        run = plugin.Run("minimp3 1 aa", 1, 1, 1, 1, 0)
        mp3.check({"none": run, "call": run})
        with self.assertRaises(plugin.Failed):
            mp3.check({"none": run, "call": replace(run, output="minimp3 1 ab")})

    def test_what_a_stub_saves_by_its_name(self):
        sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "context-bytes"))
        import context_bytes  # noqa: PLC0415
        for stub, size in (("none", 16), ("rax", 24), ("r8_r11_xmm0", 48), ("avx_xmm15", 32), ("rsi_ymm3_zmm2_kq1", 128),
                           ("x87", 128)):
            self.assertEqual(context_bytes.size_of(f"sennit_yield_{stub}"), size, stub)

    def test_who_cannot_fetch_a_program_says_so_and_fails_nothing(self):
        def measure_nothing(options):
            raise plugin.OutOfReach("no network")
        output = io.StringIO()
        with mock.patch.object(sys, "argv", ["mp3.py"]), redirect_stdout(output):
            plugin.workload("Measures.", "nothing", measure_nothing)
        self.assertEqual(json.loads(output.getvalue().splitlines()[-1])["unsupported"], "no network")


class Toolchains(Harness):
    """A compiler that is a shell script: it copies the source, which is a shell script too."""

    def setUp(self):
        super().setUp()
        self.bench = self.build / "source"
        self.tools = self.build / "tools"
        self.tools.mkdir()
        (self.bench / "shared").mkdir(parents=True)
        (self.bench / "shared" / "options").write_text("1")
        path = mock.patch.dict(os.environ, {"PATH": f"{self.tools}:{os.environ['PATH']}"})
        path.start()
        self.addCleanup(path.stop)
        self.said = []
        self.toolchain = Toolchain("may", "Shell", "may.sh", "bench", ("shellc",), ("--version",), ("shared/*",),
                                   self.recipe)

    @staticmethod
    def recipe(bench, build, peer, workload, tools):
        program = build / workload
        return Recipe(((tools["shellc"], f"{workload}/{peer}.sh", program),), program, (program, "--fast"), bench)

    def compiler(self, version="shellc 1", build="cp"):
        path = self.tools / "shellc"
        path.write_text(f'#!/bin/sh\n[ "$1" != --version ] || {{ echo {version}; exit; }}\n{build} "$1" "$2"\n')
        path.chmod(0o755)

    def source(self, workload, text=""):
        path = self.bench / workload / "may.sh"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def find(self, toolchain=None):
        for name, entries in (("programs", self.entries), ("absent", self.absent)):
            (self.build / "bench" / f"{name}.json").write_text(json.dumps(entries))
        self.said.clear()
        return find_programs(self.bench, self.build, self.build / "made", lambda workload, peer: peer == "may",
                             self.said.append, (toolchain or self.toolchain,))

    def test_a_program_is_built_and_has_its_options(self):
        self.compiler()
        self.source("yield")
        (program,), absent = self.find()
        self.assertEqual((program.workload, program.peer, program.command[1:]), ("yield", "may", ("--fast",)))
        self.assertTrue(os.access(program.command[0], os.X_OK))
        self.assertEqual(absent, [])
        self.assertEqual(self.said, ["building source/yield/may.sh"])

    def test_it_is_built_anew_when_something_has_changed(self):
        changes = (lambda: self.source("yield", "true"), lambda: self.compiler("shellc 2"),
                   lambda: (self.bench / "shared" / "options").write_text("2"))
        self.compiler()
        self.source("yield")
        self.find()
        for change in changes:
            self.find()
            self.assertEqual(self.said, [])
            change()
            self.find()
            self.assertEqual(len(self.said), 1)

    def test_a_missing_compiler_comes_with_the_remedy(self):
        self.source("yield")
        programs, (absent,) = self.find()
        self.assertEqual(programs, [])
        self.assertEqual(absent.reason, "Shell is not installed: ./scripts/install_packages bench")
        self.assertFalse(absent.failed)

    def test_a_compiler_that_will_not_do(self):
        self.compiler()
        self.source("yield")
        _, (absent,) = self.find(replace(self.toolchain, unusable=lambda bench, version: f"{version} is too old"))
        self.assertEqual((absent.reason, absent.failed), ("shellc 1 is too old", False))

    def test_what_does_not_build_is_a_failure_and_takes_no_other_with_it(self):
        self.compiler(build='[ "$1" = yield/may.sh ] && cp "$1" "$2" && exit; echo "$1: error: wrong type" >&2; false')
        self.source("spawn")
        self.source("yield")
        (program,), (absent,) = self.find()
        self.assertEqual(program.workload, "yield")
        self.assertEqual((absent.reason, absent.failed), ("shellc failed: spawn/may.sh: error: wrong type", True))
        collection = Collection()
        collection.add_absent(absent)
        self.assertTrue(collection.not_measured()[0]["failed"])

    def test_packages_that_cannot_be_downloaded_are_no_failure(self):
        self.compiler(build='echo "error: failed to download from crates.io"; false')
        self.source("yield")
        _, (absent,) = self.find()
        self.assertFalse(absent.failed)

    def test_every_rust_program_is_in_the_manifest(self):
        bench = Path(run_bench.BENCH)
        manifest = tomllib.loads((bench / "rust" / "Cargo.toml").read_text())
        named = {(Path(each["path"]).name, each["name"], *each["required-features"]) for each in manifest["bin"]}
        for toolchain in TOOLCHAINS:
            self.assertIn(toolchain.peer, PEERS)
            for source in toolchain.sources(bench) if toolchain.source.endswith(".rs") else ():
                self.assertIn((source.name, f"{source.parent.name}_{toolchain.peer}", toolchain.peer), named)

    def test_versions_of_those_installed(self):
        for toolchain in TOOLCHAINS:
            if find_tool(toolchain.tools[0]):
                self.assertRegex(toolchain.installed_version(), r"\d+\.\d+")


class Progress(unittest.TestCase):
    def test_says_what_runs_and_how_long_the_rest_takes(self):
        jobs = [measure.Job(Program("switch", peer, ()), 1, ()) for peer in ("call", "setjmp")]
        stream = io.StringIO()
        progress = measure.Progress(jobs, 2, stream)
        progress.start(jobs[0], 1, 2)
        progress.finish(jobs[0], 60.0)
        progress.start(jobs[1], 1, 2)
        progress.start(jobs[0], 2, 2)
        self.assertEqual(stream.getvalue().splitlines(),
                         ["round 1 of 2: switch", "round 2 of 2: switch  (about 3 min left)"])


class Machine(unittest.TestCase):
    def test_cpus_are_chosen_among_those_allowed(self):
        self.assertEqual(len(machine.choose_cpus(1)), 1)
        self.assertIsNone(machine.choose_cpus(100_000))


if __name__ == "__main__":
    unittest.main()
