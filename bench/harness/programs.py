"""Finds the programs to measure, and has those built that CMake does not."""

import json
import os
import sys
from dataclasses import dataclass

from . import plugin
from .toolchains import TOOLCHAINS, find_tool


@dataclass(frozen=True)
class Program:
    workload: str
    peer: str
    command: tuple


@dataclass(frozen=True)
class Absent:
    """A peer that is not measured in a workload, and why; `failed` if its program does not build."""

    workload: str
    peer: str
    reason: str
    failed: bool = False


class BuildMissing(Exception):
    """The C++ programs have not been built."""


def find_programs(bench, build, toolchain_build, wanted, say, toolchains=TOOLCHAINS):
    """Returns (programs, absent) of all `wanted(workload, peer)`.

    `bench` is this directory, `build` where CMake built the C++ programs, `toolchain_build` where `toolchains` build
    theirs; `say(text)` tells the user what takes time.
    """
    programs, absent = _compiled(build, wanted)
    for more, missing in (_server(bench, build, wanted), _idle(bench, build, wanted), _with_plugin(bench, wanted)):
        programs += more
        absent += missing
    for toolchain in toolchains:
        peer = toolchain.peer
        sources = [path for path in toolchain.sources(bench) if wanted(path.parent.name, peer)]
        if not sources:
            continue
        commands, missing = toolchain.build(bench, toolchain_build / peer, sources, say)
        programs += [Program(workload, peer, command) for workload, command in commands.items()]
        absent += [Absent(workload, peer, each.reason, each.failed) for workload, each in missing.items()]
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


def _idle(bench, build, wanted):
    """Driven from Python as well: the servers of examples/, and redis-server."""
    if not wanted("idle", "sennit"):
        return [], []
    binaries = {"kv": build / "examples" / "kv_server" / "kv_server", "echo": build / "examples" / "echo_server"}
    for binary in binaries.values():
        if not binary.exists():
            return [], [Absent("idle", "sennit", f"{binary} has not been built")]
    command = [sys.executable, str(bench / "idle" / "idle.py")]
    for name, binary in binaries.items():
        command += [f"--{name}-server", str(binary)]
    absent = []
    if wanted("idle", "redis"):
        if find_tool("redis-server") is None:
            absent.append(Absent("idle", "redis", "redis-server is not installed: ./scripts/install_packages server"))
        else:
            command.append("--redis")
    return [Program("idle", "sennit", tuple(command))], absent


# Workloads whose programs are compiled by clang with the plugin and without, each driven from Python.
WITH_PLUGIN = {"polls": "polls.py", "mp3": "mp3.py", "context-bytes": "context_bytes.py"}


def _with_plugin(bench, wanted):
    names = [name for name in WITH_PLUGIN if wanted(name, "sennit") and (bench / name).is_dir()]
    reason = plugin.missing()
    if reason:
        return [], [Absent(name, "sennit", reason) for name in names]
    return [Program(name, "sennit", (sys.executable, str(bench / name / WITH_PLUGIN[name]))) for name in names], []
