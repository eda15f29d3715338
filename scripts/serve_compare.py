#!/usr/bin/env python3
"""Compares kv_server with Debian's redis-server under the real redis-benchmark, one core each.

Both servers are pinned to one CPU, redis-benchmark to another; the runs alternate between the servers, with
the same options. CPU time per request is the server process's own account (user and system), so it can be
compared even where the client, not the server, was the limit. Requests/s says something about the server
only where its core was busy; where it was not, the table marks the number.
"""

import argparse
import csv
import json
import os
import pathlib
import resource
import shutil
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "examples/kv_server/tests"))

from server_process import (  # noqa: E402
    ServerError, ServerProcess, connect, kv_server_command, redis_command)

KEYS = 100_000
BUSY_ENOUGH = 95  # percent
PEERS = {"sennit": "kv_server", "redis": "redis-server"}  # BENCHMARKS.md's names, the table's names


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--kv-server", default=ROOT / "build/release/examples/kv_server/kv_server",
                        metavar="FILE", help="the server's binary (default: the release build's)")
    parser.add_argument("--json", metavar="FILE", help="write the results there too")
    parser.add_argument("--quick", action="store_true", help="one short round, fewer connections")
    parser.add_argument("--rounds", type=int, help="measured rounds (default 3)")
    parser.add_argument("--seconds", type=float, help="aimed-at length of one run (default 1.4)")
    parser.add_argument("--clients", type=int, default=50, help="connections of redis-benchmark (default 50)")
    parser.add_argument("--connections", type=int, help="idle connections for bytes each (default 3000)")
    options = parser.parse_args()
    options.rounds = options.rounds or (1 if options.quick else 3)
    options.seconds = options.seconds or (0.5 if options.quick else 1.4)
    options.connections = options.connections or (1000 if options.quick else 3000)
    return options


def choose_cpus():
    """(server's, client's), or (None, None) where there is only one."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        print("Only one CPU: servers and client share it, unpinned. Compare CPU per request, nothing else.")
        return None, None
    print(f"Server on CPU {cpus[0]}, redis-benchmark on CPU {cpus[1]}.")
    return cpus[0], cpus[1]


class Client:
    """redis-benchmark, pinned."""

    def __init__(self, cpu, clients):
        self.binary = shutil.which("redis-benchmark")
        if self.binary is None:
            raise ServerError("redis-benchmark is not installed (Debian package redis-tools)")
        self.cpu = cpu
        self.clients = clients

    def run(self, server, test, pipeline, requests):
        """One run: requests/s, p99 in us, the server's CPU us per request and percent of its core."""
        command = [self.binary, "-p", str(server.port), "-t", test, "-c", str(self.clients), "-P", str(pipeline),
                   "-n", str(requests), "-r", str(KEYS), "--csv"]
        cpu = self.cpu
        pin = (lambda: os.sched_setaffinity(0, {cpu})) if cpu is not None else None
        before = server.cpu_ns()
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, preexec_fn=pin)
        used = server.cpu_ns() - before
        rows = [row for row in csv.DictReader(done.stdout.splitlines()) if row.get("rps")]
        if done.returncode != 0 or len(rows) != 1:
            raise ServerError(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}\n{server.output()}")
        per_second = float(rows[0]["rps"])
        return {
            "per_second": per_second,
            "p99_us": float(rows[0]["p99_latency_ms"]) * 1000,
            "cpu_us_per_request": used / 1000 / requests,
            "busy_percent": min(100.0, used / 1e7 / (requests / per_second)),
        }


def measure_load(servers, client, options):
    """{(test, pipeline): {peer: {metric: [value of each round]}}}"""
    results = {}
    cases = [(test, pipeline) for pipeline in (1, 32) for test in ("set", "get")]
    print("Warming up.", flush=True)
    requests = {}
    for test, pipeline in cases:
        warm = 10_000 if pipeline == 1 else 150_000
        rates = [client.run(server, test, pipeline, warm)["per_second"] for server in servers.values()]
        requests[test, pipeline] = int(statistics.mean(rates) * options.seconds) // 1000 * 1000 + 1000
    total = options.rounds * len(cases) * len(servers)
    done = 0
    for _ in range(options.rounds):
        for case in cases:
            for peer, server in servers.items():
                got = client.run(server, *case, requests[case])
                for metric, value in got.items():
                    results.setdefault(case, {}).setdefault(peer, {}).setdefault(metric, []).append(value)
                done += 1
                print(f"  {done:2}/{total}  {PEERS[peer]:<12} {case[0]} -P {case[1]:<2}  "
                      f"{got['per_second']:>9.0f}/s  {got['cpu_us_per_request']:6.2f} us CPU/request", flush=True)
    return results


def measure_connections(servers, count):
    """Resident bytes that each of `count` connections adds to a server, after one request and some idle time."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    room = (hard - 100) // len(servers) if hard != resource.RLIM_INFINITY else count
    count = min(count, room, hard - 200 if hard != resource.RLIM_INFINITY else count)
    print(f"Opening {count} connections to each server.", flush=True)
    before = {peer: server.resident_bytes() for peer, server in servers.items()}
    opened = []
    for server in servers.values():
        for _ in range(count):
            opened.append(connect(server.port))
            opened[-1].sendall(b"PING\r\n")
    for client in opened:
        client.recv(7)
    time.sleep(4)  # redis-server takes buffers back from clients idle for more than two seconds
    each = {peer: (server.resident_bytes() - before[peer]) / count for peer, server in servers.items()}
    for client in opened:
        client.close()
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return count, each


def print_table(load, connections, options):
    count, each = connections
    print(f"\nredis-benchmark -c {options.clients} -r {KEYS}, one core a server, median of {options.rounds}")
    print(f"{'':12}{'':16}{'requests/s':>12} {'p99 us':>8} {'CPU us/request':>15} {'core busy':>10}")
    marked = False
    for (test, pipeline), peers in load.items():
        busy = min(statistics.median(metrics["busy_percent"]) for metrics in peers.values())
        for peer, metrics in peers.items():
            value = {metric: statistics.median(values) for metric, values in metrics.items()}
            mark = "*" if value["busy_percent"] < BUSY_ENOUGH else " "
            print(f"{test.upper() + ' -P ' + str(pipeline):12}{PEERS[peer]:16}{value['per_second']:>12.0f}{mark}"
                  f"{value['p99_us']:>8.0f} {value['cpu_us_per_request']:>15.2f} {value['busy_percent']:>9.0f}%")
        mark = "*" if busy < BUSY_ENOUGH else " "
        marked |= mark == "*"
        print(f"{'':12}{'kv_server/redis':16}{ratio(peers, 'per_second'):>12.2f}{mark}{'':8} "
              f"{ratio(peers, 'cpu_us_per_request'):>15.2f}")
    print(f"\n{'memory':12}{'':16}{'bytes for each of ' + str(count) + ' idle connections'}")
    for peer, value in each.items():
        print(f"{'':12}{PEERS[peer]:16}{value:>12.0f}")
    if marked:
        print(f"\n* The server's core was less than {BUSY_ENOUGH} % busy: the client or the machine was the limit, so\n"
              "  requests/s and p99 say little about the server. CPU us/request is comparable.")


def ratio(peers, metric):
    return statistics.median(peers["sennit"][metric]) / statistics.median(peers["redis"][metric])


def write_json(path, load, connections, options):
    units = {"per_second": "requests/s", "p99_us": "us", "cpu_us_per_request": "us/request", "busy_percent": "%"}
    results = []

    def add(peer, metric, unit, params, values):
        results.append({
            "workload": "server", "peer": peer, "variant": "fiber" if peer == "sennit" else "", "workers": 1,
            "params": params, "metric": metric, "unit": unit, "min": min(values),
            "median": statistics.median(values), "max": max(values), "runs": len(values)})

    for (test, pipeline), peers in load.items():
        for peer, metrics in peers.items():
            for metric, values in metrics.items():
                params = {"command": test, "pipeline": pipeline, "clients": options.clients}
                add(peer, metric, units[metric], params, values)
    count, each = connections
    for peer, value in each.items():
        add(peer, "bytes", "bytes/connection", {"clients": count}, [value])
    machine = {"kernel": os.uname().release, "cpus": os.cpu_count(),
               "redis": subprocess.run(["redis-server", "--version"], capture_output=True, text=True,
                                       check=True).stdout.strip()}
    pathlib.Path(path).write_text(json.dumps({"machine": machine, "results": results}, indent=1) + "\n",
                                  encoding="utf-8")


def main():
    options = parse_arguments()
    if not os.access(options.kv_server, os.X_OK):
        raise ServerError(f"there is no {options.kv_server}: build it first (scripts/build release)")
    server_cpu, client_cpu = choose_cpus()
    client = Client(client_cpu, options.clients)
    binary = os.path.abspath(options.kv_server)
    with ServerProcess(lambda port: kv_server_command(binary, port), cpu=server_cpu) as ours, \
            ServerProcess(redis_command, cpu=server_cpu) as redis:
        servers = {"sennit": ours, "redis": redis}
        connections = measure_connections(servers, options.connections)
        load = measure_load(servers, client, options)
    print_table(load, connections, options)
    if options.json:
        write_json(options.json, load, connections, options)


if __name__ == "__main__":
    try:
        main()
    except (ServerError, subprocess.TimeoutExpired) as error:
        sys.exit(f"serve_compare: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
