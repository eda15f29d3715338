"""Tables as text: Markdown for the documents, aligned columns for a terminal."""

import statistics


def spread(values, form=".1f"):
    """The median, with the least and the greatest in brackets if they differ. None: there is no such number."""
    values = sorted(value for value in values if value is not None)
    if not values:
        return "-"
    low, middle, high = (format(value, form) for value in (values[0], statistics.median(values), values[-1]))
    return middle if low == high else f"{middle} ({low}-{high})"


def markdown(header, rows, align="---:"):
    """Yields the lines of a Markdown table, each when its row is known. `align` is for all columns after the first."""
    header = list(header)
    for row in (header, ["---", *[align] * (len(header) - 1)]):
        yield _line(row)
    yield from map(_line, rows)


def filled(rows):
    """Yields the rows with "-" in each empty cell after the first column."""
    for first, *rest in rows:
        yield [first, *("-" if cell == "" else cell for cell in rest)]


def _line(row):
    return f"| {' | '.join(map(str, row))} |"


def aligned(rows, left=1):
    """Yields lines with the columns of equal width; the first `left` columns are aligned to the left."""
    rows = [list(map(str, row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        cells = [cell.ljust(width) if column < left else cell.rjust(width)
                 for column, (cell, width) in enumerate(zip(row, widths))]
        yield "  ".join(cells).rstrip()
