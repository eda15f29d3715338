"""Finds the programs to measure, and builds those that CMake does not: the Go and the Rust peers."""

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

INSTALL = "./scripts/install_packages bench"


@dataclass(frozen=True)
class Program:
    workload: str
    peer: str
    command: tuple


@dataclass(frozen=True)
class Absent:
    """A peer that is not measured in a workload, and why."""

    workload: str
    peer: str
    reason: str


class BuildMissing(Exception):
    """The C++ programs have not been built."""


def find_programs(bench, build, toolchain_build, wanted, say):
    """Returns (programs, absent) of all `wanted(workload, peer)`.

    `bench` is this directory, `build` where CMake built the C++ programs, `toolchain_build` where the Go and Rust
    peers are built; `say(text)` tells the user what takes time.
    """
    programs, absent = _compiled(build, wanted)
    server_programs, server_absent = _server(bench, build, wanted)
    programs += server_programs
    absent += server_absent
    go_sources = [path for path in sorted(bench.glob("*/go.go")) if wanted(path.parent.name, "go")]
    rust_sources = [path for path in sorted(bench.glob("*/corosensei.rs")) if wanted(path.parent.name, "corosensei")]
    for peer, sources, build_all in (("go", go_sources, _build_go), ("corosensei", rust_sources, _build_rust)):
        if not sources:
            continue
        built, reason = build_all(bench, toolchain_build / peer, sources, say)
        for source in sources:
            workload = source.parent.name
            if workload in built:
                programs.append(Program(workload, peer, (str(built[workload]),)))
            else:
                absent.append(Absent(workload, peer, reason))
    return programs, absent


def _compiled(build, wanted):
    programs_file, absent_file = build / "bench" / "programs.json", build / "bench" / "absent.json"
    if not programs_file.exists():
        raise BuildMissing(f"no benchmark programs in {build}: cmake --preset release && cmake --build {build}")
    programs, absent = [], []
    for entry in json.loads(programs_file.read_text()):
        workload, peer, path = entry["workload"], entry["peer"], entry["program"]
        if not wanted(workload, peer):
            continue
        if os.access(path, os.X_OK):
            programs.append(Program(workload, peer, (path,)))
        else:
            absent.append(Absent(workload, peer, f"{path} has not been built"))
    for entry in json.loads(absent_file.read_text()):
        if wanted(entry["workload"], entry["peer"]):
            absent.append(Absent(entry["workload"], entry["peer"], entry["reason"]))
    return programs, absent


def _server(bench, build, wanted):
    """The workload that is driven from Python, with the server's binary and with redis-server beside it."""
    if not wanted("server", "sennit"):
        return [], []
    server = build / "examples" / "kv_server" / "kv_server"
    missing = [name for name in ("redis-benchmark", "redis-server") if find_tool(name) is None]
    if not server.exists():
        return [], [Absent("server", "sennit", f"{server} has not been built")]
    if "redis-benchmark" in missing:
        return [], [Absent("server", "sennit", "redis-benchmark is not installed: ./scripts/install_packages server")]
    command = (sys.executable, str(bench / "server" / "server.py"), "--kv-server", str(server))
    absent = []
    if not wanted("server", "redis"):
        pass
    elif missing:
        absent.append(Absent("server", "redis", "redis-server is not installed: ./scripts/install_packages server"))
    else:
        command += ("--redis",)
    return [Program("server", "sennit", command)], absent


def find_tool(name, *places):
    """The path of the program `name` in PATH or else in `places`, or None."""
    present = (path for path in map(os.path.expanduser, places) if os.access(path, os.X_OK))
    return shutil.which(name) or next(present, None)


def go_tool():
    return find_tool("go", "/usr/local/go/bin/go", "/usr/lib/go/bin/go")


def rust_tool(name):
    return find_tool(name, f"~/.cargo/bin/{name}")


def _run_tool(command, **options):
    """Returns (succeeded, all it printed)."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600, **options)
    return done.returncode == 0, done.stdout


def _last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no message"


def _first_error(text):
    return next((line.strip() for line in text.splitlines() if line.startswith("error")), _last_line(text))


def _build_go(bench, build, sources, say):
    """Returns ({workload: program}, why the others are missing)."""
    go = go_tool()
    if go is None:
        return {}, f"Go is not installed: {INSTALL}"
    environment = dict(os.environ, GOTOOLCHAIN="local", GOFLAGS="-buildvcs=false")
    version = subprocess.run([go, "version"], env=environment, stdout=subprocess.PIPE, text=True).stdout.strip()
    shared = [bench / "go.mod", *(bench / "support" / "gobench").glob("*.go")]
    built, reason = {}, "it was not built"
    for source in sources:
        program = build / source.parent.name
        stamp = program.with_suffix(".built-by")
        newest = max(path.stat().st_mtime for path in [source, *shared])
        current = program.exists() and program.stat().st_mtime > newest
        if not current or not stamp.exists() or stamp.read_text() != version:
            say(f"building {source.relative_to(bench.parent)}")
            build.mkdir(parents=True, exist_ok=True)
            succeeded, output = _run_tool([go, "build", "-o", str(program), str(source.relative_to(bench))],
                                          cwd=bench, env=environment)
            if not succeeded:
                reason = f"go build failed: {_last_line(output)}"
                continue
            stamp.write_text(version)
        built[source.parent.name] = program
    return built, reason


def _version_tuple(text):
    found = re.search(r"(\d+)\.(\d+)", text)
    return tuple(map(int, found.groups())) if found else (0, 0)


def _build_rust(bench, build, sources, say):
    """Returns ({workload: program}, why the others are missing)."""
    cargo, rustc = rust_tool("cargo"), rust_tool("rustc")
    if cargo is None or rustc is None:
        return {}, f"Rust is not installed: {INSTALL}"
    manifest = (bench / "rust" / "Cargo.toml").read_text()
    needed = re.search(r'rust-version = "([\d.]+)"', manifest).group(1)
    version = subprocess.run([rustc, "--version"], stdout=subprocess.PIPE, text=True).stdout
    if _version_tuple(version) < _version_tuple(needed):
        return {}, f"it needs Rust {needed}, and {_last_line(version)} is installed"
    say("building the Rust peers")
    succeeded, output = _run_tool([cargo, "build", "--release", "--locked"], cwd=bench / "rust",
                                  env=dict(os.environ, CARGO_TARGET_DIR=str(build.resolve()), RUSTC=rustc))
    if not succeeded:
        return {}, f"cargo build failed: {_first_error(output)}"
    programs = {source.parent.name: build / "release" / f"{source.parent.name}_corosensei" for source in sources}
    programs = {workload: path for workload, path in programs.items() if path.exists()}
    return programs, "bench/rust/Cargo.toml does not name it"
