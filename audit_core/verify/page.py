"""The markup of a report, read as strictly as it is written, so that a browser cannot read it otherwise.

What the writer never makes is a fault: another element, attribute or nesting, a comment, a sign that joins or turns
numbers. Then the text in order is the text on screen, and a number in it is marked or it is found here.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field

NAMES = ("SHA-256", "Token F1")
"""Words of a report's own text that hold a digit."""
MOST = 120
"""Characters of markup that a fault quotes."""

_PAGE = re.compile(
    r'<!doctype html><html lang="en"><head><meta charset="utf-8">'
    r'<meta http-equiv="Content-Security-Policy" content="[^"<>]*">'
    r'<meta name="viewport" content="width=device-width,initial-scale=1"><title>Snapshot compatibility report</title>'
    r"<style>(?P<style>[^<]*)</style></head><body>(?P<body>.*?)"
    r"(?:<script>(?:(?!</script|<!--).)*</script>){2}</body></html>\n(?:<!-- sha256 [0-9a-f]{64} -->\n?)?",
    re.S,
)
_VALUE = r""" ([a-z-]+)=("[^"<>]*"|'[^'<>]*')"""
_ATTRIBUTE = re.compile(_VALUE)
_TOKEN = re.compile(rf"<(?P<end>/?)(?P<tag>[a-z][a-z0-9]*)(?P<attributes>(?:{_VALUE})*)>|(?P<text>[^<>]+)")
_ENTITY = re.compile(r"&(?!(?:amp|lt|gt|quot|#x27);)")
_STYLE = re.compile(
    r"(?<![\w-])(?:content|order|direction|transform|translate|rotate)\s*:|counter|unicode-bidi|writing-mode|first-l"
    r"|reverse|@import|@font|url\(|\\"
)
"""What makes a style write text of its own, or show characters in another order."""

_WORDS = ("b", "br", "cite", "code", "data", "span")
_HOLDS: dict[str, tuple[str, ...]] = {
    "body": ("header", "section", "main", "footer", "script"),
    "header": ("h1", "p"),
    "main": ("section",),
    "footer": ("p",),
    "section": ("h2", "h3", "p", "div", "ul", "figure", "article"),
    "article": ("h3", "p", "div"),
    "div": ("h2", "h3", "h4", "p", "div", "table", "ul"),
    "figure": ("figcaption", "div", "script", "p", "details"),
    "details": ("summary", "div"),
    "table": ("caption", "thead", "tbody"),
    "thead": ("tr",),
    "tbody": ("tr",),
    "tr": ("th", "td"),
    "ul": ("li",),
    "li": (*_WORDS, "blockquote"),
    **dict.fromkeys(("h1", "h2", "h3", "h4", "p", "caption", "figcaption", "summary", "th", "td"), _WORDS),
    **dict.fromkeys(("b", "cite", "code", "span", "blockquote"), _WORDS),
    **dict.fromkeys(("data", "script"), ()),
}
"""Elements that may stand in each; a browser leaves them there, so nothing is moved on the way to the screen."""
_TEXTUAL = {"script", *(tag for tag, held in _HOLDS.items() if "data" in held or tag == "data")}
_INLINE = {"b", "cite", "code", "data", "span"}
_CLASSES = (
    "answer appendix bad big card cards docs facts hash kind lead mono n new none ok old pill pills plot quiet "
    "scroll settings short sides small warn"
)
_VALUES = {
    "class": re.compile(_CLASSES.replace(" ", "|").join(("(?:(?:", ")(?: (?!$)|$))+"))),
    "dir": re.compile("auto"),
    "id": re.compile("[a-z-]+"),
    "role": re.compile("img|region"),
    "scope": re.compile("col|row"),
    "tabindex": re.compile("0"),
    "type": re.compile("application/json"),
    "data-plot": re.compile("plot-[a-z]+"),
    "aria-label": re.compile(".*", re.S),
    "value": re.compile(".*", re.S),
}
_OWN = re.compile(r"[A-Za-z \n%'(),./:;?·κ→—–“”’…✓✗-]*")
"""Characters of a report's own text: none that joins, turns or covers numbers."""
_JOINED = re.compile(
    r"[^\s(“]\x020"  # right before a number: a sign, a part of it, another mark
    r"|0\x03(?:\x02|[^\s.,:;)”-]|[.,:;]\d|-(?![a-z]))"  # or right behind it
    r"|0\x03\s+\x020|\x03\s*%"  # two numbers that read as one; another unit
    r"|[-—–]\s*\x020"  # a minus
)
_MARK = re.compile("\x02([^\x03]*)\x03")
_STARTS, _ENDS = re.compile(r"[−+.-]*\d"), re.compile(r"\d%?$")


@dataclass
class Found:
    """What stands in a report.

    Attributes:
        marked: Reference and text of each mark, in order.
        loose: What no mark derives, and markup that no report has, as it stands there.
        islands: Data by name.
        figures: Data of the figures, in order.
    """

    marked: list[tuple[str, str]] = field(default_factory=list)
    loose: list[str] = field(default_factory=list)
    islands: dict[str, str] = field(default_factory=dict)
    figures: list[str] = field(default_factory=list)


def read_page(page: str) -> Found:
    """Everything in a page that is checked.

    Args:
        page: The whole file.
    """
    reader = _Reader()
    whole = _PAGE.fullmatch(page)
    if whole is None:
        reader.fault("a page that is not built as a report is")
    else:
        reader.styled(whole["style"])
    reader.read(whole["body"] if whole else page)
    return reader.found


class _Reader:
    """Walks through the body."""

    def __init__(self) -> None:
        self.found = Found()
        self._open: list[tuple[str, dict[str, str]]] = [("body", {})]
        self._run: list[str] = []
        self._ids: set[str] = set()
        self._data = ""

    def fault(self, text: str) -> None:
        """Note what must not be there."""
        self.found.loose.append(" ".join(text.split())[:MOST])

    def styled(self, text: str) -> None:
        """A style may not write text or turn it."""
        if _STYLE.search(text):
            self.fault("a style that writes text of its own or turns it")

    def read(self, body: str) -> None:
        """Take in all of it."""
        place = 0
        for token in _TOKEN.finditer(body):
            if token.start() != place:
                self.fault(body[place : token.start()])
            place = token.end()
            if token["text"] is not None:
                self._text(token["text"])
            elif token["end"]:
                self._close(token)
            else:
                self._start(token)
        if body[place:] or len(self._open) > 1:
            self.fault(body[place:] or f"<{self._open[-1][0]}> without an end")
        self._flush()

    def _start(self, token: re.Match[str]) -> None:
        tag, parent = token["tag"], self._open[-1][0]
        pairs = [(name, self._plain(value[1:-1])) for name, value in _ATTRIBUTE.findall(token["attributes"])]
        given = dict(pairs)
        good = all(name in _VALUES and _VALUES[name].fullmatch(value) for name, value in pairs)
        if not good or len(given) < len(pairs) or ("value" in given) != (tag == "data") or given.get("id") in self._ids:
            self.fault(token[0])
        if tag not in _HOLDS.get(parent, ()):
            self.fault(f"{token[0]} in {parent}")
        self._own(given.get("aria-label", ""))
        self._ids |= {given["id"]} if "id" in given else set()
        if _breaks(tag, given):
            self._flush()
        if tag != "br":
            self._open.append((tag, given))
        if tag == "data":
            self.found.marked.append((given.get("value", ""), ""))
            self._run.append("\x02")
        if tag == "script":
            self._data = ""

    def _close(self, token: re.Match[str]) -> None:
        tag = token["tag"]
        if token["attributes"] or self._open[-1][0] != tag:
            self.fault(token[0])
            return
        _, given = self._open.pop()
        if tag == "data":
            self._run.append("\x03")
        if tag == "script":
            self._island(given)
        if _breaks(tag, given):
            self._flush()

    def _text(self, text: str) -> None:
        tag = self._open[-1][0]
        if tag == "script":
            self._data += text
            return
        plain = self._plain(text)
        if tag == "data":
            reference, before = self.found.marked[-1]
            self.found.marked[-1] = (reference, before + plain)
        elif tag not in _TEXTUAL:
            self.fault(plain)
        else:
            self._own(plain)
        self._run.append(re.sub("[\x02\x03]", " ", plain))

    def _island(self, given: dict[str, str]) -> None:
        """Data as they stand; what a browser might end or start in them is written as an escape."""
        plot, name = "data-plot" in given, given.get("id", "")
        if given.keys() != {"type", "data-plot" if plot else "id"} or "&" in self._data:
            self.fault(f"data {' '.join(given.values())}")
        if plot:
            self.found.figures.append(self._data)
        else:
            self.found.islands[name] = self._data

    def _plain(self, text: str) -> str:
        if _ENTITY.search(text):
            self.fault(text)
        return html.unescape(text)

    def _own(self, text: str) -> None:
        if not _OWN.fullmatch(_named(text)):
            self.fault(text)

    def _flush(self) -> None:
        """A line of text is complete."""
        line = _MARK.sub(lambda mark: _ends(mark[1]), _named("".join(self._run)))
        if found := _JOINED.search(line):
            near = re.sub("\x02..\x03", "…", line[max(found.start() - 24, 0) : found.end() + 24])
            self.fault(f"a number joined with something: {near}")
        self._run = []


def _named(text: str) -> str:
    for name in NAMES:
        text = text.replace(name, "")
    return text


def _ends(text: str) -> str:
    """A mark of which only is left whether it starts and ends as a number does."""
    return f"\x02{'0' if _STARTS.match(text) else 'w'}{'0' if _ENDS.search(text) else 'w'}\x03"


def _breaks(tag: str, given: dict[str, str]) -> bool:
    """Whether what stands before and after an element is apart on screen."""
    return tag not in _INLINE or "pill" in given.get("class", "").split()
