"""scripts/check_layers accepts what is in order, and finds each kind of violation when it is planted."""

import subprocess
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "check_layers"

IN_ORDER = {
    "include/sennit/detail/arch/x86_64.hpp": "#pragma once\n#include <cstdint>\n",
    "include/sennit/sequence.hpp": "// A sequence.\n// room: coro\n#include <sennit/detail/arch/x86_64.hpp>\n",
    "include/sennit/local/mutex.hpp": "// room: sync\n#include <sennit/sequence.hpp>\n",
    "include/sennit/sennit.h": "/* The C API.\n * room: capi\n */\n#include <stddef.h>\n",
    "src/stack/pool.hpp": "#pragma once\n",
    "src/stack/pool.cpp": '#include "pool.hpp"\n#include <sys/mman.h>\n',
    "src/sched/worker.cpp": '#include "stack/pool.hpp"\n#include <sennit/sequence.hpp>\n',
    "src/capi/fiber.cpp": "#include <sennit/local/mutex.hpp>\n#include <sennit/sennit.h>\n",
}


def run_on(files: dict[str, str], *options: str) -> tuple[int, str]:
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        ran = subprocess.run([SCRIPT, "--root", folder, *options], capture_output=True, text=True)
        return ran.returncode, ran.stdout + ran.stderr


class CheckLayers(unittest.TestCase):
    def assert_violation(self, where: str, what: str, planted: dict[str, str]) -> None:
        status, output = run_on(IN_ORDER | planted)
        self.assertEqual(status, 1, output)
        found = [line for line in output.splitlines() if line.startswith(where)]
        self.assertEqual(len(found), 1, output)
        self.assertIn(what, found[0])
        self.assertIn(", 1 violations", output)

    def test_order_is_accepted(self):
        status, output = run_on(IN_ORDER)
        self.assertEqual(status, 0, output)
        self.assertIn("8 files in rooms, 0 violations", output)

    def test_rooms_are_drawn_with_what_they_include(self):
        status, output = run_on(IN_ORDER, "--draw")
        self.assertEqual(status, 0, output)
        rows = {line.split()[0]: line.split()[1:] for line in output.splitlines()}
        self.assertEqual(rows["arch"], ["1", "2"])  # files, lines
        self.assertEqual(rows["stack"], ["2", "3", "-"])
        self.assertEqual(rows["coro"], ["1", "3", "1", "-", "-"])  # includes arch once
        self.assertEqual(rows["sched"], ["1", "2", "-", "1", "-", "1", "-", "-"])

    def test_nothing_is_accepted(self):
        self.assertEqual(run_on({})[0], 0)

    def test_source_includes_a_source_of_a_room_below(self):
        self.assert_violation("src/arch/x.cpp:2:", "a room below it",
                              {"src/arch/x.cpp": '#include <new>\n#include "stack/pool.hpp"\n'})

    def test_path_through_the_parent_folder_is_seen(self):
        self.assert_violation("src/arch/x.cpp:1:", "a room below it",
                              {"src/arch/x.cpp": '#include "../stack/pool.hpp"\n'})

    def test_source_includes_a_public_header_of_a_room_below(self):
        self.assert_violation("src/coro/x.cpp:1:", "a room below it",
                              {"src/coro/x.cpp": "#include <sennit/local/mutex.hpp>\n"})

    def test_inline_part_includes_a_room_below(self):
        self.assert_violation("include/sennit/detail/arch/y.hpp:1:", "a room below it",
                              {"include/sennit/detail/arch/y.hpp": "#include <sennit/sequence.hpp>\n"})

    def test_public_header_includes_a_room_below(self):
        self.assert_violation("include/sennit/coroutine.hpp:2:", "a room below it",
                              {"include/sennit/coroutine.hpp":
                               "// room: coro\n#  include  <sennit/local/mutex.hpp>\n"})

    def test_costly_header_is_seen_in_a_public_header(self):
        self.assert_violation("include/sennit/event.hpp:2:", "<vector> makes sennit/event.hpp slow to compile",
                              {"include/sennit/event.hpp": "// room: sync\n#include <vector>\n"})

    def test_costly_header_is_seen_through_others(self):
        self.assert_violation("include/sennit/detail/sync/y.hpp:1:", "<thread> makes sennit/event.hpp slow to compile",
                              {"include/sennit/event.hpp": '// room: sync\n#include "sennit/detail/sync/y.hpp"\n',
                               "include/sennit/detail/sync/y.hpp": "#include <thread>\n"})

    def test_chrono_is_seen_except_in_its_substitute(self):
        used = '// room: sync\n#include "sennit/detail/timer/chrono.hpp"\n'
        self.assert_violation("include/sennit/event.hpp:3:", "<chrono> makes",
                              {"include/sennit/detail/timer/chrono.hpp": "#include <chrono>\n",
                               "include/sennit/event.hpp": used + "#include <chrono>\n"})

    def test_costly_header_is_allowed_where_it_is_in_the_interface(self):
        status, output = run_on(IN_ORDER | {"include/sennit/local/scope.hpp":
                                            "// room: sync\n#include <memory>\n#include <stop_token>\n"})
        self.assertEqual(status, 0, output)

    def test_allowed_header_that_is_no_longer_included(self):
        self.assert_violation("include/sennit/stop_guard.hpp:1:", "includes no <stop_token> any more",
                              {"include/sennit/stop_guard.hpp": "// room: wait\n"})

    def test_assembly_is_checked(self):
        self.assert_violation("src/arch/x.S:1:", "a room below it",
                              {"src/arch/x.S": '#include "stack/pool.hpp"\n'})

    def test_public_header_includes_src(self):
        self.assert_violation("include/sennit/coroutine.hpp:2:", "not installed",
                              {"include/sennit/coroutine.hpp": '// room: coro\n#include "stack/pool.hpp"\n'})

    def test_public_header_without_a_room(self):
        self.assert_violation("include/sennit/x.hpp:1:", "must name its room",
                              {"include/sennit/x.hpp": "#pragma once\n"})

    def test_public_header_with_an_unknown_room(self):
        self.assert_violation("include/sennit/x.hpp:1:", "'attic' is no room",
                              {"include/sennit/x.hpp": "// room: attic\n"})

    def test_folder_that_is_no_room(self):
        self.assert_violation("tests/unit/attic:1:", "'attic' is no room",
                              {"tests/unit/attic/x_test.cpp": ""})

    def test_source_in_no_room(self):
        self.assert_violation("src/x.cpp:1:", "lies in no room", {"src/x.cpp": ""})

    def test_header_that_is_not_there(self):
        self.assert_violation("src/arch/x.cpp:1:", "there is no", {"src/arch/x.cpp": '#include "gone.hpp"\n'})

    def test_include_through_a_macro(self):
        self.assert_violation("src/arch/x.cpp:1:", "through a macro", {"src/arch/x.cpp": "#include HEADER\n"})

    def test_file_outside_the_rooms(self):
        self.assert_violation("src/arch/x.cpp:1:", "lies outside",
                              {"src/arch/x.cpp": '#include "../../bench/x.hpp"\n', "bench/x.hpp": ""})

    def test_comment_is_not_an_include(self):
        status, output = run_on(IN_ORDER | {"src/arch/x.cpp": '/*\n#include "stack/pool.hpp"\n*/\n'})
        self.assertEqual(status, 0, output)


if __name__ == "__main__":
    unittest.main()
