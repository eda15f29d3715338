#!/usr/bin/env python3
"""Compares kv_server with Debian's redis-server under the real redis-benchmark, one core each.

Both servers are pinned to one CPU, redis-benchmark to another; the runs alternate between the servers, with
the same options. `./run bench server` measures more of it, and kv_server's other fronts.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench/server"))

from load import (  # noqa: E402
    BUSY_ENOUGH, KEYS, Client, ServerError, ServerProcess, bytes_per_connection, choose_cpus, kv_server_command,
    redis_command)

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


def measure_load(servers, client, options):
    """{(test, pipeline): {peer: {metric: [value of each round]}}}"""
    results = {}
    cases = [(test, pipeline) for pipeline in (1, 32) for test in ("set", "get")]
    print("Warming up.", flush=True)
    requests = {}
    for test, pipeline in cases:
        warm = 10_000 if pipeline == 1 else 150_000
        rates = [client.run(server, test, warm, options.clients, pipeline)["per_second"] for server in servers.values()]
        requests[test, pipeline] = int(statistics.mean(rates) * options.seconds) // 1000 * 1000 + 1000
    total = options.rounds * len(cases) * len(servers)
    done = 0
    for _ in range(options.rounds):
        for case in cases:
            for peer, server in servers.items():
                got = client.run(server, case[0], requests[case], options.clients, case[1])
                for metric, value in got.items():
                    results.setdefault(case, {}).setdefault(peer, {}).setdefault(metric, []).append(value)
                done += 1
                print(f"  {done:2}/{total}  {PEERS[peer]:<12} {case[0]} -P {case[1]:<2}  "
                      f"{got['per_second']:>9.0f}/s  {got['cpu_us_per_request']:6.2f} us CPU/request", flush=True)
    return results


def print_table(load, connections, options):
    count, each = connections
    print(f"\nredis-benchmark -c {options.clients} -r {KEYS}, one core a server, median of {options.rounds}")
    print(f"{'':12}{'':16}{'requests/s':>12} {'p99 us':>8} {'CPU us/request':>15} {'core busy':>10}"
          f" {'bytes/connection':>17}")
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
    for number, (peer, value) in enumerate(each.items()):
        print(f"{f'{count} idle' if number == 0 else '':12}{PEERS[peer]:16}{'':13}{'':8} {'':15} {'':10} {value:>17.0f}")
    print(f"{'':12}{'kv_server/redis':16}{'':13}{'':8} {'':15} {'':10} {each['sennit'] / each['redis']:>17.2f}")
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
    if server_cpu is None:
        print("Only one CPU: servers and client share it, unpinned. Compare CPU per request, nothing else.")
    else:
        print(f"Server on CPU {server_cpu}, redis-benchmark on CPU {client_cpu}.")
    client = Client(client_cpu)
    binary = os.path.abspath(options.kv_server)
    with ServerProcess(lambda port: kv_server_command(binary, port), cpu=server_cpu) as ours, \
            ServerProcess(redis_command, cpu=server_cpu) as redis:
        servers = {"sennit": ours, "redis": redis}
        print(f"Opening {options.connections} connections to each server.", flush=True)
        connections = bytes_per_connection(servers, options.connections)
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
