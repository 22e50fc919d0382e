"""The corpus of django-docs: how pages become passages and questions, and that the checkout's own files agree."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections import Counter
from pathlib import Path

import pytest

from audit_core.collection import read_toml
from audit_core.errors import InputError
from scripts import collect_django
from scripts.django_docs import corpus, markup, questions, releases

PAGE = """\
========
Crockery
========

.. _crockery:

How *cups* and **plates** are kept, see :doc:`/topics/shelves` and `the list`_::

    cup = Cup(size=3)

.. note::
    A ``saucer`` is no :class:`~kitchen.models.Plate`.

.. index:: crockery
   single: cups

Cups
----

.. class:: Cup(size=3, glaze='blue', **options)

    Holds water. {long}

.. _the list: https://example.invalid/
"""


def test_a_page_becomes_passages_under_its_sections() -> None:
    source = PAGE.replace("{long}", " ".join(f"Sentence number {i} is here." for i in range(30)))
    found = list(corpus.page_passages("3.2.25", "topics/crockery", source))
    assert found[0] == {
        "document_id": "dj3.2-topics-crockery-001", "family": "topics/crockery#crockery",
        "title": "Django 3.2 docs: Crockery", "url": "https://docs.djangoproject.com/en/3.2/topics/crockery/",
        "text": "Crockery: How cups and plates are kept, see /topics/shelves and the list: cup = Cup(size=3) "
        "A saucer is no Plate.",
    }  # fmt: skip
    assert found[1]["title"] == "Django 3.2 docs: Crockery > Cups"
    assert found[1]["text"].startswith("Cups: Cup(size=3, glaze='blue', **options) Holds water. Sentence number 0")
    assert [p["document_id"][-3:] for p in found] == ["001", "002", "003", "004"]
    assert all(len(p["text"]) <= markup.LIMIT for p in found)
    assert " ".join(p["text"].removeprefix("Cups: ") for p in found[1:]).endswith("Sentence number 29 is here.")


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("``a_b`` and ``*c*``", "a_b and *c*"),
        (":setting:`USE_TZ` :attr:`~a.b.C.d` :ref:`words here <label>`", "USE_TZ d words here"),
        ("`text <https://e.example/>`_ `other`__ 2 * 3 * 4", "text other 2 * 3 * 4"),
        ("ends::", "ends:"),
        ("a\\ b", "a b"),
    ],
)
def test_inline_markup(source: str, text: str) -> None:
    assert markup.plain(source) == text


def test_a_word_longer_than_a_passage_is_cut() -> None:
    section = markup.Section("P", "S", ("x" * 1000, "y"))
    found = list(markup.passages(section))
    assert max(map(len, found)) == markup.LIMIT
    assert "".join(text.removeprefix("S: ") for text in found) == "x" * 1000 + " y"


SETTINGS = """\
.. setting:: KETTLE

``KETTLE``
----------

Default: ``{kettle}``

Its colour.

.. setting:: TEA_TIME

{tea_head}
--------

Default: ``1209600`` (2 weeks, in
seconds)

.. setting:: SINK

``SINK``
--------

Default: ``{sink}`` ({remark})
"""
OLD = {
    "ref/settings": SETTINGS.format(kettle="blue", tea_head="TEA_TIME", sink="()", remark="Empty tuple"),
    "ref/databases": "Django supports PostgreSQL 8.2 and higher.",
    "ref/models": ".. class:: Cup(size=3, glaze='blue', **options)\n\n.. method:: Cup.fill(deep=False[, hot=True])\n",
}
NEW = {
    "ref/settings": SETTINGS.format(kettle="'red'", tea_head="``TEA_TIME``", sink="[]", remark="Empty list"),
    "ref/databases": "Django supports PostgreSQL 14 and higher.",
    "ref/models": ".. class:: Cup(size=4, glaze='blue', **options)\n\n.. method:: Cup.fill(deep=0, hot=True)\n",
}


def test_questions_are_read_from_the_pages_with_gold_of_the_newest_release() -> None:
    found = {
        q["question_id"]: (q["tags"], g["aliases"], g["said"])
        for q, g in questions.questions({"3.2.25": OLD, "5.2": NEW})
    }
    assert found == {
        "dj-setting-KETTLE": (["conflicting", "setting"], ["red", "'red'"], {"3.2": "blue", "5.2": "red"}),
        "dj-setting-SINK": (["stable", "setting"], ["[]", "empty list", "[] (Empty list)"], {"3.2": "()", "5.2": "[]"}),
        "dj-setting-TEA_TIME": (
            ["stable", "setting"], ["1209600", "2 weeks", "1209600 (2 weeks, in seconds)", "1209600 seconds"],
            {"3.2": "1209600", "5.2": "1209600"}),
        "dj-version-PostgreSQL": (
            ["conflicting", "version"],
            ["14", "PostgreSQL 14", "14 and higher", "PostgreSQL 14 and higher", "14+"], {"3.2": "8.2", "5.2": "14"}),
        "dj-argument-Cup-size": (["conflicting", "argument"], ["4"], {"3.2": "3", "5.2": "4"}),
        "dj-argument-Cup-glaze": (["stable", "argument"], ["blue", "'blue'"], {"3.2": "blue", "5.2": "blue"}),
        "dj-argument-Cup.fill-hot": (["stable", "argument"], ["True"], {"3.2": "True", "5.2": "True"}),
    }  # fmt: skip


def archive(path: Path, release: str, pages: dict[str, str]) -> str:
    """A source archive with these pages; returns its digest."""
    with tarfile.open(path, "w:gz") as members:
        for name, source in {**{f"docs/{p}.txt": s for p, s in pages.items()}, "docs/releases/1.txt": "no"}.items():
            entry = tarfile.TarInfo(f"Django-{release}/{name}")
            data = source.encode()
            entry.size = len(data)
            members.addfile(entry, io.BytesIO(data))
        link = tarfile.TarInfo(f"Django-{release}/docs/ref/link.txt")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        members.addfile(link)
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache with two made-up releases; the digests of the checkout are those of what is built from them."""
    cache = tmp_path / "cache"
    cache.mkdir()
    pins = {r: archive(cache / f"django-{r}.tar.gz", r, p) for r, p in (("3.2.25", OLD), ("5.2", NEW))}
    monkeypatch.setattr(releases, "RELEASES", pins)
    monkeypatch.setattr(collect_django, "HOME", tmp_path / "home")
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "protocol.toml").write_text("# protocol\n")
    collect_django.build(tmp_path / "built", cache, update=True)
    return cache


def test_a_build_is_repeatable_and_a_text_is_held_once(small: Path, tmp_path: Path) -> None:
    collect_django.build(tmp_path / "again", small, update=False)
    for name in ("shard-1.jsonl", "shard-2.jsonl", "questions.jsonl", "gold.jsonl", "protocol.toml"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "built" / name).read_bytes()
    texts = [json.loads(line)["text"] for n in (1, 2) for line in (tmp_path / f"built/shard-{n}.jsonl").open()]
    assert len(texts) == len(set(texts)) == 9


def test_other_digests_stop_and_write_nothing(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listing = tmp_path / "home" / "pages.tsv"
    listing.write_text(listing.read_text().replace("ref/settings\t1-3", "ref/settings\t1-4", 1))
    with pytest.raises(InputError, match=r"a page gives other passages.*ref/settings"):
        collect_django.build(tmp_path / "again", small, update=False)
    assert not (tmp_path / "again").exists()
    with (small / "django-5.2.tar.gz").open("ab") as stream:
        stream.write(b"\0")
    with pytest.raises(InputError, match=r"archive of Django 5\.2 is another one"):
        collect_django.build(tmp_path / "again", small, update=False)


def test_gold_that_no_passage_holds_is_refused() -> None:
    question = {"question_id": "dj-setting-KETTLE", "tags": ["stable", "setting"]}
    shards = {"3.2.25": [{"text": "KETTLE: Default: blue"}], "5.2": [{"text": "KETTLE: Default: red"}]}
    collect_django.check_support([(question, {"aliases": ["blue"], "said": {"3.2": "blue"}})], shards)
    with pytest.raises(InputError, match="no passage holds the answer"):
        collect_django.check_support([(question, {"aliases": ["red"], "said": {"3.2": "red"}})], shards)


def test_the_files_of_the_checkout_agree() -> None:
    home = collect_django.HOME
    digests = json.loads((home / "digests.json").read_text())
    for name in ("questions.jsonl", "gold.jsonl"):
        assert hashlib.sha256((home / name).read_bytes()).hexdigest() == digests[name]
    asked = [json.loads(line) for line in (home / "questions.jsonl").open()]
    gold = {g["question_id"]: g for g in map(json.loads, (home / "gold.jsonl").open())}
    assert [q["question_id"] for q in asked] == sorted(gold)
    assert Counter(q["tags"][0] for q in asked) == {"conflicting": 25, "stable": 56}
    for question in asked:
        said = gold[question["question_id"]]["said"]
        newest = said[max(said, key=lambda r: tuple(map(int, r.split("."))))]
        assert gold[question["question_id"]]["aliases"][0] == newest
    rows = [line.split("\t") for line in (home / "pages.tsv").read_text().splitlines()[1:]]
    assert list(dict.fromkeys(row[0] for row in rows)) == list(releases.RELEASES)
    assert len({tuple(row[:2]) for row in rows}) == len(rows)
    protocol, collection = read_toml(home / "protocol.toml")
    assert collection.count == len(asked)
    assert collection.shards == tuple(f"shard-{n}.jsonl" for n in range(1, 8))
    assert protocol.endpoints == ("n1", "n7")
    assert not list(home.glob("shard*")), "the text of the documentation is not kept here"


def test_the_real_archives_where_they_are_at_hand(tmp_path: Path) -> None:
    if not all((releases.cache() / f"django-{release}.tar.gz").is_file() for release in releases.RELEASES):
        pytest.skip("the archives are not in the cache; make collect-django fetches them")
    collect_django.build(tmp_path, releases.cache(), update=False)
