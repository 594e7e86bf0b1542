"""Smaller SVGs: matplotlib writes every style, font list and six decimals of a point again and again."""

from __future__ import annotations

import re
from collections import Counter

_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_DECIMALS = re.compile(r'(?:\bd|points|x|y|transform|width|height)="[^"]*"')
_FONTS = re.compile(r"font-family: [^;\"]*")
_UNSEEN = [
    re.compile(r"<!--.*?-->", re.DOTALL),  # the text of a label, once more
    re.compile(r"<metadata>.*?</metadata>", re.DOTALL),
    re.compile(r' transform="rotate\(-?0(?: [-\d.]+ [-\d.]+)?\)"'),
]
_LEAST_USES = 3  # of a style that gets a class


def _rounded(match: re.Match[str]) -> str:
    return _NUMBER.sub(lambda number: f"{float(number[0]):.2f}".rstrip("0").rstrip("."), match[0])


def _classes(text: str) -> str:
    """Styles that are used often, as classes."""
    uses = Counter(re.findall(r' style="([^"]*)"', text))
    names = {
        style: f"s{k}"
        for k, style in enumerate(style for style, n in uses.items() if n >= _LEAST_USES)
    }
    rules = "".join(f".{name}{{{style}}}\n" for style, name in names.items())

    def named(match: re.Match[str]) -> str:
        return f' class="{names[match[1]]}"' if match[1] in names else match[0]

    text = re.sub(r' style="([^"]*)"', named, text)
    return re.sub(r"(<svg\b[^>]*>)", rf"\1\n<style>\n{rules}</style>", text, count=1)


def _ids(text: str) -> str:
    """Names that nothing refers to go, others become short."""
    used = dict.fromkeys(re.findall(r"(?:url\(|href=\")#([\w-]+)", text))
    short = {name: f"i{k}" for k, name in enumerate(used)}
    text = re.sub(
        r' id="([\w.-]+)"', lambda m: f' id="{short[m[1]]}"' if m[1] in short else "", text
    )
    return re.sub(r"(url\(|href=\")#([\w-]+)", lambda m: f"{m[1]}#{short[m[2]]}", text)


def compact(text: str) -> str:
    """The same picture to a hundredth of a point, at about a third of the size."""
    for unseen in _UNSEEN:
        text = unseen.sub("", text)
    text = _DECIMALS.sub(_rounded, _FONTS.sub("font-family: 'DejaVu Sans', sans-serif", text))
    text = _ids(_classes(text))
    while (
        less := re.sub(
            r"<g>\s*(<g\b[^>]*>(?:(?!</?g\b).)*</g>)\s*</g>", r"\1", text, flags=re.DOTALL
        )
    ) != text:
        text = less  # a group around one group
    text = re.sub(r"<g>\s*((?:(?!</?g\b).)*?)\s*</g>", r"\1", text, flags=re.DOTALL)
    lines = (line.strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line) + "\n"
