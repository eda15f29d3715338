#!/usr/bin/env python3
"""What others notice while a client's SORT computes, on a server with one worker.

Compiled with the plugin they are served in the midst of it (`preemptible`); compiled without, between its portions
(`portions`). Compiled with the plugin, but with --time-slice off, nobody is served meanwhile (`time_slice_off`). Name the
scenario that fits the server. Events are put in order by replies, not by time: INFO counts the clients that compute, and
can count one only if it is executed while that computes.
"""

import pathlib
import subprocess

from scenarios import Client
from server_process import check, encode, information, run_scenarios

ELEMENTS = 250_000  # some 40 ms
AT_ONCE = 2_500


def fill(client):
    client.ask("DEL numbers")
    for begin in range(0, ELEMENTS, AT_ONCE):
        part = (number * 7919 % ELEMENTS for number in range(begin, begin + AT_ONCE))
        client.socket.sendall(encode("RPUSH", "numbers", *part))
        client.reply()


def served_beside(computing, other, sorts, enough):
    """How many replies another client gets in the midst of SORTs: of so many, unless fewer are enough."""
    served = 0
    for _ in range(sorts):
        computing.send("SORT numbers LIMIT 0 3")
        while computing.is_silent(0):
            served += information(other.socket, "computing_clients")
        check(computing.reply() == [b"0", b"1", b"2"], "the numbers are not sorted")
        if served >= enough:
            break
    return served


def the_end_comes(start):
    """SIGTERM ends a server while a client computes."""
    with start() as server:
        computing, other = Client(server.port), Client(server.port)
        fill(computing)
        computing.send("SORT numbers")
        other.ask("PING")
        status = server.stop()
        check(status == 0, f"exit status {status} in the midst of SORT\n{server.output()}")
        computing.close()
        other.close()


def shares_no_code(archive):
    """What has checks must not be what the linker takes for code that must not yield (computing/computing.hpp)."""
    symbols = subprocess.run(["nm", "--defined-only", "-C", archive], check=True, capture_output=True, text=True).stdout
    shared = [line for line in symbols.splitlines() if " W " in line and " W sennit_yield_" not in line]
    check(" W sennit_yield_" in symbols, "there are no checks")
    check(not shared, "\n".join(["functions that may be others', too:", *shared]))


def beside_sort(start, is_preemptible, sorts, least):
    """Others get `least` replies during SORTs, or none. On a busy machine a SORT may be over before another client asks."""
    with start() as server:
        clients = [Client(server.port), Client(server.port)]
        found = information(clients[0].socket, "preemptible")
        check(found == is_preemptible, f"INFO says preemptible:{found}")
        fill(clients[0])
        served = served_beside(*clients, sorts, least or 1 << 60)
        check(served >= least if least else served == 0, f"{served} replies during {sorts} SORTs")
        check(server.is_running(), server.output())
    the_end_comes(start)
    return f"{served} replies during SORTs"


def preemptible(start):
    shares_no_code(pathlib.Path(start.server).with_name("libkv_computing.a"))
    return beside_sort(start, True, 200, 20)


def portions(start):
    return beside_sort(start, False, 200, 20)


def time_slice_off(start):
    return beside_sort(lambda: start("--time-slice", "off"), False, 5, 0)


if __name__ == "__main__":
    run_scenarios(__doc__, [preemptible, portions, time_slice_off])
