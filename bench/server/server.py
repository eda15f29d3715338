#!/usr/bin/env python3
"""The `server` workload: kv_server's fronts, its coroutines per request and redis-server under redis-benchmark.

Run by ./run bench server, one process a round. Within a case the servers take turns, with short runs, so that a
change of the machine's speed meets all of them. Prints a line of JSON for each thing measured.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time

import load
import stalls
from load import Client, ServerError, ServerProcess, connect, kv_server_command, redis_command, workload_parser

KIND = "--coroutine-per-request"
FRONTS = {name: ["--front", name] for name in ("fiber", "callback", "thread")}
# The third seed's experiment: what executes a request of the callback front.
SQUARE = {name: ["--front", "callback", KIND, name]
          for name in ("pooled-swap", "pooled-ucontext", "unpooled-swap", "unpooled-ucontext")}
UNITS = {"cpu_us_per_request": "us/request", "per_second": "requests/s", "p99_us": "us", "longest_us": "us", "busy_percent": "% busy",
         "bytes": "bytes/connection"}
CONFIGURATIONS = {
    "sennit": "examples/kv_server, a core for itself, redis-benchmark on another",
    "redis": "--save '' --appendonly no --databases 1, the same core",
}


def parse_arguments():
    parser = workload_parser(__doc__)  # one CPU serves, one asks
    parser.add_argument("--seconds", type=float, help="aimed-at length of one run (default 0.7, quick 0.3)")
    for name in ("clients", "pipeline"):
        parser.add_argument(f"--{name}", type=lambda text: [int(word) for word in text.split(",")])
    options = parser.parse_args()
    options.seconds = options.seconds or (0.3 if options.quick else 0.7)
    options.clients = options.clients or [50, 1000]
    options.pipeline = options.pipeline or [1, 32]
    return options


def say(peer, variant, params, metric, value):
    print(json.dumps({"peer": peer, "variant": variant, "workers": 1, "params": params, "metric": metric,
                      "unit": UNITS[metric], "value": value}), flush=True)


class Bench:
    def __init__(self, options, server_cpu, client):
        self.options, self.cpu, self.client = options, server_cpu, client
        self.tiny = options.seconds < 0.05

    def start(self, words):
        """A warm server: kv_server with the words, or redis-server without."""
        def command(port):
            return redis_command(port) if words is None else kv_server_command(self.options.kv_server, port, *words)

        server = ServerProcess(command, cpu=self.cpu)
        if not self.tiny:
            self.client.run(server, "set", 100_000, pipeline=32)
        return server

    def servers(self, names, stack):
        """{name: server} of those wanted; all end with `stack`."""
        wanted = {name: words for name, words in names.items() if self.options.variant in (None, name)}
        if self.options.redis and self.options.variant is None:
            wanted["redis"] = None
        return {name: stack.enter_context(self.start(words)) for name, words in wanted.items()}

    def requests(self, pipeline, clients=0):
        rate = 60_000 if pipeline == 1 else 1_000_000
        return max(int(rate * self.options.seconds), 2 * clients, 1000 * pipeline)

    def measure(self, servers, params, turns=2, **case):
        """Runs a case on every server, in turns; `params` are added to those of the case."""
        requests = self.requests(case["pipeline"], case["clients"])
        names = list(servers)
        for turn in range(1 if self.tiny else turns):
            for name in names if turn % 2 == 0 else reversed(names):
                got = self.client.run(servers[name], requests=requests, **case)
                shown = {"command": case["test"], "pipeline": case["pipeline"], "clients": case["clients"], **params}
                for metric, value in got.items():
                    say(*peer_of(name), shown, metric, value)

    def load(self, names, tests):
        with contextlib.ExitStack() as stack:
            servers = self.servers(names, stack)
            for test in tests:
                for clients in self.options.clients:
                    for pipeline in self.options.pipeline:
                        self.measure(servers, {}, test=test, clients=clients, pipeline=pipeline)

    def fronts(self):
        self.load(FRONTS, ("get", "set"))
        with contextlib.ExitStack() as stack:
            servers = self.servers(FRONTS, stack)
            self.measure(servers, {"keepalive": 0}, test="get", clients=50, pipeline=1, keepalive=False)
        with contextlib.ExitStack() as stack:
            count, each = load.bytes_per_connection(self.servers(FRONTS, stack), 200 if self.tiny else 2000)
        for name, value in each.items():
            say(*peer_of(name), {"idle": count}, "bytes", value)

    def square(self):
        """Beside the callback front, which executes at once, and the fiber front, the library as it is meant."""
        with contextlib.ExitStack() as stack:
            servers = self.servers({"callback": FRONTS["callback"], "fiber": FRONTS["fiber"], **SQUARE}, stack)
            servers.pop("redis", None)
            for pipeline in self.options.pipeline:
                self.measure(servers, {"square": 1}, test="get", clients=50, pipeline=pipeline)

    def stacks(self):
        """What is not important once coroutines are pooled: the stacks' size, and whether they are zeroed."""
        for kib in (64, 256, 1024):
            for zeroed in (0, 1):
                more = ["--coroutine-stack", f"{kib}kb"] + ["--coroutine-zeroed"] * zeroed
                params = {"stack_kib": kib, "zeroed": zeroed}
                with contextlib.ExitStack() as stack:
                    servers = self.servers({name: SQUARE[name] + more for name in ("pooled-swap", "unpooled-swap")},
                                           stack)
                    servers.pop("redis", None)
                    self.measure(servers, params, turns=1, test="get", clients=50, pipeline=32)

    def warm_up(self):
        """The first requests of a fresh server against as many later ones, which find stacks and memory there."""
        for name, words in {**FRONTS, "pooled-swap": SQUARE["pooled-swap"]}.items():
            if self.options.variant not in (None, name):
                continue
            with ServerProcess(lambda port, words=words: kv_server_command(self.options.kv_server, port, *words),
                               cpu=self.cpu) as server:
                for phase in ("first", "later"):
                    got = self.client.run(server, "get", 2000, clients=1000)
                    say("sennit", name, {"warm_up": phase, "clients": 1000}, "cpu_us_per_request",
                        got["cpu_us_per_request"])

    def workers(self):
        """Fibers on one thread and on two workers: on one core, which shows what sharing costs, and on all, which
        they share with redis-benchmark."""
        names = {"fiber": FRONTS["fiber"], "2 workers": [*FRONTS["fiber"], "--workers", "2"]}
        pinned = self.cpu, self.client
        for where in ("one core", "all cores"):
            with contextlib.ExitStack() as stack:
                servers = self.servers(names, stack)
                servers.pop("redis", None)
                for pipeline in self.options.pipeline:
                    self.measure(servers, {"on": where}, test="get", clients=50, pipeline=pipeline)
            self.cpu, self.client = None, Client(None)
        self.cpu, self.client = pinned

    def idle(self):
        """100 active clients, alone and beside thousands of idle ones."""
        idle = 300 if self.tiny else min(9900, load.raise_descriptor_limit() - 300)
        case = {"test": "get", "clients": 100, "pipeline": 1}
        with contextlib.ExitStack() as stack:
            servers = self.servers({"fiber": FRONTS["fiber"], "callback": FRONTS["callback"]}, stack)
            self.measure(servers, {"beside": "nobody"}, **case)
            for name, server in servers.items():
                opened = load.idle_connections(server, idle)
                self.measure({name: server}, {"beside": f"{idle} idle"}, **case)
                load.close_all(opened)

    def stalls(self):
        """The longest wait of one client beside another's long commands."""
        with contextlib.ExitStack() as stack:
            for name, server in self.servers({"fiber": FRONTS["fiber"]}, stack).items():
                for command, wait in stalls.longest_waits(server.port, 2000 if self.tiny else stalls.SIZE):
                    say(*peer_of(name), {"beside": command}, "longest_us", wait)

    def hostile(self):
        """50 clients beside others that are killed in mid-frame, stopped, or never read what they subscribed to."""
        with contextlib.ExitStack() as stack:
            servers = self.servers({"fiber": FRONTS["fiber"], "callback": FRONTS["callback"]}, stack)
            for name, server in servers.items():
                with Hostility(server):
                    self.measure({name: server}, {"beside": "hostile"}, test="get", clients=50, pipeline=1)


class Hostility:
    """Misbehaving clients in processes of their own."""

    def __init__(self, server):
        self.process = subprocess.Popen([sys.executable, __file__, "--hostility", str(server.port)],
                                        stdout=subprocess.PIPE, start_new_session=True)
        self.process.stdout.readline()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.killpg(self.process.pid, signal.SIGKILL)  # its children too
        self.process.wait()
        self.process.stdout.close()


def be_hostile(port):
    """20 stopped in the midst of big replies, 20 deaf subscribers and who writes to them, others killed in turn."""
    def child(*sent):
        pid = os.fork()
        if pid == 0:
            client = connect(port)
            client.setblocking(False)
            with contextlib.suppress(OSError):
                for each in sent:
                    client.send(each)
            time.sleep(1000)
            os._exit(0)
        return pid

    children = [child(b"COMMAND DOCS\r\n" * 50) for _ in range(20)]
    time.sleep(0.3)
    for pid in children:
        os.kill(pid, signal.SIGSTOP)
    deaf = [connect(port) for _ in range(20)]
    for client in deaf:
        client.sendall(b"SUBSCRIBE news\r\n")
    publisher = connect(port)
    print("ready", flush=True)
    while True:
        publisher.sendall(b"PUBLISH news " + b"x" * 50_000 + b"\r\n")
        publisher.recv(100)
        pid = child(b"*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$10000\r\nabc")
        time.sleep(0.02)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def peer_of(name):
    return ("redis", "") if name == "redis" else ("sennit", name)


def main():
    if sys.argv[1:2] == ["--hostility"]:
        be_hostile(int(sys.argv[2]))
        return
    options = parse_arguments()
    server_cpu, client_cpu = load.choose_cpus()
    if server_cpu is None:
        raise ServerError("it needs two CPUs, one for the server and one for the client")
    for peer in ("sennit", "redis") if options.redis else ("sennit",):
        print(json.dumps({"peer": peer, "configuration": CONFIGURATIONS[peer], "version": version(peer, options)}))
    bench = Bench(options, server_cpu, Client(client_cpu))
    bench.fronts()
    bench.square()
    bench.stacks()
    bench.warm_up()
    bench.workers()
    bench.idle()
    bench.hostile()
    bench.stalls()


def version(peer, options):
    command = ["redis-server", "--version"] if peer == "redis" else [options.kv_server, "--version"]
    words = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return next((word.removeprefix("v=") for word in words if word.removeprefix("v=")[:1].isdigit()), "")


if __name__ == "__main__":
    try:
        main()
    except (ServerError, OSError, subprocess.TimeoutExpired) as error:
        sys.exit(f"server: {error}")
