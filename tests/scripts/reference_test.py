"""scripts/reference makes documentation of the comments that describe declarations, and of no others."""

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
// sennit::rope: strands.
// room: sync
//
//   sennit::rope rope;
//
// It is plaited.
#pragma once

namespace sennit {

// A strand & its <ends>.
class strand {
public:
  // Pulls.
  void pull() {
    // Not so hard.
    if (length > 1) {  // still long
      length -= 1;
    }
  }
  int length = 3;  // in metres
};

}  // namespace sennit
"""


class Reference(unittest.TestCase):
    def setUp(self):
        self.lines = REFERENCE.filtered(HEADER.splitlines())

    def test_first_comment_is_of_the_file_and_examples_keep_their_layout(self):
        self.assertEqual(self.lines[:9], ["/**", "@file", "sennit::rope: strands.", "", "@verbatim",
                                          "  sennit::rope rope;", "@endverbatim", "", "It is plaited."])

    def test_comment_of_a_class_and_of_a_member_is_documentation(self):
        at = self.lines.index("class strand {")
        self.assertEqual(self.lines[at - 3:at], ["/**", r"A strand \& its \<ends\>.", "*/"])
        at = self.lines.index("  void pull() {")
        self.assertEqual(self.lines[at - 3:at], ["/**", "Pulls.", "*/"])

    def test_comment_behind_a_member_is_documentation(self):
        self.assertIn("  int length = 3;  ///< in metres", self.lines)

    def test_comments_in_functions_and_behind_scopes_are_not(self):
        text = "\n".join(self.lines)
        self.assertNotIn("Not so hard", text)
        self.assertIn("    if (length > 1) {  // still long", self.lines)
        self.assertIn("}  // namespace sennit", self.lines)

    def test_declarations_stay(self):
        code = [line for line in HEADER.splitlines() if line and "//" not in line]
        self.assertEqual([line for line in self.lines if line in code], code)

    def test_comments_of_c_are_documentation(self):
        lines = REFERENCE.filtered(["/* A rope.", " *", " *   rope();", " */", 'extern "C" {', "/* Plaits. */", "void plait(void);", "}"])
        self.assertEqual(lines, ["/**", "@file", "A rope.", "", "@verbatim", "  rope();", "@endverbatim", "", "*/",
                                 'extern "C" {', "/**", "Plaits.", "*/", "void plait(void);", "}"])

    def test_comments_in_the_form_of_doxygen_stay(self):
        lines = ["int a;", "/// A rope.", "int rope;", "/** Two. */", "int two;"]
        self.assertEqual(REFERENCE.filtered(lines), lines)


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
        status, output = self.run_on(HEADER.replace("  // Pulls.\n", ""))
        self.assertEqual(status, 1, output)
        self.assertIn("Member pull() (function) of class sennit::strand is not documented", output)


if __name__ == "__main__":
    unittest.main()
