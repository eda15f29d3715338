"""scripts/reference describes the public headers, and reports public members that have no description."""

import contextlib
import importlib.machinery
import importlib.util
import io
import shutil
import tempfile
import unittest
from pathlib import Path
from unittest import mock

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "reference"
LOADER = importlib.machinery.SourceFileLoader("reference", str(SCRIPT))
REFERENCE = importlib.util.module_from_spec(importlib.util.spec_from_loader("reference", LOADER))
LOADER.exec_module(REFERENCE)

HEADER = """\
// sennit::rope: strands & <ends>.
// room: sync
//
//   sennit::rope rope;
//
// It is plaited.
#pragma once

namespace sennit {

/// A strand.
class strand {
public:
  /// Pulls.
  void pull() {
    // Not so hard.
    if (length > 1) {  // still long
      length -= 1;
    }
  }
  int length = 3;  ///< in metres
};

}  // namespace sennit
"""


class FileComment(unittest.TestCase):
    def test_is_the_documentation_of_the_file_and_its_examples_are_code(self):
        self.assertEqual(REFERENCE.file_documented(HEADER.splitlines()),
                         ["/** @file", r"sennit::rope: strands \& \<ends\>.", "", "      sennit::rope rope;", "", "It is plaited.", "*/",
                          *HEADER.splitlines()[6:]])

    def test_of_c_has_no_asterisks(self):
        lines = REFERENCE.file_documented(["/* A rope.", " *", " *   rope();", " */", "/** Plaits. */", "void plait(void);"])
        self.assertEqual(lines, ["/** @file", "A rope.", "", "      rope();", "", "*/", "/** Plaits. */", "void plait(void);"])


class Documented(unittest.TestCase):
    def run_on(self, header: str, base: str = "") -> tuple[int, str]:
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as output:
            root = Path(folder)
            (root / "include" / "sennit").mkdir(parents=True)
            (root / "include" / "sennit" / "rope.hpp").write_text(header, encoding="utf-8")
            if base:
                (root / "include" / "sennit" / "detail" / "sync").mkdir(parents=True)
                (root / "include" / "sennit" / "detail" / "sync" / "basic_event.hpp").write_text(base, encoding="utf-8")
            (root / "docs").mkdir()
            shutil.copy(SCRIPT.parent.parent / "docs" / "Doxyfile", root / "docs")
            with mock.patch.multiple(REFERENCE, ROOT=root, OUTPUT=root / "build" / "reference"):
                status = REFERENCE.main()
                self.pages = [page.name for page in (root / "build" / "reference" / "html").glob("*.html")]
                return status, output.getvalue()

    def test_documented_header_is_accepted(self):
        self.assertEqual(self.run_on(HEADER), (0, "1 headers are described in build/reference/html/index.html\n"))

    def test_members_that_public_classes_inherit_are_described(self):
        base = """\
// Events.
namespace sennit::detail {

/// The members of sennit::event.
class basic_event {
public:
  /// Sets it.
  void set();

private:
  void undocumented();
};

}  // namespace sennit::detail
"""
        event = HEADER + "namespace sennit {\n/// An event.\nclass event : public detail::basic_event {};\n}\n"
        status, output = self.run_on(event, base)
        self.assertEqual((status, output), (0, "2 headers are described in build/reference/html/index.html\n"))
        self.assertIn("classsennit_1_1members_1_1basic__event.html", self.pages)

    def test_public_member_without_documentation_is_reported(self):
        status, output = self.run_on(HEADER.replace("/// Pulls.", "// Pulls."))
        self.assertEqual(status, 1, output)
        self.assertIn("Member pull() (function) of class sennit::strand is not documented", output)


class Page(unittest.TestCase):
    def run_on(self, page: str, write: bool) -> tuple[int, str]:
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as output:
            root = Path(folder)
            (root / "include" / "sennit" / "local").mkdir(parents=True)
            (root / "include" / "sennit" / "mutex.hpp").write_text(HEADER, encoding="utf-8")
            (root / "include" / "sennit" / "local" / "mutex.hpp").write_text(
                HEADER.replace("namespace sennit", "namespace sennit::local").replace("void pull", "void push"), encoding="utf-8")
            (root / "docs").mkdir()
            shutil.copy(SCRIPT.parent.parent / "docs" / "Doxyfile", root / "docs")
            (root / "docs" / "reference.md").write_text(page, encoding="utf-8")
            with mock.patch.multiple(REFERENCE, ROOT=root, OUTPUT=root / "build" / "reference"):
                status = REFERENCE.main(write)
            self.written = (root / "docs" / "reference.md").read_text(encoding="utf-8")
            return status, output.getvalue()

    def test_tables_are_those_of_the_headers(self):
        status, output = self.run_on("# Ropes\n", False)
        self.assertEqual(status, 1)
        self.assertIn("run scripts/reference --write", output)
        self.assertEqual(self.run_on("# Ropes\n", True)[0], 0)
        self.assertIn("# Ropes\n", self.written)
        self.assertIn("| strands & <ends> | **`strand`**: `length`, `pull`. Only in `local/`: **`strand`**: `push`. "
                      "Not in `local/`: **`strand`**: `pull` |", self.written)
        self.assertEqual(self.run_on(self.written, False)[0], 0)


if __name__ == "__main__":
    unittest.main()
