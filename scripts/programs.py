#!/usr/bin/env python3
"""Real programs in C to compile: fetched from crates.io into build/programs/, checked, and never committed.

usage: scripts/programs.py [NAME...]      fetch them (all, unless named) and say where they are
"""

import hashlib
import shutil
import sys
import tarfile
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "programs"


@dataclass(frozen=True)
class Program:
    name: str
    crate: str
    version: str
    sha256: str
    below: str                                # the sources' folder in the crate
    patterns: tuple[str, ...]                 # its translation units
    flags: tuple[str, ...] = ()               # beside the optimization
    without: tuple[str, ...] = field(default=())

    @property
    def folder(self):
        return FOLDER / f"{self.crate}-{self.version}" / self.below

    def sources(self):
        return sorted(path for pattern in self.patterns for path in self.folder.glob(pattern)
                      if path.name not in self.without)

    def lines(self):
        """Of all C files and headers in the folders of the sources."""
        folders = {path.parent for path in self.sources()}
        return sum(path.read_bytes().count(b"\n") for folder in folders
                   for path in folder.iterdir() if path.suffix in (".c", ".h") and path.name not in self.without)


PROGRAMS = {each.name: each for each in (
    Program("minimp3", "minimp3-sys", "0.6.0", "aa16a1fbac806d94e230e0a6b9b5a137d051897a188944cf07645da4b73a9fae",
            "minimp3", ("minimp3_test.c",), ("-DMINIMP3_NO_WAV",)),
    Program("lua", "lua-src", "551.1.0", "41d22b201501a536c0f5a96c7589b268b559172b20fb029064434e38ddcecb1f",
            "lua-5.4.9", ("*.c",), ("-DLUA_USE_POSIX",)),
    Program("zlib", "libz-sys", "1.1.31", "ff20308ecabd635a2dc1dd5834a86c462cca20efba1d5d3ddab1f8aea3455cb2",
            "src/zlib", ("*.c",), ("-DHAVE_UNISTD_H",)),
    Program("sqlite", "libsqlite3-sys", "0.40.0", "b06e69070b7e12262b0cd90832f0a7396f142a2b330181255562decf9f0c6215",
            "sqlite3", ("sqlite3.c",), ("-DSQLITE_THREADSAFE=0", "-DSQLITE_OMIT_LOAD_EXTENSION"),
            ("wasm32-wasi-vfs.c",)),
    Program("zstd", "zstd-sys", "2.0.17+zstd.1.5.7",
            "d23450267310b494a553bae911e29a985dafa36b55d2c2c06c02f325b88bec32", "zstd/lib",
            ("common/*.c", "compress/*.c", "decompress/*.c"), ("-DZSTD_DISABLE_ASM",)),
)}


class CannotFetch(Exception):
    """With the cause and the remedy."""


def fetch(program):
    """The program, in its folder."""
    if program.folder.is_dir():
        return program
    name = f"{program.crate}-{program.version}"
    address = f"https://static.crates.io/crates/{program.crate}/{name}.crate"
    FOLDER.mkdir(parents=True, exist_ok=True)
    archive = FOLDER / f"{name}.crate"
    try:
        with urllib.request.urlopen(address, timeout=60) as answer, archive.open("wb") as file:
            shutil.copyfileobj(answer, file)
    except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
        raise CannotFetch(f"{address}: {error}; look whether this machine reaches crates.io") from error
    found = hashlib.sha256(archive.read_bytes()).hexdigest()
    if found != program.sha256:
        archive.unlink()
        raise CannotFetch(f"{address} is not what it was: SHA-256 {found}, expected {program.sha256}")
    # A name of its own until it is whole, for a fetch may be interrupted.
    unpacked = FOLDER / f".{name}"
    shutil.rmtree(unpacked, ignore_errors=True)
    with tarfile.open(archive) as members:
        members.extractall(unpacked, filter="data") if hasattr(tarfile, "data_filter") else members.extractall(unpacked)
    (unpacked / name).rename(FOLDER / name)
    unpacked.rmdir()
    archive.unlink()
    return program


def main(arguments):
    if set(arguments) & {"-h", "--help"}:
        print(__doc__.strip())
        return 0
    for unknown in (name for name in arguments if name not in PROGRAMS):
        print(f"programs.py: there is no program '{unknown}'; there are {', '.join(PROGRAMS)}", file=sys.stderr)
        return 2
    for name in arguments or PROGRAMS:
        try:
            program = fetch(PROGRAMS[name])
        except CannotFetch as error:
            print(f"programs.py: {name}: {error}", file=sys.stderr)
            return 1
        print(f"{name:8} {program.lines():7,} lines  {program.folder.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
