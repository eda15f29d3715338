"""sennit/fwd.hpp declares all public classes as their headers define them."""

import re
import subprocess
import unittest
from pathlib import Path

INCLUDE = Path(__file__).resolve().parents[2] / "include"
FWD = "sennit/fwd.hpp"
COMPILERS = ("g++-12", "clang++-19")  # clang tells a class from a struct


def public_headers() -> list[str]:
    found = [*INCLUDE.glob("sennit/*.hpp"), *INCLUDE.glob("sennit/local/*.hpp")]
    return sorted(str(path.relative_to(INCLUDE)) for path in found if path != INCLUDE / FWD)


def classes_of(header: str) -> set[str]:
    """Those that the header declares or defines in namespaces sennit and sennit::local. Specializations are left out."""
    found = set()
    spaces = []
    text = (INCLUDE / header).read_text(encoding="utf-8").replace("::inline v0_1", "")
    # Short ones, which do not say what they close.
    text = re.sub(r"^namespace \S+ \{\n([^{}\n]*\n)+?\}\n", "", text, flags=re.MULTILINE)
    for line in text.splitlines():
        if opened := re.match(r"namespace (\S+) \{$", line):
            spaces.append(opened[1])
        elif line.startswith("}  // namespace"):
            spaces.pop()
        elif declared := re.match(r"(?:class|struct) (?:\[\[nodiscard\]\] )?(\w+)(?![\w<])", line):
            space = "::".join(spaces)
            if space in ("sennit", "sennit::local"):
                found.add(f"{space}::{declared[1]}")
    return found


def compiler_says(compiler: str, headers: list[str]) -> str:
    text = "".join(f'#include "{header}"\n' for header in headers)
    command = [compiler, "-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Wmismatched-tags", "-Werror", f"-I{INCLUDE}",
               "-fsyntax-only", "-x", "c++", "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True).stderr


class Fwd(unittest.TestCase):
    # A program never writes the names of select's cases.
    ONLY_RETURNED = {"sennit::timeout_case", "sennit::otherwise_case", "sennit::readiness_case", "sennit::readiness_then"}

    def test_names_each_public_class(self):
        declared = classes_of(FWD)
        defined = set().union(*map(classes_of, public_headers())) - self.ONLY_RETURNED
        # It is defined in the library's part, and public by become.hpp.
        self.assertEqual(declared - {"sennit::continuation"}, defined)

    def test_is_accepted_alone_and_before_and_after_all_headers(self):
        for compiler in COMPILERS:
            for order in ([FWD], [FWD, *public_headers()], [*public_headers(), FWD]):
                self.assertEqual(compiler_says(compiler, order), "", f"{compiler}: {order[0]} first")

    def test_includes_only_what_refuses_other_languages(self):
        included = re.findall("#include .*", re.sub("//.*", "", (INCLUDE / FWD).read_text(encoding="utf-8")))
        self.assertEqual(included, ['#include "sennit/detail/arch/exceptions.hpp"'])


if __name__ == "__main__":
    unittest.main()
