"""Learn a causal graph from the bundled protein data and write a page to look at.

python examples/demo.py [FOLDER]
"""

from __future__ import annotations

import html
import math
import sys
from pathlib import Path

from loopscm import Fit, GaussianStats, LatentGraph, datasets, fit, learn, score

PAGE = """<!doctype html><meta charset="utf-8"><title>loopscm demo</title>
<style>
 body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem;
        color: #1b1f24 }}
 h1, h2 {{ line-height: 1.2 }} table {{ border-collapse: collapse; font-size: 14px }}
 td, th {{ padding: .2rem .8rem; border-bottom: 1px solid #d8dee4; text-align: left }}
 .pair {{ display: flex; flex-wrap: wrap; gap: 2rem }} figure {{ margin: 0 }}
 figcaption {{ font-size: 14px; max-width: 27rem }} .loop {{ color: #b3261e }}
</style>
<h1>Protein signalling in T cells</h1>
<p>{n} cells under general stimulation, {p} proteins (Sachs et al. 2005), measured
log intensities. The graph on the left was learned from the data; the one on the right is
a published reference, fitted to the same data. Published references for these data disagree
with each other, so neither is the truth. Edges on directed loops are red; L1, L2, … are hidden
common causes.</p>
<div class="pair">{figures}</div>
<h2>Learned structural equations</h2>
<p>{status} Feedback: {stability}.</p>
<table><tr><th>edge<th>coefficient<th>standard error</tr>{rows}</table>
"""


def picture(graph: LatentGraph, title: str, caption: str) -> str:
    """An inline SVG: observed variables on a circle, latents inside."""
    names = [*graph.names, *graph.latent_names]
    p, size = graph.n_observed, 430
    place = {}
    for k, name in enumerate(names):
        inner = k >= p
        count, radius = (max(1, len(names) - p), 70) if inner else (p, 175)
        angle = 2 * math.pi * (k - (p if inner else 0)) / count - (0.4 if inner else math.pi / 2)
        place[name] = (size / 2 + radius * math.cos(angle), size / 2 + radius * math.sin(angle))
    loops = {
        (graph.names[i], graph.names[j])
        for group in graph.strongly_connected_components()
        for i in group
        for j in group
        if i != j
    }
    lines = []
    for tail, head, *_ in graph.to_edges():
        (x, y), (u, v) = place[tail], place[head]
        gap = 21 / max(1e-9, math.hypot(u - x, v - y))
        bend = 0.08 if (head, tail) in loops else 0.0
        mx, my = (x + u) / 2 - bend * (v - y), (y + v) / 2 + bend * (u - x)
        color = "#b3261e" if (tail, head) in loops else "#57606a"
        dash = ' stroke-dasharray="4 3"' if tail in graph.latent_names else ""
        lines.append(
            f'<path d="M{x + gap * (u - x):.1f},{y + gap * (v - y):.1f} Q{mx:.1f},{my:.1f} '
            f'{u - gap * (u - x):.1f},{v - gap * (v - y):.1f}" fill="none" stroke="{color}" '
            f'stroke-width="1.6" marker-end="url(#{"red" if color[1] == "b" else "grey"})"{dash}/>'
        )
    for k, (name, (x, y)) in enumerate(place.items()):
        fill = "#fff4d6" if k >= p else "#e8f0fe"
        lines.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="19" fill="{fill}" stroke="#8c959f"/>'
            f'<text x="{x:.1f}" y="{y + 4:.1f}" font-size="12" text-anchor="middle">'
            f"{html.escape(name)}</text>"
        )
    arrows = "".join(
        f'<marker id="{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        f'markerHeight="7" orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="{color}"/></marker>'
        for name, color in (("grey", "#57606a"), ("red", "#b3261e"))
    )
    return (
        f'<figure><h2>{title}</h2><svg width="{size}" height="{size}"><defs>{arrows}</defs>'
        f"{''.join(lines)}</svg><figcaption>{caption}</figcaption></figure>"
    )


def equations(result: Fit) -> str:
    """The fitted coefficients as table rows, with standard errors where they exist."""
    graph, scm = result.scm.graph, result.scm
    values = [*scm.coefficients[graph.directed], *scm.loadings[graph.children]]
    errors = result.standard_errors()
    rows = []
    for (tail, head, *_), value in zip(graph.to_edges(), values, strict=True):
        error = errors[f"{tail} -> {head}"]
        text = "not identified by itself" if math.isnan(error) else f"{error:.3f}"
        rows.append(f"<tr><td>{tail} → {head}<td>{value:+.3f}<td>{text}</tr>")
    return "".join(rows)


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
    data = datasets.load("sachs")
    assert data.data is not None and data.conditions is not None
    cells = data.data[data.conditions == data.conditions[0]]
    stats = GaussianStats.from_data(cells, names=data.variables)

    print(
        "Learning a graph; the very first run compiles the library for about a minute.", flush=True
    )
    learned = learn(stats, seed=0)
    found = fit(stats, learned.graph, start=learned.scm)
    reference = data.references["cdt-18"]
    known = fit(stats, reference.graph)
    own, other = (score(stats, m.scm.graph, penalty=learned.penalty) for m in (found, known))

    figures = picture(
        found.scm.graph,
        "Learned",
        f"{found.scm.graph.n_edges} edges, {found.scm.graph.n_latent} latents; "
        f"score {own:.1f} (lower is better)",
    ) + picture(
        known.scm.graph,
        "Reference cdt-18",
        f"{known.scm.graph.n_edges} edges with a loop plc → pip2 → pip3 → plc; "
        f"score {other:.1f}. Source: {html.escape(reference.source)}",
    )
    page = PAGE.format(
        n=stats.n, p=stats.p, figures=figures, rows=equations(found),
        status=found.status.value, stability=html.escape(str(found.scm.stability)),
    )  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "sachs.html"
    path.write_text(page, encoding="utf8")
    print(found.scm.graph)
    print(f"score {own:.1f}, learned in {learned.seconds:.1f} s")
    print(f"\nOpen this page in a browser: {path.resolve()}")


if __name__ == "__main__":
    main()
