"""What was measured: the lines of all runs, made into one result per measurement."""

import statistics

from .workloads import workload_named


# By metric.
LESS_IS_BETTER = {"ns": True, "per_second": False, "bytes": True, "p99_us": True, "cpu_us_per_request": True,
                  "busy_percent": False, "overhead_real": True, "overhead_kernels": True,
                  "growth_text": True, "growth_compile": True, "switches": True, "missed_percent": True}


class Collection:
    """The values and the failures of all runs so far."""

    def __init__(self):
        self._values = {}
        self._units = {}
        # (workload, peer, variant, workers, params, reason): whether a program failed (or else is absent, or says
        # that it cannot do that)
        self._missing = {}
        # workload, peer: the versions of its programs, and what they are configured as
        self._peers = {}

    def add(self, job, outcome):
        """Adds one run's lines."""
        workload = job.program.workload
        for line in outcome.lines:
            peer = line.get("peer", job.program.peer)
            if "configuration" in line:
                versions, _ = self._peers.setdefault((workload, peer), ({}, line["configuration"]))
                versions[line.get("version", "")] = True
                continue
            params = _ordered(workload, line.get("params") or {})
            key = (workload, peer, line.get("variant", ""), line.get("workers", job.workers), params)
            if "unsupported" in line:
                self._missing[key + (line["unsupported"],)] = False
            elif "value" in line:
                metric = line["metric"]
                self._values.setdefault(key + (metric,), []).append((line["value"], line.get("best", line["value"])))
                self._units[key + (metric,)] = line["unit"]
        if outcome.failure:
            self._missing[workload, job.program.peer, "", job.workers, job.params, outcome.failure] = True

    def add_absent(self, absent):
        self._missing[absent.workload, absent.peer, "", None, (), absent.reason] = absent.failed

    def results(self, ghz):
        """One entry per measurement, as the contract of the JSON file has it."""
        entries = []
        for key, values in self._values.items():
            workload, peer, variant, workers, params, metric = key
            means, bests = zip(*values)
            # The best slice of all runs is the minimum of a time and the maximum of a rate.
            least, most = (min(bests), max(means)) if LESS_IS_BETTER.get(metric, True) else (min(means), max(bests))
            entries.append({
                "workload": workload, "peer": peer, "variant": variant, "workers": workers, "params": dict(params),
                "metric": metric, "unit": self._units[key],
                "min": _rounded(least), "median": _rounded(statistics.median(means)), "max": _rounded(most),
                "runs": len(values), "cycles": _rounded(least * ghz) if metric == "ns" and ghz else None,
            })
        return entries

    def not_measured(self):
        """What was asked for and has no result, or failed in some runs, and why."""
        return [
            {"workload": workload, "peer": peer, "variant": variant, "workers": workers, "params": dict(params),
             "reason": reason, "failed": failed}
            for (workload, peer, variant, workers, params, reason), failed in self._missing.items()
        ]

    def versions(self):
        """The peers' versions, by peer."""
        versions = {}
        for (_, peer), (found, _) in self._peers.items():
            versions.setdefault(peer, {}).update(found)
        return {peer: ", ".join(filter(None, found)) for peer, found in versions.items()}

    def configurations(self, workload):
        """(peer, version, what it is configured as) of all that ran."""
        return [(peer, ", ".join(filter(None, versions)), text)
                for (each, peer), (versions, text) in self._peers.items() if each == workload]


def _ordered(workload, params):
    """`params` as pairs, the workload's own first and in its order."""
    known = [name for name in workload_named(workload).parameters if name in params]
    return tuple((name, params[name]) for name in known + sorted(set(params) - set(known)))


def _rounded(value):
    return float(f"{value:.5g}")


def best_of(entry):
    """The best of a result's runs: the least time, the highest rate."""
    return entry["min"] if LESS_IS_BETTER.get(entry["metric"], True) else entry["max"]
