# SPDX-License-Identifier: MIT
"""Shows placements and machines as text and in notebooks."""

from __future__ import annotations

import html
from typing import Any, Dict, List, NamedTuple, Sequence, Tuple

_COLOURS = {"forward": "#4c78a8", "backward": "#f58518", "update": "#54a24b", "transfer": "#9d9da1"}
_WIDTH, _LABEL, _ROW = 720, 110, 22  # pixels


class Span(NamedTuple):
    """An op on a device, or a transfer on a link."""

    lane: str
    name: str
    kind: str  #: "forward", "backward", "update" or "transfer"
    start_s: float
    end_s: float


def seconds_text(seconds: float) -> str:
    for limit, factor, unit in ((1e-3, 1e6, "µs"), (1, 1e3, "ms")):
        if seconds < limit:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds:.3g} s" if seconds < 1000 else f"{seconds:.0f} s"


def bytes_text(size: float) -> str:
    for limit, factor, unit in ((1e6, 1e3, "kB"), (1e9, 1e6, "MB")):
        if size < limit:
            return f"{size / factor:.3g} {unit}"
    return f"{size / 1e9:.3g} GB" if size < 1e12 else f"{size / 1e12:.3g} TB"


def flops_text(flops: float) -> str:
    return f"{flops / 1e12:.3g} TFLOP/s" if flops >= 1e12 else f"{flops / 1e9:.3g} GFLOP/s"


def table_text(rows: Sequence[Sequence[str]]) -> str:
    """Returns a table whose first row is its head."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows
    )


def table_html(rows: Sequence[Sequence[str]]) -> str:
    lines = []
    for index, row in enumerate(rows):
        tag = "td" if index else "th"
        lines.append("<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in row) + "</tr>")
    return "<table>" + "".join(lines) + "</table>"


class _Bar:
    """Spans of a kind that are drawn as one, because nothing of a pixel lies between them."""

    def __init__(self, span: Span) -> None:
        self.kind, self.start_s, self.end_s = span.kind, span.start_s, span.end_s
        self.first, self.count = span.name, 1

    def text(self) -> str:
        what = self.first if self.count == 1 else f"{self.first} and {self.count - 1} more"
        return f"{what} ({self.kind}), {seconds_text(self.end_s - self.start_s)}"


def _bars(spans: Sequence[Span], pixel_s: float) -> List[_Bar]:
    bars: List[_Bar] = []
    for span in sorted(spans, key=lambda item: item.start_s):
        last = bars[-1] if bars else None
        short = span.end_s - span.start_s < 2 * pixel_s
        if last is not None and span.start_s - last.end_s < pixel_s and (
            (span.kind == last.kind and short) or span.end_s - last.end_s < pixel_s / 4
        ):
            last.end_s = max(last.end_s, span.end_s)
            last.count += 1
        elif span.end_s > span.start_s:
            bars.append(_Bar(span))
    return bars


def timeline_svg(spans: Sequence[Span], lanes: Sequence[str], end_s: float) -> str:
    """Returns a timeline: a row for each lane, a bar for each op or transfer, or for several that would be
    narrower than a pixel. At most some thousand bars, whatever the number of spans."""
    by_lane: Dict[str, List[Span]] = {lane: [] for lane in lanes}
    for span in spans:
        if span.lane in by_lane:
            by_lane[span.lane].append(span)
    inner = _WIDTH - _LABEL - 10
    scale = inner / end_s if end_s > 0 else 0.0
    height = _ROW * len(lanes) + 40
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}"'
        f' height="{height}" font-family="sans-serif" font-size="11" fill="currentColor">'
    ]
    for row, lane in enumerate(lanes):
        top = row * _ROW
        parts.append(f'<text x="{_LABEL - 6}" y="{top + 15}" text-anchor="end">{html.escape(lane)}</text>')
        for bar in _bars(by_lane[lane], 1 / scale if scale else 0.0):
            width = max((bar.end_s - bar.start_s) * scale, 0.3)
            parts.append(
                f'<rect x="{_LABEL + bar.start_s * scale:.1f}" y="{top + 3}" width="{width:.1f}"'
                f' height="{_ROW - 6}" fill="{_COLOURS[bar.kind]}"><title>{html.escape(bar.text())}</title>'
                "</rect>"
            )
    bottom = len(lanes) * _ROW
    parts.append(
        f'<line x1="{_LABEL}" x2="{_LABEL + inner}" y1="{bottom + 2}" y2="{bottom + 2}" stroke="currentColor"/>'
    )
    for tick in range(5):
        x = _LABEL + inner * tick / 4
        anchor = "start" if tick == 0 else "end" if tick == 4 else "middle"
        label = html.escape(seconds_text(end_s * tick / 4) if tick else "0")
        parts.append(f'<text x="{x:.0f}" y="{bottom + 15}" text-anchor="{anchor}">{label}</text>')
    kinds = [kind for kind in _COLOURS if any(span.kind == kind for span in spans)]
    for index, kind in enumerate(kinds):
        x = _LABEL + 90 * index
        parts.append(f'<rect x="{x}" y="{bottom + 23}" width="10" height="10" fill="{_COLOURS[kind]}"/>')
        parts.append(f'<text x="{x + 14}" y="{bottom + 32}">{kind}</text>')
    return "".join(parts) + "</svg>"


def spans_of(trace: Dict[str, Any]) -> Tuple[List[Span], List[str]]:
    """Returns the spans of a Chrome trace of `placewright-cli simulate`, and the lanes of devices and links in
    their order."""
    processes: Dict[int, str] = {}
    lanes: Dict[Tuple[int, int], str] = {}
    spans = []
    for event in trace["traceEvents"]:  # names come first
        pid, key = event["pid"], (event["pid"], event.get("tid", 0))
        if event["name"] == "process_name":
            processes[pid] = event["args"]["name"].partition(" (")[0]
        elif event["name"] == "thread_name":
            is_link = processes[pid] == "channels"
            lanes[key] = event["args"]["name"] if is_link else processes[pid]
        elif event["ph"] == "X":
            kind = "transfer" if event["cat"] == "transfer" else event["args"]["phase"]
            start_s = event["ts"] * 1e-6
            spans.append(Span(lanes[key], event["name"], kind, start_s, start_s + event["dur"] * 1e-6))
    return spans, list(lanes.values())
