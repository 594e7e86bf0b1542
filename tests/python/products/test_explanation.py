"""What a notebook shows of `A.explain(x)`: its words, and bars whose lengths are the seconds."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pytest
from penstock._plan import picture
from penstock._plan.report import Explanation

import penstock as ps


def parsed(html: str) -> ET.Element:
    """The HTML as XML: it is well-formed, and so is the SVG."""
    return ET.fromstring(html.replace("<br>", "<br/>"))


def bars_of(html: str) -> list[list[tuple[str, float, str]]]:
    """(name, width, colour) of the bars of each picture."""
    space = "{http://www.w3.org/2000/svg}"
    found = []
    for svg in parsed(html).iter(f"{space}svg"):
        names = [t.findtext(f"{space}title") for t in svg.iter(f"{space}text")][::2]
        rects = list(svg.iter(f"{space}rect"))
        found.append(
            [(n, float(r.get("width")), r.get("fill")) for n, r in zip(names, rects, strict=True)]
        )
    return found


def made(**more):
    given = {
        "schedule": "streamed",
        "reason": "2 < 3 & so on",
        "seconds": 4e-3,
        "binding": "link <0>",
        "uses": [
            {"resource": "link <0>", "bytes": 1, "bandwidth": 1.0, "seconds": 4e-3},
            {"resource": "host memory", "bytes": 1, "bandwidth": 1.0, "seconds": 1e-3},
        ],
        "flops": 10**6,
        "alternatives": [{"schedule": "in_core", "seconds": 8e-3, "first_call_seconds": 0.0}],
    }
    return Explanation(**(given | more))


def test_the_bars_are_the_seconds_of_each_resource():
    used, considered = bars_of(made()._repr_html_())
    assert [name for name, _, _ in used] == ["link <0>", "host memory"]
    assert used[0][1] == pytest.approx(4 * used[1][1])
    assert used[0][2] == picture.BINDS and used[1][2] == picture.OTHER
    assert [name for name, _, _ in considered] == ["in_core"]
    assert considered[0][1] == pytest.approx(2 * used[0][1])  # one scale for both pictures


def test_the_words_are_there_and_escaped():
    html = made(first_call_seconds=2.0, figures="measured")._repr_html_()
    text = "".join(parsed(html).itertext())
    for words in ("streamed", "2 < 3 & so on", "4 ms", "link <0> binds", "2 s", "measured"):
        assert words in text, words


def test_without_a_prediction_there_is_no_picture():
    html = made(uses=[], alternatives=[], seconds=0.0, binding="no prediction")._repr_html_()
    assert "<svg" not in html and "streamed" in html


def test_of_a_real_product():
    A = ps.generate.laplacian((50, 50))
    x = np.ones(2500)
    with ps.options(device_memory="8KiB"):
        plan = A.explain(x)
    used = bars_of(plan._repr_html_())[0]
    assert [name for name, _, _ in used] == [use["resource"] for use in plan.uses]
    binding = [name for name, _, colour in used if colour == picture.BINDS]
    assert binding == [plan.binding]


def test_long_names_stay_in_the_picture():
    name = "a resource with a name that is much too long for the picture"
    (row,) = picture.bars([(name, 1.0, True)]).split("</text>")[:1]
    assert "…" in row and name in row  # in full as the tooltip
