"""Pages that show another number than the study gives, each in another way that a reader would believe."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

from tests.support.reports import MARKED

PLACE = "<footer><p>"
"""Where most of them write: `{place}` words."""


def _instead(text: str) -> Callable[[str], str]:
    return lambda page: page.replace(PLACE, PLACE + text, 1)


def _first(form: str) -> Callable[[str], str]:
    """Something in place of the first mark that starts with a digit; `{mark}`, `{value}` and `{text}` are its parts."""

    def forge(page: str) -> str:
        mark = next(m for m in MARKED.finditer(page) if re.match(r"\d\d", m[2]))
        made = form.replace("{mark}", mark[0]).replace("{value}", mark[1]).replace("{text}", mark[2])
        return page[: mark.start()] + made + page[mark.end() :]

    return forge


def _style(css: str) -> Callable[[str], str]:
    return lambda page: page.replace("</style>", css + "</style>", 1)


def _figure(key: str, change: Callable[[dict[str, list[dict[str, object]]]], object]) -> Callable[[str], str]:
    def forge(page: str) -> str:
        island = next(re.finditer(rf'data-plot="plot-{key}">(.*?)</script>', page))
        figure = json.loads(island[1])
        change(figure)
        text = json.dumps(figure, ensure_ascii=False).replace("<", "\\u003c").replace(">", "\\u003e")
        return page[: island.start(1)] + text.replace("&", "\\u0026") + page[island.end(1) :]

    return forge


TEXTS = {
    "digits": "42 questions",
    "digits of another script": "٤٢ questions",
    "full width": "４２",
    "superscript": "x²",
    "roman numeral": "Ⅻ",
    "circled": "㊷",
    "a number as a character reference": "&#52;&#50;",
    "a character reference without its end": "&#52",
    "input": '<input value="42">',
    "textarea": "<textarea>42</textarea>",
    "meter": '<meter value="0.42"></meter>',
    "option": '<select><option label="42"></option></select>',
    "list that counts": '<ol start="42"><li>flips</li></ol>',
    "list item that counts": '<li value="42">flips</li>',
    "details": '<details open><summary>flips</summary></details>',
    "picture": '<svg viewBox="0 0 9 9"><path d="M0 0"></path></svg>',
    "letters of mathematics": "<math><mn>𝟒𝟐</mn></math>",
    "frame": '<iframe srcdoc="&lt;p&gt;forty-two"></iframe>',
    "track": '<video><track src="data:,"></video>',
    "canvas": "<canvas></canvas>",
    "a script that runs": "<script>document.title = String.fromCharCode(52)</script>",
    "a script in an attribute": '<b onclick="x()">flips</b>',
    "address elsewhere": '<a href="https://example.org">flips</a>',
    "base": '<base href="https://example.org/">',
    "refresh": '<meta http-equiv="refresh" content="0;url=data:,x">',
    "style of an element": '<b style="--n:x">flips</b>',
    "a comment": "<!-- flips -->",
    "a comment that a browser ends early": "<!--><b>42</b><!-- -->",
    "CDATA": "<![CDATA[>42]]>",
    "a declaration": "<!x>",
    "a processing instruction": "<?x 42>",
    "template": '<template shadowrootmode="open"><b>42</b></template>',
    "noscript": "<noscript><b>42</b></noscript>",
    "plaintext": "<plaintext>42",
    "a title in the body": "<title>42</title>",
    "an end without a start": "</b>",
    "upper case": "<B>flips</B>",
    "an attribute without quotes": "<b class=old>flips</b>",
    "ruby": "<ruby>flips<rt>forty-two</rt></ruby>",
    "turned round": '<bdo dir="rtl">flips</bdo>',
    "a sign that turns round": "\u202eflips\u202c",
    "a sign that joins": "a\u2060b",
    "a letter that is laid over": "flips\u20de",
    "letters that turn their neighbours": "א",
    "a NUL": "flips\0",
    "two attributes of one name": '<b class="old" class="new">flips</b>',
    "data that are no report's": '<script type="application/json" id="more">[42]</script>',
    "a mark within a mark": '<data value="[]"><data value="[]">42</data></data>',
}  # fmt: skip
"""Written before the words of the last line."""

FORGERIES: dict[str, Callable[[str], str]] = {
    **{name: _instead(text) for name, text in TEXTS.items()},
    "a number of two marks": _first("{mark}{mark}"),
    "a number of two marks with a gap": _first("{mark} {mark}"),
    "a number of two marks and a point": _first("{mark}.{mark}"),
    "a number of two marks in bold": _first("<b>{mark}</b>{mark}"),
    "a minus": _first("−{mark}"),
    "a hyphen for a minus": _first("- {mark}"),
    "a dash for a minus": _first("– {mark}"),
    "a minus in bold": _first("<b>-</b>{mark}"),
    "a letter O for a zero": _first("{mark}O"),
    "a per cent sign": _first("{mark} %"),
    "a point before": _first(".{mark}"),
    "a hidden mark": _first('<span hidden="">{mark}</span>'),
    "a mark without end": _first('<data value="{value}">{text}'),
    "a tag within a number": _first('<data value="{value}">{text}<b></b></data>'),
    "text outside a cell": lambda page: page.replace("<tbody>", "<tbody>forty-two", 1),
    "a row outside a table": lambda page: page.replace("<main>", "<main><tr><td>flips</td></tr>", 1),
    "a style that writes": _style(".big::before{content:'4'}"),
    "a style that hides a first letter": _style(".big::first-letter{font-size:0}"),
    "a style that turns round": _style(".big{direction:rtl;unicode-bidi:bidi-override}"),
    "a style that mirrors": _style(".big{transform:scaleX(-1)}"),
    "a style that changes the order": _style(".big{display:flex;flex-direction:row-reverse}"),
    "a style with escapes": _style(".big::before{c\\6fntent:'4'}"),
    "a second style": lambda page: page.replace("</head>", "<style>p{color:red}</style></head>", 1),
    "another character set": lambda page: page.replace('charset="utf-8"', 'charset="utf-7"', 1),
    "a mark of order": lambda page: "\ufeff" + page,
    "a class of the page": lambda page: page.replace("<html ", '<html dir="rtl" ', 1),
    "a third script": lambda page: page.replace("</body>", "<script>x()</script></body>", 1),
    "a figure twice": lambda page: page.replace('id="plot-steps"', 'id="plot-sources"', 1),
    "no label": _figure("steps", lambda f: f["layout"].pop("annotations")),
    "labels exchanged": _figure("transitions", lambda f: _swap(f["layout"]["annotations"], "text")),
    "labels moved": _figure("transitions", lambda f: _swap(f["layout"]["annotations"], "y")),
    "a label in words and digits": _figure("steps", lambda f: f["layout"]["annotations"][0].update(text="4")),
    "a bar on the other side": _figure("contrasts", lambda f: _negate(f["data"][0]["x"])),
    "a point on the other side": _figure("steps", lambda f: _negate(f["data"][0]["x"])),
    "a title": _figure("steps", lambda f: f["layout"].update(title={"text": "42 pp"})),
    "a title of an axis": _figure("steps", lambda f: f["layout"]["xaxis"].update(title={"text": "42 pp"})),
    "a suffix of an axis": _figure("steps", lambda f: f["layout"]["xaxis"].update(ticksuffix="0")),
    "a prefix of an axis": _figure("steps", lambda f: f["layout"]["xaxis"].update(tickprefix="−")),
    "other ticks": _figure("sources", lambda f: f["layout"]["xaxis"].update(ticktext=["0", "1", "2", "3", "4%"])),
    "a picture in a figure": _figure("steps", lambda f: f["layout"].update(images=[{"source": "data:,"}])),
    "numbers on bars": _figure("transitions", lambda f: f["data"][0].update(texttemplate="9%{x}")),
    "text on bars": _figure("transitions", lambda f: f["data"][0].update(textposition="inside", text=["4"] * 5)),
    "names in a figure": _figure("contrasts", lambda f: f["data"][0].update(name="42 other questions")),
    "text under the mouse": _figure("steps", lambda f: f["data"][0].update(hovertemplate="42 pp<extra></extra>")),
    "a number that is none": _figure("steps", lambda f: f["data"][0]["x"].__setitem__(0, float("nan"))),
}


def _swap(notes: list[dict[str, object]], key: str) -> None:
    """Exchange the first two that differ."""
    other = next(note for note in notes if note[key] != notes[0][key])
    notes[0][key], other[key] = other[key], notes[0][key]


def _negate(values: list[float]) -> None:
    values[:] = [-value for value in values]


def forgeries_of(page: str) -> Iterator[tuple[str, str]]:
    """Every forgery of a page, by name."""
    for name, forge in FORGERIES.items():
        made = forge(page)
        assert made != page, name
        yield name, made
