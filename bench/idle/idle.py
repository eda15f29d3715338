#!/usr/bin/env python3
"""The `idle` workload: connections that have made one request and then wait, as many as descriptors allow.

Run by ./run bench idle, one process a round. Each server in turn is alone; what is printed is by how much its resident
memory has grown for each connection: the kernel's buffers are not in it.
"""

import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "server"))

import load  # noqa: E402
from load import ServerError, ServerProcess, kv_server_command, redis_command  # noqa: E402

RESERVED = 300  # descriptors for all else, of the server and of us
CONFIGURATIONS = {
    "sennit": "kv_server's fronts and the echo server in C, of examples/: one request each, then idle for 4 s",
    "redis": "--save '' --appendonly no --databases 1: the same",
}


def parse_arguments():
    parser = load.workload_parser(__doc__)
    parser.add_argument("--echo-server", required=True, metavar="FILE")
    parser.add_argument("--seconds", type=float, default=1.0, help="below 0.05: few connections, no idle time")
    return parser.parse_args()


def servers(options, connections):
    """(peer, variant, command of a port, what it answers to PING)"""
    clients = "--maxclients", str(connections + 100)
    pong = b"+PONG\r\n"
    for front in ("fiber", "callback"):
        yield "sennit", front, lambda port, front=front: kv_server_command(
            options.kv_server, port, "--front", front, *clients), pong
    yield "sennit", "echo", lambda port: [options.echo_server, "--port", str(port)], b"PING\r\n"
    if options.redis:
        yield "redis", "", lambda port: redis_command(port, *clients), pong


def version(words):
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    numbers = (word.removeprefix("v=").rstrip(";") for word in said)
    return next((number for number in numbers if number[:1].isdigit()), "")


def main():
    options = parse_arguments()
    tiny = options.seconds < 0.05
    connections = load.raise_descriptor_limit() - RESERVED
    if tiny or options.quick:
        connections = min(connections, 200 if tiny else 2000)
    versions = {"sennit": version([options.kv_server, "--version"])}
    if options.redis:
        versions["redis"] = version(["redis-server", "--version"])
    for peer, said in versions.items():
        print(json.dumps({"peer": peer, "configuration": CONFIGURATIONS[peer], "version": said}))
    for peer, variant, command, answer in servers(options, connections):
        if options.variant not in (None, variant):
            continue
        with ServerProcess(command, answer=answer) as server:
            count, each = load.bytes_per_connection({variant: server}, connections, settle=0.1 if tiny else 4)
        print(json.dumps({"peer": peer, "variant": variant, "workers": 1, "params": {"connections": count},
                          "metric": "bytes", "unit": "bytes/connection", "value": each[variant]}), flush=True)


if __name__ == "__main__":
    try:
        main()
    except (ServerError, OSError, subprocess.TimeoutExpired) as error:
        sys.exit(f"idle: {error}")
