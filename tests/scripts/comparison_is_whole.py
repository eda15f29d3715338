#!/usr/bin/env python3
"""Whether scripts/serve_compare.py has measured all that it promises: comparison_is_whole.py RESULTS.json PRINTED"""

import json
import re
import sys

LOAD = ("per_second", "p99_us", "cpu_us_per_request", "busy_percent")
COLUMNS = ("requests/s", "p99 us", "CPU us/request", "core busy", "bytes/connection")


def faults(results, printed):
    found = {}
    for each in results:
        params = each["params"]
        found[each["peer"], params.get("command"), params.get("pipeline"), each["metric"]] = each["median"]
    wanted = [(peer, command, pipeline, metric) for peer in ("sennit", "redis") for command in ("set", "get")
              for pipeline in (1, 32) for metric in LOAD]
    wanted += [(peer, None, None, "bytes") for peer in ("sennit", "redis")]
    for key in wanted:
        if not found.get(key, 0) > 0:
            yield f"{key}: {found.get(key)}"
    # A fiber that waits for a request, and what the server knows of its client.
    if not found.get(("sennit", None, None, "bytes"), 0) < 1024:
        yield "an idle connection takes a kilobyte"
    heads = [line for line in printed if all(column in line for column in COLUMNS)]
    if len(heads) != 1:
        yield f"{len(heads)} tables"
    if not any(re.match(r" *\d+/\d+ .*/s ", line) for line in printed):
        yield "no progress"


def main():
    with open(sys.argv[1], encoding="utf-8") as results, open(sys.argv[2], encoding="utf-8") as printed:
        wrong = list(faults(json.load(results)["results"], printed.read().splitlines()))
    for line in wrong:
        print(f"the comparison: {line}")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
