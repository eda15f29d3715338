"""Servers under the real redis-benchmark, one core each, and what a request costs them.

CPU time is the server process's own account (user and system, all its threads, those that have ended too), so
it can be compared even where the client, not the server, was the limit. Requests/s says something about the
server only where its core was busy.
"""

import argparse
import csv
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples/kv_server/tests"))

from server_process import (  # noqa: E402, F401
    ServerError, ServerProcess, connect, kv_server_command, receive, redis_command)

KEYS = 100_000
BUSY_ENOUGH = 95  # percent


def workload_parser(description):
    """Returns a parser for the options that the runner passes to each workload of servers."""
    parser = argparse.ArgumentParser(description=description.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--kv-server", required=True, metavar="FILE")
    parser.add_argument("--redis", action="store_true", help="measure redis-server too")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--variant")
    parser.add_argument("--workers")  # the runner's word for CPUs
    return parser


def choose_cpus():
    """(server's, client's), or (None, None) where there is only one."""
    cpus = sorted(os.sched_getaffinity(0))
    return (cpus[0], cpus[1]) if len(cpus) > 1 else (None, None)


def pin_to(cpu):
    return (lambda: os.sched_setaffinity(0, {cpu})) if cpu is not None else None


def raise_descriptor_limit():
    """Returns how many descriptors a process may have."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard if hard != resource.RLIM_INFINITY else 1 << 20


class Client:
    """redis-benchmark, pinned."""

    def __init__(self, cpu):
        self.binary = shutil.which("redis-benchmark")
        if self.binary is None:
            raise ServerError("redis-benchmark is not installed (Debian package redis-tools)")
        self.cpu = cpu

    def run(self, server, test, requests, clients=50, pipeline=1, keepalive=True, keys=KEYS):
        """One run: requests/s, p99 in us, the server's CPU us per request and percent of its core."""
        command = [self.binary, "-p", str(server.port), "-t", test, "-c", str(clients), "-P", str(pipeline),
                   "-n", str(requests), "-r", str(keys), "-k", "1" if keepalive else "0", "--csv"]
        before = server.cpu_ns()
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False,
                              preexec_fn=pin_to(self.cpu))
        used = server.cpu_ns() - before
        rows = [row for row in csv.DictReader(done.stdout.splitlines()) if row.get("rps")]
        if done.returncode != 0 or len(rows) != 1:
            raise ServerError(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}\n{server.output()}")
        per_second = float(rows[0]["rps"])
        if not 0 < per_second < float("inf"):
            raise ServerError(f"{' '.join(command)} took no time: more requests are needed")
        return {
            "cpu_us_per_request": used / 1000 / requests,
            "per_second": per_second,
            "p99_us": float(rows[0]["p99_latency_ms"]) * 1000,
            "busy_percent": min(100.0, used / 1e7 / (requests / per_second)),
        }


def idle_connections(server, count):
    """Opens so many connections, each of which has made a request."""
    opened = [connect(server.port) for _ in range(count)]
    for client in opened:
        client.sendall(b"PING\r\n")
    for client in opened:
        client.recv(7)
    return opened


def close_all(connections):
    for client in connections:
        client.close()


def bytes_per_connection(servers, count, settle=4):
    """Resident bytes that each of `count` connections adds to each server, after one request and `settle` seconds."""
    room = (raise_descriptor_limit() - 200) // len(servers)
    count = min(count, room)
    before = {name: server.resident_bytes() for name, server in servers.items()}
    opened = [client for server in servers.values() for client in idle_connections(server, count)]
    time.sleep(settle)  # redis-server takes buffers back from clients idle for more than two seconds
    each = {name: (server.resident_bytes() - before[name]) / count for name, server in servers.items()}
    close_all(opened)
    return count, each
