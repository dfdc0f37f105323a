# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables: aligned plain text, and rich ones where a person looks at a terminal."""

import os
import sys
from collections.abc import Sequence

Row = Sequence[str]


def plain(heads: Row, rows: Sequence[Row]) -> str:
    """Columns padded to equal width, two spaces between, the last one as it is."""
    everything = [heads, *rows]
    last = len(heads) - 1
    widths = [max(len(row[i]) for row in everything) for i in range(last)]
    lines = []
    for row in everything:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        lines.append("  ".join([*cells, row[last]]).rstrip())
    return "\n".join(lines)


def show(heads: Row, rows: Sequence[Row]) -> None:
    """Prints a table on stdout."""
    if not sys.stdout.isatty() or os.environ.get("TERM") == "dumb":
        print(plain(heads, rows))
        return
    # Imported here: rich takes longer to load than most commands take to run.
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(box=None, pad_edge=False, header_style="bold")
    for head in heads:
        table.add_column(head, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    Console().print(table)  # heeds NO_COLOR by itself
