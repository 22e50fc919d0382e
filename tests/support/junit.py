"""A strict reading of JUnit XML: elements, their order and attributes as the schema that CI servers share has them."""

from __future__ import annotations

import re
from xml.etree import ElementTree

NUMBER, TIME = r"\d+", r"\d+(\.\d+)?"
COUNTS = {"tests": NUMBER, "failures": NUMBER, "errors": NUMBER, "skipped": NUMBER, "time": TIME}
ATTRIBUTES: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "testsuites": ({}, {"name": ".*", **COUNTS}),
    "testsuite": ({"name": ".+", "tests": NUMBER}, COUNTS),
    "properties": ({}, {}),
    "property": ({"name": ".+", "value": ".*"}, {}),
    "testcase": ({"name": ".+", "classname": ".+"}, {"time": TIME}),
    "failure": ({}, {"type": ".*", "message": ".*"}),
    "error": ({}, {"type": ".*", "message": ".*"}),
    "skipped": ({}, {"message": ".*"}),
    "system-out": ({}, {}),
}
"""Required and optional attributes of each element, by pattern."""
CHILDREN = {
    "testsuites": "(testsuite )+",
    "testsuite": "(properties )?(testcase )*(system-out )?(system-err )?",
    "properties": "(property )+",
    "testcase": "((skipped |error |failure )?)(system-out )?(system-err )?",
}
"""Order of the children of each element; those that are not named have none."""


def faults(data: bytes) -> list[str]:
    """What in a file is not JUnit; empty where all of it is."""
    root = ElementTree.fromstring(data)
    found = [] if root.tag == "testsuites" else [f"the root is {root.tag}"]
    for element in root.iter():
        needed, allowed = ATTRIBUTES.get(element.tag, ({}, {}))
        if element.tag not in ATTRIBUTES:
            found.append(f"unknown element {element.tag}")
        found += [f"{element.tag} lacks {name}" for name in needed if name not in element.attrib]
        for name, value in element.attrib.items():
            pattern = {**needed, **allowed}.get(name)
            if pattern is None or not re.fullmatch(pattern, value, re.DOTALL):
                found.append(f"{element.tag} has {name}={value!r}")
        order = "".join(f"{child.tag} " for child in element)
        if not re.fullmatch(CHILDREN.get(element.tag, ""), order):
            found.append(f"{element.tag} has the children {order}")
        if element.tag in ("testsuites", "testsuite", "properties") and (element.text or "").strip():
            found.append(f"{element.tag} has text of its own")
    for suite in (root, *root.iter("testsuite")):
        cases = list(suite.iter("testcase"))
        for name, tag in (("tests", None), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            number = len(cases) if tag is None else sum(case.find(tag) is not None for case in cases)
            if suite.get(name) not in (None, str(number)):
                found.append(f"{suite.tag} says {name}={suite.get(name)}, it has {number}")
    return found
