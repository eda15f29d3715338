#!/usr/bin/env python3
"""Talks to the counting echo server, and ends it: counting_echo_test.py COMMAND..."""

import signal
import subprocess
import sys
import threading

from echo_server_test import LIMIT, connect, receive_all, start, talk

CLIENTS = 20
IDLE = 200


def stop(server, wrong):
    """Asks it to end, more than once: ThreadSanitizer keeps a signal until the interrupted fiber makes a call that
    blocks."""
    for _ in range(4):
        server.send_signal(signal.SIGTERM)
        try:
            return server.communicate(timeout=LIMIT / 4)[0]
        except subprocess.TimeoutExpired:
            pass
    server.kill()
    wrong.append("the server did not end")
    return ""


def main():
    server, port = start([*sys.argv[1:], "--workers", "3"])
    wrong = []
    idle = [connect(port) for _ in range(IDLE)]
    talkers = [threading.Thread(target=talk, args=(port, seed, wrong)) for seed in range(1, CLIENTS + 1)]
    for each in talkers:
        each.start()
    for each in talkers:
        each.join()
    said = stop(server, wrong)
    for client in idle:
        if receive_all(client):
            wrong.append("an idle client got something")
        client.close()
    expected = f"{CLIENTS + IDLE} clients, {CLIENTS * 300_000} bytes."
    if expected not in said or server.returncode != 0:
        wrong.append(f"it exited with {server.returncode} and said {said!r} in place of {expected!r}")
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
