#!/usr/bin/env python3
"""The same as for the echo server: echo_on_every_core_test.py COMMAND..."""

import echo_server_test

if __name__ == "__main__":
    echo_server_test.main()
