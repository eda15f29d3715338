"""The tables people read: one per thing compared, best first, Sennit's rows marked."""

from .results import LESS_IS_BETTER, best_of
from .text_table import aligned
from .workloads import workload_named

MARK = ">"


def format_number(value):
    if value is None:
        return "-"
    if value >= 999.5:
        return f"{value:,.0f}"
    return f"{value:.3g}" if value >= 0.995 else f"{value:.2f}"


def _apart(workload, variant):
    """The name of the work of `variant`, if it is not the work of the rest."""
    return next((prefix for prefix in workload_named(workload).apart if variant.startswith(prefix)), "")


def _groups(entries):
    """Entries that are compared with each other: ((apart, params, workers), entries)."""
    groups = {}
    for entry in entries:
        key = (_apart(entry["workload"], entry["variant"]), tuple(entry["params"].items()), entry["workers"])
        groups.setdefault(key, []).append(entry)
    return sorted(groups.items(), key=lambda group: _order(*group[0]))


def _order(apart, params, workers):
    """Sorts tables by work and size, numbers as numbers."""
    return apart, [(isinstance(value, str), value) for _, value in params], workers


def _rows(entries):
    """One row per peer and variant, best first, by the metric that was reported first; other metrics follow."""
    primary = entries[0]["metric"]
    rows = [entry for entry in entries if entry["metric"] == primary]
    rows.sort(key=best_of, reverse=not LESS_IS_BETTER.get(primary, True))
    others = [metric for metric in dict.fromkeys(entry["metric"] for entry in entries) if metric != primary]
    by_row = {(entry["peer"], entry["variant"], entry["metric"]): entry for entry in entries}
    best = best_of(rows[0])
    for entry in rows:
        ratio = best_of(entry) / best if LESS_IS_BETTER.get(primary, True) else best / best_of(entry)
        cells = [MARK if entry["peer"] == "sennit" else "", entry["peer"], entry["variant"]]
        cells += [format_number(entry[column]) for column in ("min", "median", "max")]
        cells += [f"{ratio:.2f}" if ratio < 100 else format_number(ratio), format_number(entry["cycles"]), str(entry["runs"])]
        for metric in others:
            other = by_row.get((entry["peer"], entry["variant"], metric))
            cells.append(format_number(best_of(other)) if other else "-")
        yield cells


def _heading(entries):
    primary = entries[0]["metric"]
    others = {entry["metric"]: entry["unit"] for entry in entries if entry["metric"] != primary}
    return ["", "peer", "variant", "min", "median", "max", "x best", "cycles", "runs", *others.values()]


def tables(entries):
    """The tables of results of any workloads: (title, heading, rows), each row with its mark first."""
    for name in dict.fromkeys(entry["workload"] for entry in entries):
        for (apart, params, workers), group in _groups([entry for entry in entries if entry["workload"] == name]):
            yield _title(apart, params, workers, group), _heading(group), list(_rows(group))


def _title(apart, params, workers, group):
    title = [apart] if apart else []
    title += [f"{param} {value}" for param, value in params]
    title += ["1 worker" if workers == 1 else f"{workers} workers", group[0]["unit"]]
    return ", ".join(title)


def format_workload(name, entries, not_measured, configurations):
    """All tables of one workload as text, with what each peer is configured as, and what is missing.

    `configurations` has (peer, version, configuration)."""
    lines = [f"== {name}: {workload_named(name).measures} =="]
    for (apart, params, workers), group in _groups(entries):
        lines += ["", _title(apart, params, workers, group)]
        lines += ["  " + line for line in aligned([_heading(group), *_rows(group)], left=3)]
    if configurations:
        lines += ["", "configurations:"]
        lines += ["  " + line for line in aligned(sorted(configurations), left=3)]
    if not_measured:
        lines += ["", "not measured:"]
        lines += ["  " + line for line in aligned([_missing_row(entry) for entry in not_measured], left=3)]
    return "\n".join(lines) + "\n"


def _missing_row(entry):
    where = [entry["variant"]] if entry["variant"] else []
    where += [f"{name} {value}" for name, value in entry["params"].items()]
    if entry["workers"] not in (None, 1):
        where.append(f"{entry['workers']} workers")
    return [entry["peer"], ", ".join(where), entry["reason"]]
