"""The release rule's outcome: what people said, beside what the ledgers say; an intersection and nothing else."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit_core.deciding import Audited, ReleaseOutcome, desk, release_outcome
from audit_core.errors import StorageError
from audit_core.estimators.gate import Condition
from audit_core.release import ReleaseRule
from audit_core.reviews.fold import Fold
from audit_core.reviews.proofs import FOLDER
from audit_core.reviews.signoff import read
from audit_core.reviews.store import ReviewStore
from audit_core.study import Study
from tests.support.ruled import NUMBERS, PEOPLE, build, review, signs
from tests.support.signing import give, screens

Ask = Callable[..., dict[str, tuple[bool | None, str]]]


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("gate") / "ruled", None, questions=30)


@pytest.fixture
def store(tmp_path: Path) -> ReviewStore:
    return ReviewStore(tmp_path / "reviews.db")


@pytest.fixture
def ask(study: Path, store: ReviewStore) -> Ask:
    """Outcome of each condition on people, by name."""

    def asked(rule: ReleaseRule = PEOPLE, flips: object = ..., outside: int = 0) -> dict[str, tuple[bool | None, str]]:
        people = desk(store.fold(), lambda decision: read(store, decision))
        found = release_outcome(rule, audited(study, flips, outside), people)
        return {c.name: (c.met, c.sentence) for c in found.conditions}

    return asked


def audited(path: Path, flips: object = ..., outside: int = 0) -> Audited:
    here, screen = Study(path), screens(path, "semantic")(Fold())
    locks = [(lock.gate, lock.sha256) for lock in here.chain]
    found = screen.flips if flips is ... else flips
    counted = {"numerator": None, "population": 30 - outside, "excluded": outside}
    rows = {f"repeat_stable_flips[semantic]@{screen.pair[0]}-{screen.pair[1]}": counted}
    return Audited("ruled", here.bundle, screen.pair, locks, found, {"conditions": [], "limits": []}, rows)  # type: ignore[arg-type]


def test_flips_that_nobody_can_know_of_are_not_reviewed(ask: Ask, study: Path, store: ReviewStore) -> None:
    lack = "2 of 30 questions lack two answers in a state or the label of a pair, so whether they flipped is not known."
    assert ask(flips=[], outside=2)["every_flip_reviewed"] == (None, f"Not decided: {lack}")
    assert ask(outside=2)["every_flip_reviewed"][0] is False
    review(study, store)
    signs(study, store)
    found = ask(outside=2)
    assert found["every_flip_reviewed"] == (
        None,
        f"Not decided: 6 of 6 repeat-stable flips have a verdict that counts. {lack}",
    )
    assert found["no_open_high_impact_regression"] == (None, f"Not decided: none is known. {lack}")
    assert found["signoff"][0] is True


def test_what_nobody_said(ask: Ask) -> None:
    found = ask()
    assert found["every_flip_reviewed"] == (False, "0 of 6 repeat-stable flips have a verdict that counts; 6 are open.")
    assert found["no_open_high_impact_regression"][0] is None, "silence is no verdict"
    assert found["signoff"] == (False, "Nobody has signed a release decision on this pair of states.")


def test_all_reviewed_and_signed(ask: Ask, study: Path, store: ReviewStore) -> None:
    review(study, store)
    signs(study, store)
    found = ask()
    assert [met for met, _ in found.values()] == [True, True, True]
    assert found["no_open_high_impact_regression"][1] == "None; 6 questions have a verdict."
    assert found["signoff"][1] == "Ship was signed on 2026-11-30, and nothing has changed since."


def test_a_high_impact_regression_is_open_on_any_question_and_until_it_is_settled(
    ask: Ask, study: Path, store: ReviewStore
) -> None:
    screen = screens(study, "semantic")(store.fold())
    outside = next(f"q{n:05d}" for n in range(30) if f"q{n:05d}" not in screen.flips)
    review(study, store)
    give(store, screen, outside, "ben", "regression", impact="high")
    name = "no_open_high_impact_regression"
    assert ask()[name] == (False, "1 high-impact regression is open.")
    give(store, screen, outside, "cat", "improvement")
    assert ask()[name][0] is False, "a dispute does not close it"
    base = store.fold().newest("ruled", outside, screen.pair)
    give(store, screen, outside, "dee", "both_acceptable", "ruling", kind="adjudicate", base_event=base)
    assert ask()[name] == (True, "None; 7 questions have a verdict.")


def test_a_regression_without_impact_is_not_known_to_be_low(ask: Ask, study: Path, store: ReviewStore) -> None:
    review(study, store, "regression")
    name = "no_open_high_impact_regression"
    assert ask()[name] == (None, "Not decided: 6 regressions have no impact. Say it in Triage.")
    review(study, store, "regression", impact="medium")
    assert ask()[name][0] is True


def test_needed_counts_independent_verdicts(ask: Ask, study: Path, store: ReviewStore) -> None:
    review(study, store)
    found = ask(replace(PEOPLE, needed=2))
    assert found["every_flip_reviewed"][0] is False
    assert "0 of 6 repeat-stable flips have 2 verdicts that agree, or a ruling" in found["every_flip_reviewed"][1]
    screen = screens(study, "semantic")(store.fold())
    for question in screen.flips:
        give(store, screen, question, "ben", "improvement" if question == screen.flips[0] else "both_acceptable")
    found = ask(replace(PEOPLE, needed=2))
    assert found["every_flip_reviewed"][1].endswith("1 is open, 1 of them disputed.")


def test_sign_offs(ask: Ask, study: Path, store: ReviewStore) -> None:
    review(study, store)
    signs(study, store, "hold")
    assert ask()["signoff"] == (False, "Hold was signed on 2026-11-30.")
    signs(study, store, "conditions", "press-2")
    met, text = ask()["signoff"]
    assert met is True
    assert text.endswith("Its conditions, which no gate can check: “Remove shard 7 first”.")
    screen = screens(study, "semantic")(store.fold())
    give(store, screen, screen.flips[0], "ann", "regression", impact="low")
    met, text = ask()["signoff"]
    assert met is False
    assert "is outdated" in text
    signs(study, store, "ship", "press-3")
    for file in (store.path.parent / FOLDER).iterdir():
        file.chmod(0o644)
        file.write_bytes(file.read_bytes() + b" ")
    met, text = ask()["signoff"]
    assert met is None
    assert "the file of this sign-off was changed" in text


def test_a_sign_off_on_another_state_of_the_study_does_not_count(
    ask: Ask, study: Path, store: ReviewStore, tmp_path: Path
) -> None:
    other = build(tmp_path / "ruled", None, questions=30, seed=2)
    signs(other, store)
    assert ask()["signoff"][0] is False


def test_no_flips_need_no_review_and_flips_that_cannot_be_measured_leave_it_open(ask: Ask, study: Path) -> None:
    assert ask(flips=())["every_flip_reviewed"] == (True, "There is no repeat-stable flip to review.")
    found = ask(flips=None)
    assert [found[name][0] for name in ("every_flip_reviewed", "no_open_high_impact_regression")] == [None, None]
    without = release_outcome(PEOPLE, audited(study), None)
    assert [c.met for c in without.conditions] == [None, None, None]
    assert all("--reviews" in c.sentence for c in without.conditions)


def test_a_store_that_is_damaged_is_not_an_empty_one(tmp_path: Path) -> None:
    (tmp_path / "reviews.db").write_bytes(b"not a database" * 100)
    with pytest.raises(StorageError):
        ReviewStore(tmp_path / "reviews.db").fold()


@given(st.lists(st.sampled_from([True, False, None]), min_size=1, max_size=6))
def test_one_condition_that_is_not_met_decides_then_one_that_is_open(found: list[bool | None]) -> None:
    conditions = [{"name": "churn", "met": met, "sentence": f"{n}"} for n, met in enumerate(found)]
    study = Audited("s", "b", ("a", "b"), (), (), {"conditions": conditions, "limits": []}, {})
    outcome = release_outcome(NUMBERS, study, None)
    wanted = "not met" if False in found else "cannot be decided" if None in found else "met"
    assert outcome.outcome == wanted
    assert [c.met for c in outcome.conditions] == found
    assert outcome.headline.startswith(f"Release rule {wanted}: ")


def test_headlines() -> None:
    def said(*met: bool | None) -> str:
        outcome = "not met" if False in met else "cannot be decided" if None in met else "met"
        return ReleaseOutcome(outcome, tuple(Condition("churn", m, "") for m in met), ()).headline

    assert said(True) == "Release rule met: the condition holds."
    assert said(True, True) == "Release rule met: all 2 conditions hold."
    assert said(True, False, None) == "Release rule not met: 1 of 3 conditions does not hold."
    assert said(None, None) == "Release rule cannot be decided: 2 of 2 conditions are open."
    for some in itertools.product([True, False, None], repeat=2):
        assert said(*some).endswith(".")
