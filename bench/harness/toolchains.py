"""Builds the peers that CMake does not: those in Go, Rust, Haskell and Erlang, and LWP from a folder of the user's.

A peer's program for a workload is one file, `<workload>/<source>`, and what all its programs share. It is built anew
when one of these, the compiler's version or the command has changed.
"""

import hashlib
import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

INSTALL = "./scripts/install_packages"
# Where else than in PATH a tool may be.
PLACES = {
    "go": ("/usr/local/go/bin/go", "/usr/lib/go/bin/go"),
    "cargo": ("~/.cargo/bin/cargo",),
    "rustc": ("~/.cargo/bin/rustc",),
}
SECONDS_TO_BUILD = 600
# What a tool says that could not download what it needs: no fault of the program.
OUT_OF_REACH = re.compile(r"failed to (download|get|query|fetch)|[Cc]ould(n't| not) (resolve|connect)|network failure")


def find_tool(name):
    """The path of the program `name`, or None."""
    present = (path for path in map(os.path.expanduser, PLACES.get(name, ())) if os.access(path, os.X_OK))
    return shutil.which(name) or next(present, None)


@dataclass(frozen=True)
class Recipe:
    """How one program is built and run."""

    commands: tuple
    # The file that is there when they succeeded.
    product: Path
    run: tuple
    directory: Path
    environment: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Missing:
    """Why there is no program, and whether that is because it does not build."""

    reason: str
    failed: bool = False


@dataclass(frozen=True)
class Toolchain:
    """How the programs of one peer are built."""

    peer: str
    language: str
    source: str
    # The group of scripts/install_packages that has it.
    group: str
    # The first of them prints its version with the options `version`.
    tools: tuple
    version: tuple
    # Patterns of the files that all its programs are made of.
    shared: tuple
    # recipe(bench, build, peer, workload, tools) is the program's Recipe; `build` is this peer's directory, `tools` has
    # the paths by name.
    recipe: object
    # unusable(bench, version) is why an installed toolchain will not do, or None.
    unusable: object = lambda bench, version: None

    def sources(self, bench):
        return sorted(bench.glob(f"*/{self.source}"))

    def installed_version(self):
        """The first line its compiler prints about itself, or None."""
        tool = find_tool(self.tools[0])
        if tool is None:
            return None
        _, output = _run([tool, *self.version], environment={"GOTOOLCHAIN": "local"})
        return next(iter(output.splitlines()), "").strip()

    def build(self, bench, build, sources, say):
        """Builds `sources`: ({workload: command that runs it}, {workload: Missing})."""
        reason = self._unavailable(bench)
        if reason:
            return {}, {source.parent.name: Missing(reason) for source in sources}
        tools, version = {name: find_tool(name) for name in self.tools}, self.installed_version()
        commands, missing = {}, {}
        for source in sources:
            workload = source.parent.name
            recipe = self.recipe(bench, build.resolve(), self.peer, workload, tools)
            reason = self._make(bench, build, source, recipe, version, say)
            if reason:
                missing[workload] = reason
            else:
                commands[workload] = tuple(map(str, recipe.run))
        return commands, missing

    def _unavailable(self, bench):
        if not all(map(find_tool, self.tools)):
            return f"{self.language} is not installed: {INSTALL} {self.group}"
        return self.unusable(bench, self.installed_version())

    def _make(self, bench, build, source, recipe, version, say):
        """Builds one program, unless it is there and up to date. Returns None, or what is Missing."""
        stamp = build / f"{source.parent.name}.built-from"
        wanted = _digest([source, *(path for pattern in self.shared for path in sorted(bench.glob(pattern)))],
                         version, str(recipe))
        if recipe.product.exists() and stamp.exists() and stamp.read_text() == wanted:
            return None
        say(f"building {source.relative_to(bench.parent)}")
        build.mkdir(parents=True, exist_ok=True)
        for command in recipe.commands:
            succeeded, output = _run(command, recipe.environment, recipe.directory)
            if not succeeded:
                reason = f"{Path(command[0]).name} failed: {_error(output)}"
                return Missing(reason, failed=not OUT_OF_REACH.search(output))
        stamp.write_text(wanted)
        return None


def _run(command, environment, directory=None):
    """Returns (succeeded, all it printed)."""
    try:
        done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", cwd=directory, env={**os.environ, **environment},
                              timeout=SECONDS_TO_BUILD)
    except subprocess.TimeoutExpired:
        return False, f"it took more than {SECONDS_TO_BUILD} s"
    return done.returncode == 0, done.stdout


def _digest(files, *texts):
    digest = hashlib.sha256()
    for part in (*(path.read_bytes() for path in files), *(text.encode() for text in texts)):
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest()


def _error(output):
    """The line that says what went wrong: the first about an error, or else the last."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    for i, line in enumerate(lines):
        if re.search(r"(^|\s)error\b", line):
            # What the error is can stand in the next line.
            return " ".join(lines[i:i + 2]) if line.endswith("error:") else line
    return lines[-1] if lines else "no message"


def _go(bench, build, peer, workload, tools):
    program = build / workload
    return Recipe(commands=((tools["go"], "build", "-o", program, f"{workload}/{peer}.go"),), product=program,
                  run=(program,), directory=bench, environment={"GOTOOLCHAIN": "local", "GOFLAGS": "-buildvcs=false"})


def _cargo(bench, build, peer, workload, tools):
    name = f"{workload}_{peer}"
    program = build / "release" / name
    return Recipe(commands=((tools["cargo"], "build", "--release", "--locked", "--features", peer, "--bin", name),),
                  product=program, run=(program,), directory=bench / "rust",
                  environment={"CARGO_TARGET_DIR": str(build), "RUSTC": tools["rustc"]})


def _ghc(bench, build, peer, workload, tools):
    program = build / workload
    # The allocation area that newer versions have without being told.
    options = ("-v0", "-O2", "-with-rtsopts=-A4m", "-isupport/ghcbench", "-outputdir", build / f"{workload}.objects")
    return Recipe(commands=((tools["ghc"], *options, "-o", program, f"{workload}/{peer}.hs"),), product=program,
                  run=(program,), directory=bench)


def _erlang(bench, build, peer, workload, tools):
    # The file is named for the peer, and its module must not be: the emulator has a module erlang of its own.
    module = f"bench_{workload}"
    directory = build / workload
    compiled = directory / f"{module}.beam"
    compile_all = (tools["erlc"], "+no_error_module_mismatch", "-o", directory, "support/erlbench/erlbench.erl",
                   f"{workload}/{peer}.erl")
    run = (tools["erl"], "+S", "1:1", "+P", "4000000", "-env", "ERL_CRASH_DUMP_SECONDS", "0", "-noshell", "-pa",
           directory, "-s", module, "main", "-extra")
    return Recipe(commands=(("mkdir", "-p", directory), compile_all, ("mv", directory / f"{peer}.beam", compiled)),
                  product=compiled, run=run, directory=bench)


# The folder lib-src/lwp of the Coda File System (--lwp), whose files are compiled with each program.
LWP_FOLDER = "SENNIT_LWP"
LWP_SOURCES = "fasttime iomgr lock lwp timer lwp_ucontext lwp_stacktrace".split()
LWP_FLAGS = "-w -D_GNU_SOURCE -DHAVE_SIGALTSTACK -DHAVE_STACK_T -DHAVE_REGISTER_T -DHAVE_SIGNAL_H".split()


def _lwp(bench, build, peer, workload, tools):
    folder = Path(os.environ[LWP_FOLDER])
    program, include = build / workload, ("-O2", "-g1", "-I", folder / "include")
    library = (tools["gcc"], "-c", *LWP_FLAGS, *include, *(folder / "src" / f"{name}.c" for name in LWP_SOURCES))
    # As CMake has it: what the peers that sort share.
    more = (bench / "sort/sequential.cpp",) if workload == "sort" else ()
    compiled = (tools["g++"], "-std=c++20", *include, bench / workload / f"{peer}.cpp", bench / "support/bench.cpp",
                *more, *(f"{name}.o" for name in LWP_SOURCES), "-o", program)
    return Recipe(commands=(library, compiled), product=program, run=(program,), directory=build)


def _no_lwp(_bench, _version):
    folder = os.environ.get(LWP_FOLDER)
    if folder is None:
        return "it is in no package: --lwp DIR names its folder, lib-src/lwp of the Coda File System"
    if not (Path(folder) / "src" / "lwp.c").is_file():
        return f"{folder} has no src/lwp.c: --lwp names the folder lib-src/lwp of the Coda File System"
    return None


def _version_tuple(text):
    found = re.search(r"(\d+)\.(\d+)", text)
    return tuple(map(int, found.groups())) if found else (0, 0)


def _too_old_rust(bench, version):
    needed = re.search(r'rust-version = "([\d.]+)"', (bench / "rust" / "Cargo.toml").read_text()).group(1)
    if _version_tuple(version) < _version_tuple(needed):
        return f"it needs Rust {needed}, and {version} is installed"
    return None


def _rust_peer(peer):
    return Toolchain(peer, "Rust", f"{peer}.rs", "bench", ("rustc", "cargo"), ("--version",),
                     ("rust/Cargo.*", "rust/src/*.rs"), _cargo, _too_old_rust)


TOOLCHAINS = (
    Toolchain("go", "Go", "go.go", "bench", ("go",), ("version",), ("go.mod", "support/gobench/*.go"), _go),
    _rust_peer("corosensei"),
    _rust_peer("may"),
    _rust_peer("tokio"),
    Toolchain("liblwp", "gcc", "liblwp.cpp", "build", ("gcc", "g++"), ("--version",),
              ("peers/liblwp.hpp", "support/*.[ch]pp", "*/*.hpp"), _lwp, _no_lwp),
    Toolchain("ghc", "GHC", "ghc.hs", "paper", ("ghc",), ("--version",), ("support/ghcbench/*.hs",), _ghc),
    Toolchain("erlang", "Erlang", "erlang.erl", "paper", ("erl", "erlc"), ("+V",), ("support/erlbench/*.erl",),
              _erlang),
)
