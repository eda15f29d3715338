"""./run in a tree of impostors: which verbs there are, and what each starts."""

import platform
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

RUN = Path(__file__).resolve().parents[2] / "run"


class Run(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        shutil.copy(RUN, self.root / "run")
        for name in ("install_packages", "build"):
            self.program(f"scripts/{name}", f'#!/bin/sh\necho "{name} $*"\n')
        self.program("bench/run_bench.py", 'import sys\nprint("bench", *sys.argv[1:], flush=True)\n')
        self.program("scripts/serve_compare.py", 'print("compare")\n')
        self.program("build/release/examples/kv_server/kv_server", '#!/bin/sh\necho "server $*"\n')

    def program(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)

    def run_verb(self, *arguments: str) -> tuple[int, list[str]]:
        ran = subprocess.run([self.root / "run", *arguments], capture_output=True, text=True)
        return ran.returncode, (ran.stdout + ran.stderr).splitlines()

    def test_main_job_measures_the_switch_and_the_server(self):
        self.assertEqual(self.run_verb(), (0, [
            "== packages", "install_packages build bench server",
            "== build", "build release --target bench_switch kv_server",
            "== the switch, one way between two contexts", "bench switch --quick",
            "== the server", "compare"]))

    def test_bench_passes_its_arguments_on(self):
        self.assertEqual(self.run_verb("bench", "yield", "--json", "a file")[1][-1], "bench yield --json a file")

    def test_bench_instructions_builds_what_it_counts(self):
        self.program("bench/instructions/instructions.py",
                     'import sys\nprint("bench_a bench_b" if "--targets" in sys.argv else ["counts", *sys.argv[1:]])\n')
        self.assertEqual(self.run_verb("bench", "instructions", "--renew")[1][-3:],
                         ["== build", "build release --target bench_a bench_b", "['counts', '--renew']"])

    def test_bench_headers_builds_nothing(self):
        self.program("bench/headers/headers.py", 'import sys\nprint("headers", *sys.argv[1:])\n')
        self.assertEqual(self.run_verb("bench", "headers", "sennit/mutex.hpp"),
                         (0, ["== packages", "install_packages build", "headers sennit/mutex.hpp"]))

    def test_bench_builds_the_workloads_named(self):
        self.program("bench/yield/yield.hpp", "")
        self.assertIn("build release --target bench_yield", self.run_verb("bench", "yield", "--quick")[1])
        self.assertIn("build release --target bench_all kv_server", self.run_verb("bench", "--quick")[1])

    @unittest.skipUnless(platform.machine() == "x86_64", "the plugin's checks are for x86-64")
    def test_bench_builds_the_plugin_for_who_measures_it(self):
        for workload in ("polls", "mp3", "context-bytes"):
            self.assertEqual(self.run_verb("bench", workload)[1][-3:],
                             ["build release --target sennit bench_clock", "build clang --target sennit_compiler",
                              f"bench {workload}"])
        self.program("bench/yield/yield.hpp", "")
        self.assertNotIn("build clang --target sennit_compiler", self.run_verb("bench", "yield")[1])

    @unittest.skipUnless(platform.machine() == "x86_64", "the plugin's checks are for x86-64")
    def test_the_table_of_the_mp3_study(self):
        self.program("bench/mp3/table.py", 'import sys\nprint("table", *sys.argv[1:], flush=True)\n')
        self.assertEqual(self.run_verb("tables", "mp3", "--quick")[1],
                         ["== packages", "install_packages build bench", "== build",
                          "build release --target sennit bench_clock", "build clang --target sennit_compiler",
                          "table --quick"])

    def test_the_table_of_context_switches(self):
        self.program("bench/switch/context_switch.py", 'import sys\nprint("table", *sys.argv[1:], flush=True)\n')
        self.assertEqual(self.run_verb("tables", "context-switch", "--quick")[1],
                         ["== packages", "install_packages build bench", "== build",
                          "build release --target bench_switch bench_yield", "table --quick"])

    def test_the_tables_of_single_papers(self):
        for name, program, groups, targets in (
                ("libraries", "libraries", "build bench",
                 "bench_sysbench bench_queue bench_sort bench_fib bench_threadring"),
                ("ring", "token_ring", "build bench paper", "bench_threadring"),
                ("sysbench", "debian_sysbench", "build bench", "bench_sysbench"),
                ("rethinkdb", "rethinkdb", "build bench server paper", "kv_server bench_disk_server")):
            self.program(f"bench/tables/{program}.py", 'import sys\nprint("table", *sys.argv[1:], flush=True)\n')
            self.assertEqual(self.run_verb("tables", name, "--quick")[1],
                             ["== packages", f"install_packages {groups}", "== build",
                              f"build release --target {targets}", "table --quick"])
            self.assertEqual(self.run_verb("tables", name, "--help")[1], ["table --help"])

    def test_help_names_each_verb(self):
        verbs = re.findall(r"^  ([a-z-]+)\)", RUN.read_text(encoding="utf-8"), re.MULTILINE)
        self.assertIn("serve", verbs)
        status, lines = self.run_verb("help")
        self.assertEqual(status, 0)
        for verb in verbs:
            self.assertTrue(any(f"./run {verb} " in line + " " for line in lines), verb)

    def test_serve_passes_its_arguments_on(self):
        self.assertEqual(self.run_verb("serve", "--port", "7000")[1],
                         ["== packages", "install_packages build", "== build",
                          "build release --target kv_server", "server --port 7000"])

    def test_tables_builds_with_counters_and_passes_its_arguments_on(self):
        self.program("bench/tables/tables.py", 'import sys\nprint("tables", *sys.argv[1:], flush=True)\n')
        self.assertEqual(self.run_verb("tables", "--quick")[1],
                         ["== packages", "install_packages build bench server", "== build",
                          "build counters --target kv_server word_count pager bench_computing bench_emulating",
                          "build release --target bench_tables_sennit bench_switch_sennit bench_rpc_sennit "
                          "bench_parked_sennit bench_exception_sennit bench_exception_handler bench_clock",
                          "tables --quick"])

    def test_failed_build_ends_the_job(self):
        self.program("scripts/build", "#!/bin/sh\nexit 1\n")
        status, lines = self.run_verb()
        self.assertEqual(status, 1)
        self.assertEqual(lines[-1], "== build")

    def test_unknown_verb(self):
        status, lines = self.run_verb("fly")
        self.assertEqual(status, 2)
        self.assertIn("there is no verb 'fly'", lines[0])
        self.assertTrue(lines[1].startswith("usage:"))

    def test_help_names_the_verbs(self):
        for spelling in ("help", "-h", "--help"):
            status, lines = self.run_verb(spelling)
            self.assertEqual(status, 0)
            self.assertIn("./run bench", "".join(lines))
            self.assertIn("./run serve", "".join(lines))


if __name__ == "__main__":
    unittest.main()
