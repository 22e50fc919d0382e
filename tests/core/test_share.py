"""Share bundles: the tampering table, equal estimates, no text, the same bytes, and archives that are no bundles."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import stat
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit_core.digests import merkle_root, sha256
from audit_core.errors import GateError, InputError, VerificationError
from audit_core.results import arrays_of, compute, estimate_study
from audit_core.share import carried, entry, keys, names, redaction, seals
from audit_core.share.checks import TITLES, verify_bundle
from audit_core.share.leaks import Quotations
from audit_core.share.proofs import prove
from audit_core.share.unpacking import FREE_BYTES, unpack
from audit_core.share.writing import Made, write_bundle
from audit_core.study import Study
from audit_core.tensors import Answers
from tests.support import bundles
from tests.support.relock import rewrite_results
from tests.support.ruled import NUMBERS
from tests.support.simulator import CREATED, StudySimulator

REAL = ("help-centre", "borderline-refusal")


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """A study in which every check of its bundle can be made or says why not: its results quote an answer."""
    path = tmp_path_factory.mktemp("study") / "study"
    often = {(f"q{n:05d}", state, r): "UNKNOWN" for n in range(8, 12) for state in ("n1", "n7") for r in (1, 2)}
    answers = {**often, ("q00003", "n1", 2): None}
    made = StudySimulator(questions=12, noise=0.3, answers=answers).build(path, release=NUMBERS)
    estimate_study(made, created=CREATED)
    return Study(path)


@pytest.fixture(scope="module")
def bundle(study: Study, tmp_path_factory: pytest.TempPathFactory) -> tuple[Made, Path, dict[str, Any]]:
    """Its bundle as a folder, and a proof."""
    folder = tmp_path_factory.mktemp("bundle")
    made = write_bundle(study, folder / "bundle", folder / "key.json", folder=True)
    secret = keys.read(made.key, study.bundle)
    return made, made.path, prove(study, secret, "q00003", "n7", 2, locked=True)


def outcomes(folder: Path, **options: Any) -> dict[str, str]:
    return {check.check_id: check.result for check in verify_bundle(folder, **options)}


def test_the_untouched_bundle_passes(bundle: tuple[Made, Path, dict[str, Any]]) -> None:
    made, folder, proof = bundle
    found = outcomes(folder, expect=made.manifest, expect_lock=made.lock, proof=proof, installed=carried.files())
    assert found == dict.fromkeys(TITLES, "passed") | {"B13": "could not check"}
    assert not made.results_as_locked, "the results quote an answer"
    assert outcomes(folder) == {check: found[check] for check in list(TITLES)[:13]} | dict.fromkeys(
        ("B03", "B05"), "could not check"
    )


def first(**fields: object) -> Callable[[list[dict[str, Any]]], object]:
    return lambda records: records[0].update(fields)


def column(name: str, value: object) -> Callable[[list[dict[str, Any]]], object]:
    return lambda records: records[0]["answers"].update({name: value})


def label(text: str) -> Callable[[list[dict[str, Any]]], object]:
    return lambda records: records[0]["labels"].update(primary=text)


def turned(record: dict[str, Any]) -> None:
    record["outcome"] = "not confirmed" if record["outcome"] == "churn confirmed" else "churn confirmed"


def swap(text: bytes) -> bytes:
    lines = text.split(b"\n")
    return b"\n".join([lines[1], lines[0], *lines[2:]])


TABLE: dict[str, tuple[str, Callable[[Path], object]]] = {
    "a file that is in no list": ("B01", lambda f: (f / "notes.txt").write_text("hello")),
    "a compiled module that would run in place of its source": (
        "B01",
        lambda f: (f / "verifier/audit_core/x.pyc").write_bytes(b""),
    ),
    "a link": ("B01", lambda f: (f / "more").symlink_to("/etc")),
    "a file that is missing": ("B01", lambda f: (f / "README.txt").unlink()),
    "a manifest with a word too many": ("B01", lambda f: bundles.remake(f, surprise=1)),
    "a manifest that leads out of the folder": (
        "B01",
        lambda f: (f / "manifest.json").write_bytes(
            (f / "manifest.json").read_bytes().replace(b'"README.txt"', b'"../README.txt"')
        ),
    ),
    "one bit of a module": ("B02", lambda f: (f / "verifier/audit_core/tensors.py").write_bytes(b"#")),
    "one bit of a record": ("B02", lambda f: (f / "questions.jsonl").write_bytes(b"{}\n")),
    "a file that became a link": (
        "B02",
        lambda f: ((f / "README.txt").rename(f.parent / "away"), (f / "README.txt").symlink_to(f.parent / "away")),
    ),
    "a lock that was edited": ("B04", bundles.lock("judgments", lambda r: r.update(note="x"))),
    "a manifest that names another lock": ("B04", lambda f: bundles.remake(f, lock="a" * 64)),
    "a margin that was lowered": ("B06", bundles.protocol(lambda r: r["decision"].update(margin="0.001"))),
    "records in another order": ("B07", bundles.data("questions.jsonl", swap)),
    "a record with a space": ("B07", bundles.data("questions.jsonl", lambda d: d.replace(b'{"', b'{ "', 1))),
    "a record with a text": ("B07", bundles.records(first(answer="What it says."))),
    "a question left out": ("B08", bundles.records(lambda r: r.pop())),
    "a question twice": ("B08", bundles.records(lambda r: r.append(dict(r[0])))),
    "an error left out": ("B08", bundles.records(lambda r: [item.update(errors=[0, 0]) for item in r])),
    "an answer without a digest": ("B08", bundles.records(lambda r: r[0]["sealed"].pop())),
    "a label left out": ("B08", bundles.records(label("-----0"))),
    "labels with a text": ("B08", bundles.records(label("answer"))),
    "labels of nobody": ("B08", bundles.records(lambda r: r[0]["labels"].update(nobody="111111"))),
    "a column left out": ("B08", bundles.records(lambda r: r[0]["answers"].pop("em"))),
    "a value that no column has": ("B08", bundles.records(column("em", [0, 0, 0, 7]))),
    "a text in place of numbers": ("B08", bundles.records(column("exact", "what it says"))),
    "documents of no state": ("B08", bundles.records(lambda r: r[0]["documents"].append([]))),
    "a tag that is a text": ("B09", bundles.records(lambda r: r[0]["tags"].append("When does it leave? " * 5))),
    "an estimate made larger": ("B10", bundles.results(lambda r: r["estimates"][0].update(numerator=1))),
    "an estimate left out": ("B10", bundles.results(lambda r: r["estimates"].pop(2))),
    "a text in an estimate": ("B10", bundles.results(lambda r: r["estimates"][2]["detail"].update(text="Paris"))),
    "an estimate whose name is no text": ("B10", bundles.results(lambda r: r["estimates"][2].update(name=[]))),
    "an outcome of one answer": (
        "B10",
        bundles.records(lambda r: r[0]["answers"]["outcome"].__setitem__(0, 1)),
    ),
    "a decision turned round": ("B11", bundles.results(lambda r: turned(r["decision"]))),
    "a condition of the release rule turned round": (
        "B11",
        bundles.results(lambda r: r["release"]["conditions"][0].update(met=True)),
    ),
    "another digest of the draws": ("B12", bundles.results(lambda r: r["stream"]["statistics"][0].update(sha256="0"))),
    "results that pose as the locked ones": ("B13", lambda f: bundles.remake(f, results_as_locked=True)),
    "a module that says what its author likes": (
        "B15",
        bundles.data("verifier/audit_core/results.py", lambda d: d + b"# all is well\n"),
    ),
    "an entry that makes no check": ("B15", bundles.data("verify.py", lambda _: b"print('all is well')\n")),
    "a module more": (
        "B15",
        lambda f: ((f / "verifier/audit_core/numpy.py").write_bytes(b""), bundles.remake(f)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", TABLE)
def test_each_mutation_is_caught_by_its_check_alone(
    what: str, bundle: tuple[Made, Path, dict[str, Any]], tmp_path: Path
) -> None:
    check, change = TABLE[what]
    folder = tmp_path / "copy"
    shutil.copytree(bundle[1], folder)
    change(folder)
    found = outcomes(folder, expect_lock=bundle[0].lock, installed=carried.files())
    assert [name for name, result in found.items() if result == "failed"] == [check], found


def test_what_was_kept_elsewhere_is_compared(bundle: tuple[Made, Path, dict[str, Any]]) -> None:
    _, folder, _ = bundle
    assert outcomes(folder, expect="0" * 64)["B03"] == "failed"
    assert outcomes(folder, expect_lock="0" * 64)["B05"] == "failed"
    with pytest.raises(InputError, match=r"manifest\.json"):
        verify_bundle(folder.parent)


def lines(study: Study) -> list[bytes]:
    return (study.path / "answers/cells.jsonl").read_bytes().splitlines()


PROOFS: dict[str, Callable[[dict[str, Any]], object]] = {
    "another text": lambda p: p.update(text="Another answer"),
    "another salt": lambda p: p.update(salt="0" * 64),
    "another question": lambda p: p.update(question=1),
    "a question that is not there": lambda p: p.update(question=999),
    "an answer that is not there": lambda p: p.update(answer=999),
    "another study": lambda p: p.update(study="0" * 64),
    "another line": lambda p: p["ledger"].update(line=p["ledger"]["line"].replace('"attempts":1', '"attempts":2')),
    "another place": lambda p: p["ledger"].update(position=0),
    "a place outside": lambda p: p["ledger"].update(position=999),
    "another path": lambda p: p["ledger"]["path"].reverse(),
    "a path too short": lambda p: p["ledger"]["path"].pop(),
    "a path too long": lambda p: p["ledger"]["path"].append("0" * 64),
    "a line that is none": lambda p: p["ledger"].update(line="{}"),
    "a field too many": lambda p: p.update(more=1),
    "half a character": lambda p: p.update(text="\ud800"),
}


@pytest.mark.parametrize("what", PROOFS)
def test_a_proof_that_was_changed_proves_nothing(what: str, bundle: tuple[Made, Path, dict[str, Any]]) -> None:
    _, folder, proof = bundle
    changed = json.loads(json.dumps(proof))
    PROOFS[what](changed)
    found = outcomes(folder, proof=changed)
    assert [name for name, result in found.items() if result == "failed"] == ["B14"]


def test_every_answer_can_be_proved_and_no_error(study: Study, bundle: tuple[Made, Path, dict[str, Any]]) -> None:
    made, folder, _ = bundle
    secret = keys.read(made.key, study.bundle)
    for dossier in list(study.dossiers())[2:5]:
        for cell in dossier.cells:
            place = (cell.question_id, cell.state, cell.repeat)
            if cell.answer is None:
                with pytest.raises(InputError, match="no such answer"):
                    prove(study, secret, *place)
                continue
            proof = prove(study, secret, *place)
            assert proof.keys().isdisjoint({"ledger"})
            assert outcomes(folder, proof=proof)["B14"] == "passed"
    with pytest.raises(InputError, match="another study"):
        keys.read(made.key, "0" * 64)


@given(st.lists(st.binary(max_size=8), min_size=1, max_size=40), st.data())
def test_a_path_leads_to_the_root_of_the_lock(found: list[bytes], data: st.DataObject) -> None:
    position = data.draw(st.integers(0, len(found) - 1))
    path = seals.path_of(found, position)
    assert seals.root_of(found[position], position, len(found), path) == merkle_root(found)
    assert seals.root_of(found[position] + b"x", position, len(found), path) != merkle_root(found)


def same(a: Answers, b: Answers) -> None:
    """Every array equal; only the texts of `common` are gone."""
    for name in vars(a):
        mine, theirs = getattr(a, name), getattr(b, name)
        if name in ("labels", "labelled", "others"):
            assert mine.keys() == theirs.keys()
            assert all(np.array_equal(mine[key], theirs[key]) and mine[key].dtype == theirs[key].dtype for key in mine)
        elif isinstance(mine, np.ndarray):
            assert np.array_equal(mine, theirs), name
            assert mine.dtype == theirs.dtype, name
        elif name != "common":
            assert mine == theirs, name


def through(study: Study, answers: Answers, opaque: bool = False) -> Answers:
    """The arrays of a study after they were records."""
    ids, tags = answers.question_ids, {tag: tag for found in answers.tags for tag in found}
    if opaque:
        ids, tags = names.opaque_ids(ids, study.protocol.seed), names.opaque_tags(tags)
    sealed = b"s" * 32 * int(answers.repeats.sum())
    records = redaction.records(answers, sealed, ids, tags)
    return redaction.rebuild(study.protocol, ({**record, "seq": n} for n, record in enumerate(records)))


@pytest.mark.parametrize("name", ["help-centre", "borderline-refusal", "nq-400", "triviaqa-200", "v4pro-100"])
def test_bundled_studies_come_back_array_by_array(name: str, studies: Path) -> None:
    study = Study(studies / name)
    answers = arrays_of(study.protocol, study.dossiers())
    same(answers, through(study, answers))


def without_texts(results: dict[str, Any]) -> dict[str, Any]:
    """Results without what an estimate may quote: an answer, an id, a tag."""
    for estimate in results["estimates"]:
        for quoted in ("text", "question", "tag"):
            estimate["detail"].pop(quoted, None)
    return results


@settings(max_examples=25)
@given(
    st.integers(0, 10**6), st.integers(1, 9), st.sampled_from([("n1", "n7"), ("n0", "n1", "n3", "n7")]),
    st.integers(1, 3), st.booleans(), st.booleans(), st.booleans(), st.data(),
)  # fmt: skip
def test_redacted_records_give_the_same_results(
    tmp_path_factory: pytest.TempPathFactory, seed: int, questions: int, states: tuple[str, ...], repeats: int,
    labels: bool, gold: bool, opaque: bool, data: st.DataObject,
) -> None:  # fmt: skip
    ids = data.draw(
        st.lists(st.text("ab0é -", min_size=1, max_size=4), min_size=questions, max_size=questions, unique=True)
    )
    missing = data.draw(
        st.sets(st.tuples(st.sampled_from(ids[1:] or [""]), st.sampled_from(states), st.integers(1, 3)))
    )
    made = StudySimulator(
        questions=questions, states=states, repeats=repeats, seed=seed, labels=labels, gold=gold, noise=0.4, ids=ids,
        answers=dict.fromkeys(missing), tags=("even odd", "odd"),
    )  # fmt: skip
    rule = NUMBERS if labels else None
    study = made.build(tmp_path_factory.mktemp("made") / "study", release=rule, draws=200)
    answers = arrays_of(study.protocol, study.dossiers())
    mine, theirs = compute(study.protocol, answers), compute(study.protocol, through(study, answers, opaque))
    if opaque:  # names of estimates may hold a tag
        for results in (mine, theirs):
            for estimate in results["estimates"]:
                if "tag" in estimate["detail"]:
                    estimate.update(name="", kernel="")
    assert without_texts(mine) == without_texts(theirs)


@given(st.lists(st.text(max_size=5), min_size=1, max_size=30, unique=True), st.text(max_size=5))
def test_opaque_ids_keep_both_orders(ids: list[str], seed: str) -> None:
    from audit_core.estimators import betting, stream

    ids = [text.encode("utf-8", "replace").decode() for text in ids]
    ids = list(dict.fromkeys(ids))
    found = names.opaque_ids(ids, seed)
    assert len(set(found)) == len(ids)
    assert stream.order_of(found).tolist() == stream.order_of(ids).tolist()
    assert betting.order_of(found, seed).tolist() == betting.order_of(ids, seed).tolist()
    assert all(re.fullmatch(r"q\d+-\d+", name) for name in found)


def test_opaque_tags_keep_their_order() -> None:
    assert names.opaque_tags(["b", "a", "b", "ä"]) == {"a": "t1", "b": "t2", "ä": "t3"}


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)


def texts_of(study: Study) -> set[str]:
    """Everything that a study says."""
    found = {text for _, text in study.passages()}
    for dossier in study.dossiers():
        found |= {dossier.question.text or "", *dossier.question.parts, *(dossier.gold.aliases if dossier.gold else ())}
        for cell in dossier.cells:
            found |= {cell.answer or "", *(excerpt.text for excerpt in cell.excerpts)}
        found |= {document.title for evidence in dossier.evidence for document in evidence.documents}
    return {text for text in found if text.strip()}


@pytest.mark.parametrize("opaque", [False, True])
@pytest.mark.parametrize("name", REAL)
def test_no_text_leaves_a_study(name: str, opaque: bool, studies: Path, tmp_path: Path) -> None:
    study = Study(studies / name)
    made = write_bundle(study, tmp_path / "b.zip", tmp_path / "key.json", opaque=opaque)
    texts, secret = texts_of(study), json.loads(made.key.read_text())["key"]
    assert len(texts) > 150
    ids = {question.question_id for question in study.questions()}
    with zipfile.ZipFile(made.path) as archive:
        files = {info.filename.partition("/")[2]: archive.read(info) for info in archive.infolist()}
    copied = {**carried.files(), "protocol.json": (study.path / "protocol/protocol.json").read_bytes()}
    assert {place: files.pop(place) for place in copied} == copied, "code and protocol are copies, and hold no answer"
    for place, data in files.items():
        for text in texts:
            quoted = json.dumps(text, ensure_ascii=False)[1:-1].encode()
            assert len(text) <= 12 or quoted not in data, (place, text)
            for algorithm in ("sha256", "sha1", "md5"):
                digest = hashlib.new(algorithm, text.encode(), usedforsecurity=False).hexdigest().encode()
                assert digest not in data, (place, text)
        assert secret.encode() not in data
        if opaque:
            assert not any(question_id.encode() in data for question_id in ids)
    tags = {tag for question in study.questions() for tag in question.tags}
    named = set() if opaque else ids | tags
    for line in files["questions.jsonl"].splitlines():
        record = json.loads(line)
        record["answers"] = list(record["answers"].values())
        left = {text for text in strings(list(record.values())) if text not in named}
        plain = r"[0-9a-f]{64}|[01-]+|primary" + (r"|q\d+|t\d+" if opaque else "")
        assert all(re.fullmatch(plain, text) for text in left), left
    said = set(strings(json.loads(files["results.json"])))
    assert not {text for text in texts & said if re.search("[A-Za-z]", text)}, "numbers may be equal by accident"


def test_the_same_study_and_key_give_the_same_bytes(study: Study, tmp_path: Path) -> None:
    first, second = (write_bundle(study, tmp_path / name, tmp_path / "key.json") for name in ("a.zip", "b.zip"))
    assert first.path.read_bytes() == second.path.read_bytes()
    assert stat.S_IMODE(first.key.stat().st_mode) == 0o600
    other = write_bundle(study, tmp_path / "c.zip", tmp_path / "other.json")
    assert other.manifest != first.manifest, "another key gives other salts"
    unpacked = unpack(first.path, tmp_path / "unpacked")
    assert unpacked.name == "simulated-bundle"
    assert outcomes(unpacked, expect=first.manifest)["B03"] == "passed"


def test_nothing_is_half_written_or_overwritten(study: Study, tmp_path: Path) -> None:
    (tmp_path / "there.zip").write_text("mine")
    for target, key, what in (
        (tmp_path / "there.zip", tmp_path / "key.json", "never overwritten"),
        (tmp_path / "no" / "b.zip", tmp_path / "key.json", "no such folder"),
        (study.path / "b.zip", tmp_path / "key.json", "outside the study"),
        (tmp_path / "b.zip", study.path / "key.json", "outside the study"),
        (tmp_path / "b", tmp_path / "b" / "key.json", "inside the bundle"),
    ):
        with pytest.raises(InputError, match=what):
            write_bundle(study, target, key)
    (tmp_path / "wrong.json").write_text("{}")
    with pytest.raises(InputError, match="no key file"):
        write_bundle(study, tmp_path / "b.zip", tmp_path / "wrong.json")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["there.zip", "wrong.json"]
    assert (tmp_path / "there.zip").read_text() == "mine"


def test_results_that_the_records_do_not_give_are_not_bundled(study: Study, tmp_path: Path) -> None:
    copy = tmp_path / "study"
    shutil.copytree(study.path, copy)
    rewrite_results(copy, lambda r: r["estimates"][0].update(numerator=1))
    with pytest.raises(VerificationError, match="do not give the locked results"):
        write_bundle(Study(copy), tmp_path / "b.zip", tmp_path / "key.json")
    assert [path.name for path in tmp_path.iterdir()] == ["study"], "the new key is gone too"


def test_a_study_without_results_has_no_bundle(tmp_path: Path) -> None:
    study = StudySimulator(questions=2).build(tmp_path / "study")
    with pytest.raises(GateError, match="results is still open"):
        write_bundle(study, tmp_path / "b.zip", tmp_path / "key.json")


def test_ids_that_quote_the_study_are_refused_unless_opaque(tmp_path: Path) -> None:
    ids = [f"what is asked in {n}" for n in range(3)]
    study = StudySimulator(questions=3, ids=ids, text="What is asked in {0}?").build(tmp_path / "study")
    estimate_study(study, created=CREATED)
    with pytest.raises(InputError, match="--opaque-ids"):
        write_bundle(study, tmp_path / "b.zip", tmp_path / "key.json")
    made = write_bundle(study, tmp_path / "b", tmp_path / "key.json", opaque=True, folder=True)
    assert all(result != "failed" for result in outcomes(made.path).values())
    assert b"what is asked" not in (made.path / "questions.jsonl").read_bytes()


@pytest.mark.parametrize(
    ("name", "text", "quotes"),
    [
        ("when-does-the-train", "So when does the train leave?", True),
        ("lost-property", "The lost property office is closed.", False),
        ("Lost property office", "lost property  OFFICE.", True),
        ("q-1", "q 1", False),
        ("007", "007", False),
        ("12345678901234", "12345678901234", True),
        ("", "", False),
    ],
)
def test_what_counts_as_a_quotation(name: str, text: str, quotes: bool) -> None:
    quotations = Quotations([name])
    quotations.look(text)
    quotations.look(None)
    assert list(quotations.found) == ([name] if quotes else [])


def test_the_carried_modules_need_the_standard_library_and_numpy(studies: Path) -> None:
    import sys

    found = carried.modules()
    foreign = {
        name.partition(".")[0] for source in found.values() for name in carried.imports(source)
    } - sys.stdlib_module_names
    assert foreign == {"audit_core", "numpy", "orjson"}, "orjson is used where it is there, and not needed"
    assert not any(place.startswith(("audit_core/study", "audit_core/adapters", "audit_core/cli")) for place in found)
    network = {"socket", "ssl", "http", "urllib", "asyncio", "subprocess", "ctypes", "multiprocessing"}
    assert not network & {name.partition(".")[0] for source in found.values() for name in carried.imports(source)}


def test_imports_are_found_wherever_they_stand() -> None:
    source = b"""
import a.b
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    import never
def f():
    from c.d import e
try:
    import g
except ImportError:
    g = None
"""
    assert carried.imports(source) == ["a", "a.b", "c", "c.d", "c.d.e", "g", "typing", "typing.TYPE_CHECKING"]


def test_the_entry_refuses_network_and_programs() -> None:
    for event in ("socket.connect", "socket.getaddrinfo", "urllib.Request", "subprocess.Popen", "os.system"):
        with pytest.raises(RuntimeError, match="refused"):
            entry.refuse(event, ())
    entry.refuse("open", ())


def archive(path: Path, *members: tuple[str | zipfile.ZipInfo, bytes], by: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", by) as made:
        for name, data in members:
            made.writestr(name, data)
    return path


def damaged(path: Path) -> Path:
    """With other bytes where the first member's content is."""
    data = bytearray(path.read_bytes())
    for place in range(34, 44):
        data[place] ^= 0x5A
    path.write_bytes(data)
    return path


def moved(path: Path) -> Path:
    """With a directory that says it stands later than it does, which moves every member before the beginning."""
    data = bytearray(path.read_bytes())
    place = data.rindex(b"PK\x05\x06") + 16
    data[place : place + 4] = (int.from_bytes(data[place : place + 4], "little") + 50).to_bytes(4, "little")
    path.write_bytes(data)
    return path


def link(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info


HOSTILE: dict[str, Callable[[Path], Path]] = {
    "a path that leads out": lambda p: archive(p, ("b/../../evil", b"x")),
    "an absolute path": lambda p: archive(p, ("/etc/evil", b"x")),
    "a path of another system": lambda p: archive(p, ("b\\..\\evil", b"x")),
    "a drive": lambda p: archive(p, ("C:/evil", b"x")),
    "a hidden file": lambda p: archive(p, ("b/.bashrc", b"x")),
    "a link": lambda p: archive(p, (link("b/link"), b"/etc/passwd")),
    "a file twice": lambda p: archive(p, ("b/x", b"1"), ("b/X", b"2")),
    "two folders": lambda p: archive(p, ("a/x", b"1"), ("b/x", b"2")),
    "no folder": lambda p: archive(p, ("x", b"1")),
    "nothing": lambda p: archive(p),
    "too many files": lambda p: archive(p, *((f"b/{n}", b"") for n in range(1001))),
    "a bomb": lambda p: archive(p, *((f"b/{n}", b"\0" * (FREE_BYTES // 4)) for n in range(5))),
    "no archive": lambda p: (p.write_bytes(b"PK nothing"), p)[1],
    "a name for a file and a folder": lambda p: archive(p, ("b/manifest.json", b"1"), ("b/manifest.json/x", b"2")),
    "a folder, then a file of its name": lambda p: archive(p, ("b/X/x", b"1"), ("b/x", b"2")),
    "two folders but for the case": lambda p: archive(p, ("b/x", b"1"), ("B/y", b"2")),
    "bzip2": lambda p: archive(p, ("b/manifest.json", b"1" * 99), by=zipfile.ZIP_BZIP2),
    "LZMA": lambda p: archive(p, ("b/manifest.json", b"1" * 99), by=zipfile.ZIP_LZMA),
    "damaged bzip2": lambda p: damaged(archive(p, ("b/x", b"1" * 99), by=zipfile.ZIP_BZIP2)),
    "damaged LZMA": lambda p: damaged(archive(p, ("b/x", b"1" * 99), by=zipfile.ZIP_LZMA)),
    "damaged deflate": lambda p: damaged(archive(p, ("b/x", b"1" * 99))),
    "a file that begins before the archive": lambda p: moved(archive(p, ("b/x", b"1"))),
    "no manifest": lambda p: archive(p, ("b/x", b"1")),
    "half an archive": lambda p: (archive(p, ("b/x", b"1" * 99)), p.write_bytes(p.read_bytes()[:60]), p)[2],
}


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_archives_are_refused_and_write_nothing_outside(what: str, tmp_path: Path) -> None:
    folder = tmp_path / "inner" / "folder"
    folder.mkdir(parents=True)
    file = HOSTILE[what](tmp_path / "b.zip")
    with pytest.raises(InputError, match="nothing of it was run") as caught:
        unpack(file, folder)
    assert str(file) in str(caught.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.zip", "inner"]
    assert [path.name for path in (tmp_path / "inner").iterdir()] == ["folder"]


def test_a_member_that_holds_other_bytes_than_it_says(study: Study, tmp_path: Path) -> None:
    made = write_bundle(study, tmp_path / "b.zip", tmp_path / "key.json")
    data = bytearray(made.path.read_bytes())
    data[len(data) // 2] ^= 1
    made.path.write_bytes(data)
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError):
        unpack(made.path, tmp_path / "folder")


def test_records_that_would_fill_the_memory_are_refused(study: Study) -> None:
    count = 200_000
    huge = {
        "seq": 0, "question_id": "q", "tags": [], "repeats": [count, 0], "errors": [0, 0], "sealed": ["0" * 64] * count,
        "answers": {name: [0] * count for name in redaction.COLUMNS}, "documents": [[], []],
        "repeated_documents": False, "labels": {},
    }  # fmt: skip
    with pytest.raises(ValueError, match="too much memory"):
        redaction.rebuild(study.protocol, [huge])


def test_a_verifier_of_another_version_is_told(bundle: tuple[Made, Path, dict[str, Any]], tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(bundle[1], folder)
    (folder / "verifier/audit_core/results.py").write_bytes(b"# older\n")
    bundles.remake(folder, tool={"name": "snapshot-audit", "version": "0.0.9"})
    found = {check.check_id: check for check in verify_bundle(folder, installed=carried.files())}
    assert found["B15"].result == "could not check"
    assert found["B15"].detail == "It is of version 0.0.9, installed is 0.1.0."


def test_digests_of_answers_are_salted_one_by_one(study: Study, bundle: tuple[Made, Path, dict[str, Any]]) -> None:
    sealed = [
        d for line in (bundle[1] / "questions.jsonl").read_text().splitlines() for d in json.loads(line)["sealed"]
    ]
    answers = [c.answer for d in study.dossiers() for c in d.cells if c.answer is not None]
    assert len(set(sealed)) == len(sealed) == len(answers) > len(set(answers)), "equal answers have other digests"
    secret = keys.read(bundle[0].key, study.bundle)
    cell = next(study.dossiers()).cells[0]
    made = hashlib.sha256(seals.salt_of(secret, cell.question_id, cell.state, cell.repeat) + cell.answer.encode())
    assert sealed[0] == made.hexdigest()
    assert sha256(cell.answer.encode()) not in sealed
