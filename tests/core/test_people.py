"""People against the judge: an oracle in plain loops, properties of the corrected estimate, and the masked queue."""

from __future__ import annotations

import itertools
import math
import statistics
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit_core.digests import sha256
from audit_core.errors import NotMeasurableError
from audit_core.estimators import people
from audit_core.estimators.people import Stratum
from audit_core.model import Dossier
from audit_core.report import labelled
from audit_core.report.people import Checked, check
from audit_core.results import arrays_of, settings_of
from audit_core.reviews import labels
from audit_core.reviews.events import Entry
from audit_core.reviews.fold import Fold
from audit_core.reviews.labels import Asked, Sample
from audit_core.reviews.merge import merge
from audit_core.reviews.store import ReviewStore
from tests.support.labelling import BUNDLE, NEW, OLD, Says, Simulated, erring, events, label, truly
from tests.support.simulator import StudySimulator

ANN, BEN, CAT = erring("ann", 0.1, 0.1), erring("ben", 0.2, 0.05), erring("cat", 0.3, 0.3)


def checked(study: Simulated, sample: Sample, fold: Fold) -> Checked:
    own = labels.given(fold, study.study_id)
    return check(study.frame, sample, study.asked(sample), own, settings_of(study.protocol))


# the oracle: written from design notes with dictionaries and loops, knows nothing of arrays


def oracle_contrast(cells: list[tuple[str, int]], agree: Callable[[Any, Any], bool]) -> Fraction:
    old, new = ([c for c in cells if c[0] == s] for s in (OLD, NEW))

    def share(found: list[tuple[Any, Any]]) -> Fraction:
        return Fraction(sum(1 for a, b in found if agree(a, b)), len(found))

    own = share(list(itertools.combinations(old, 2))) + share(list(itertools.combinations(new, 2)))
    return own / 2 - share([(a, b) for a in old for b in new])


def oracle_judge(dossier: Dossier) -> Fraction:
    judgment = dossier.judgments["primary"]
    table = {}
    for i, j, same in judgment.labels:
        table[judgment.slots[i], judgment.slots[j]] = table[judgment.slots[j], judgment.slots[i]] = same
    return oracle_contrast(list(judgment.slots), lambda a, b: bool(table[a, b]))


def by_text(dossier: Dossier, said: Mapping[str, str | None]) -> dict[frozenset[str | None], str | None]:
    """What was said about two texts, wherever in the question they stand."""
    text = {f"{c.state}/{c.repeat}": c.answer for c in dossier.cells}
    return {frozenset(text[name] for name in subject.split("|")): value for subject, value in said.items()}


def oracle_person(dossier: Dossier, said: Mapping[str, str | None]) -> Fraction | str | None:
    """Value by a person's labels; a word where one is missing or cannot be told."""
    text = {(c.state, c.repeat): c.answer for c in dossier.cells}
    heard = by_text(dossier, said)
    missing = []

    def agree(a: tuple[str, int], b: tuple[str, int]) -> bool:
        if text[a] == text[b]:
            return True
        value = heard.get(frozenset((text[a], text[b])))
        if value in (None, "cannot_tell"):
            missing.append(value)
        return value == "same"

    found = oracle_contrast([(c.state, c.repeat) for c in dossier.cells], agree)
    return found if not missing else None if None in missing else "cannot tell"


def oracle_corrected(
    study: Simulated, drawn: dict[str, list[str]], said: dict[str, dict[str, str | None]]
) -> tuple[Fraction, float, float]:
    """Estimate and both variances, for one person, from the formulas of the design."""
    by_id = {d.question.question_id: d for d in study.dossiers}
    j = {name: oracle_judge(d) for name, d in by_id.items()}
    single = {n for n, d in by_id.items() if len({c.answer for c in d.cells}) == 1}
    total = len(j)
    value = sum(j.values()) / total
    squares = means = Fraction(0)
    spread = floor_spread = Fraction(0)
    for stratum in ("moved", "still", "single"):
        if stratum == "single":
            members, pairs = sorted(single), [(Fraction(0), j[n]) for n in sorted(single)]
        else:
            members = [n for n in j if n not in single and (j[n] != 0) == (stratum == "moved")]
            pairs = []
            for name in drawn[stratum]:
                h = oracle_person(by_id[name], said.get(name, {}))
                if h is None:
                    break
                if isinstance(h, Fraction):
                    pairs.append((h, j[name]))
        if not members:
            continue
        n, big = len(pairs), len(members)
        rectifier = [h - k for h, k in pairs]
        share = Fraction(big, total)
        value += share * sum(rectifier) / n
        squares += share * sum(h * h for h, _ in pairs) / n
        means += share * sum(h for h, _ in pairs) / n
        s2 = statistics.variance(rectifier) if n > 1 else Fraction(0)
        part = share * share * (Fraction(1, n) - Fraction(1, big))
        spread += part * s2
        floor_spread += part * (max(s2, Fraction(1, 4) / (n + 1)) if stratum == "still" else s2)
    among = (squares - means * means) / total
    return value, float(among + spread), float(among + floor_spread)


def spoken(fold: Fold, who: str) -> dict[str, dict[str, str | None]]:
    out: dict[str, dict[str, str | None]] = {}
    for event in fold.trail:
        if event.reviewer == who and event.kind == "label":
            out.setdefault(event.question_id, {})[event.subject] = event.verdict
    return out


@pytest.mark.parametrize("repeats", [(2, 2), (2, 4)])
@pytest.mark.parametrize("stop", [None, 150])
@pytest.mark.parametrize("cannot", [0.0, 0.02])
def test_the_corrected_estimate_is_the_oracles(repeats: tuple[int, int], stop: int | None, cannot: float) -> None:
    study = Simulated(questions=120, repeats=repeats, flips=0.4, careless=0.1, single=0.2, seed=7)
    sample = study.drawn(60)
    fold = study.labelled(sample, {"ann": erring("ann", 0.1, 0.1, cannot)}, stop)
    (found,) = checked(study, sample, fold).corrected
    drawn = sample.questions(study.frame.strata)
    assert drawn is not None
    value, plain, floored = oracle_corrected(study, drawn, spoken(fold, "ann"))
    assert found.estimate.value == value
    assert (found.outside > 0) is (cannot > 0)
    z = statistics.NormalDist().inv_cdf(0.975)
    assert found.plain is not None
    assert found.estimate.interval is not None
    for interval, variance in ((found.plain, plain), (found.estimate.interval, floored)):
        low, high = map(float, interval)
        assert math.isclose(low, float(value) - z * math.sqrt(variance), abs_tol=1e-9)
        assert math.isclose(high, float(value) + z * math.sqrt(variance), abs_tol=1e-9)


def test_the_judge_alone_is_the_studys_own_estimate() -> None:
    study = Simulated(questions=60, repeats=(2, 3))
    sample = study.drawn(20)
    found = checked(study, sample, study.labelled(sample, {"ann": ANN})).uncorrected
    assert found.value == sum(map(oracle_judge, study.dossiers)) / 60
    assert found.interval is not None
    assert found.population == 60


def test_with_all_questions_labelled_the_estimate_is_the_persons_own_mean() -> None:
    study = Simulated(questions=50, flips=0.4)
    sample = study.drawn(1_000)
    fold = study.labelled(sample, {"ann": ANN})
    (found,) = checked(study, sample, fold).corrected
    said = spoken(fold, "ann")
    own = [oracle_person(d, said.get(d.question.question_id, {})) for d in study.dossiers]
    assert found.estimate.value == sum(h for h in own if isinstance(h, Fraction)) / 50
    assert found.plain == found.estimate.interval, "nothing is unlabelled, so the floor adds nothing"


def test_perfect_people_find_the_truth_and_a_judge_who_agrees_with_them_is_left_alone() -> None:
    study = Simulated(questions=50, flips=0.4, merges=0.3)
    sample = study.drawn(1_000)
    (found,) = checked(study, sample, study.labelled(sample, {"ann": truly})).corrected
    flawless = Simulated(questions=50, flips=0.4, merges=0, splits=0)
    assert found.estimate.value == flawless.frame.judge_mean != study.frame.judge_mean
    small = flawless.drawn(20)
    result = checked(flawless, small, flawless.labelled(small, {"ann": truly}))
    assert result.corrected[0].estimate.value == result.uncorrected.value == flawless.frame.judge_mean
    assert result.against[0].agreement.value == 1
    assert not result.disagreements


def test_agreement_and_kappa_are_those_counted_by_hand() -> None:
    study = Simulated(questions=80, flips=0.4, seed=3)
    sample = study.drawn(30)
    fold = study.labelled(sample, {"ann": erring("ann", 0.1, 0.1, 0.05)})
    found = checked(study, sample, fold).against[0]
    by_id = {d.question.question_id: d for d in study.dossiers}
    drawn = sample.questions(study.frame.strata)
    assert drawn is not None
    said, counts, weighted = spoken(fold, "ann"), Counter(), Counter()
    for stratum, ids in drawn.items():
        for name in ids:
            judgment = by_id[name].judgments["primary"]
            heard = by_text(by_id[name], said[name])
            text = [c.answer for c in by_id[name].cells]
            for i, j, same in judgment.labels:
                value = heard.get(frozenset((text[i], text[j])))
                if value in ("same", "different"):
                    counts[same, value] += 1
                    weighted[same, value] += Fraction(len(study.frame.strata[stratum]), len(ids))
    cells = [(1, "same"), (1, "different"), (0, "same"), (0, "different")]
    assert found.confusion == tuple(counts[c] for c in cells)
    assert min(found.confusion) > 0

    def kappa(table: Mapping[Any, Any]) -> tuple[Fraction, Fraction]:
        total = Fraction(sum(table.values()))
        p = (table[cells[0]] + table[cells[1]]) / total
        q = (table[cells[0]] + table[cells[2]]) / total
        observed = (table[cells[0]] + table[cells[3]]) / total
        chance = p * q + (1 - p) * (1 - q)
        return observed, (observed - chance) / (1 - chance)

    assert (found.agreement.value, found.kappa.value) == kappa(counts)
    assert found.weighted_agreement is not None
    assert found.weighted_kappa is not None
    assert (found.weighted_agreement.value, found.weighted_kappa.value) == kappa(weighted)
    assert found.weighted == tuple(weighted[c] / sum(weighted.values()) for c in cells)
    assert found.weighted_kappa.value != found.kappa.value
    for estimate in (found.agreement, found.kappa, found.weighted_agreement, found.weighted_kappa):
        assert estimate.interval is not None
        assert estimate.value is not None
        assert estimate.interval[0] <= estimate.value <= estimate.interval[1]


def test_two_people_get_cohens_kappa_and_three_krippendorffs_alpha() -> None:
    study = Simulated(questions=60, flips=0.4)
    sample = study.drawn(20)
    two = checked(study, sample, study.labelled(sample, {"ann": ANN, "ben": BEN}))
    assert [(a.first, a.second) for a in two.between] == [("ann", "ben")]
    assert two.alpha is None
    a, b = (spoken(study.labelled(sample, {who: says}), who) for who, says in (("ann", ANN), ("ben", BEN)))
    both = []
    for dossier in (d for d in study.dossiers if d.question.question_id in a):
        q = dossier.question.question_id
        one, other = by_text(dossier, a[q]), by_text(dossier, b[q])
        for i, j in itertools.combinations(dossier.cells, 2):
            if i.answer != j.answer:
                both.append((one[frozenset((i.answer, j.answer))], other[frozenset((i.answer, j.answer))]))
    observed = Fraction(sum(x == y for x, y in both), len(both))
    p, q = (Fraction(sum(pair[side] == "same" for pair in both), len(both)) for side in (0, 1))
    chance = p * q + (1 - p) * (1 - q)
    assert two.between[0].kappa.value == (observed - chance) / (1 - chance)
    three = checked(study, sample, study.labelled(sample, {"ann": ANN, "ben": BEN, "cat": CAT}))
    assert three.between == ()
    assert three.alpha is not None
    assert three.alpha.value is not None
    assert three.alpha.interval is not None
    assert three.alpha.interval[0] <= three.alpha.value <= three.alpha.interval[1]
    assert [c.reviewer for c in three.corrected] == ["ann", "ben", "cat", ""]


def oracle_alpha(units: list[list[int]]) -> Fraction | None:
    """Krippendorff's α by the coincidence matrix, one ordered pair of values after the other."""
    matrix: Counter[tuple[int, int]] = Counter()
    for unit in units:
        for i, j in itertools.permutations(range(len(unit)), 2):
            matrix[unit[i], unit[j]] += Fraction(1, len(unit) - 1)
    totals: Counter[int] = Counter()
    for (a, _), count in matrix.items():
        totals[a] += count
    n = sum(totals.values())
    expected = sum(totals[a] * totals[b] for a in totals for b in totals if a != b)
    if not expected:
        return None
    return 1 - (n - 1) * sum(c for (a, b), c in matrix.items() if a != b) / expected


@given(
    st.lists(
        st.lists(st.lists(st.sampled_from([-1, 0, 1]), min_size=3, max_size=3), min_size=2, max_size=2), max_size=9
    )
)
@settings(max_examples=60)
def test_alpha_is_that_of_the_coincidence_matrix(table: list[list[list[int]]]) -> None:
    array = np.array(table, np.int8).reshape(-1, 2, 3)
    units = [[v for v in unit if v >= 0] for question in table for unit in question]
    found = people.reliability(array, draws=50, seed="s", tail=Fraction(1, 20))
    units = [unit for unit in units if len(unit) > 1]
    assert found.alpha == oracle_alpha(units)
    assert found.pairs == len(units)


def test_the_mean_of_people_uses_whoever_finished_a_question() -> None:
    study = Simulated(questions=60, flips=0.4, single=0)
    sample = study.drawn(20)
    entries = [label(study.study_id, "ann", p, ANN(p)) for p in study.queue(sample, "ann")]
    entries += [label(study.study_id, "ben", p, BEN(p)) for p in study.queue(sample, "ben")[:60]]
    fold = Fold(events(entries))
    found = checked(study, sample, fold)
    drawn = sample.questions(study.frame.strata)
    assert drawn is not None
    by_id = {d.question.question_id: d for d in study.dossiers}
    said = {who: spoken(fold, who) for who in ("ann", "ben")}
    value = study.frame.judge_mean
    for stratum, ids in drawn.items():
        gaps = []
        for name in ids:
            own = [oracle_person(by_id[name], said[who].get(name, {})) for who in said]
            own = [h for h in own if h is not None]
            gaps.append(sum(h for h in own if isinstance(h, Fraction)) / len(own) - oracle_judge(by_id[name]))
        value += Fraction(len(study.frame.strata[stratum]), 60) * sum(gaps) / len(gaps)
    assert found.corrected[-1].reviewer == ""
    assert found.corrected[-1].estimate.value == value
    ann, ben = found.progress
    assert ann.finished == 20
    assert 0 < ben.finished < 20
    assert (ben.labelled, ben.asked) == (60, ann.asked)


def test_cannot_tell_is_counted_left_outside_and_given_a_range() -> None:
    study = Simulated(questions=60, flips=0.4, single=0)
    sample = study.drawn(20)
    doubted = study.queue(sample, "ann")[0]

    def says(pair: Asked) -> str:
        return "cannot_tell" if pair.place == doubted.place else truly(pair)

    def sure(value: str) -> Says:
        return lambda pair: value if pair.place == doubted.place else truly(pair)

    found = checked(study, sample, study.labelled(sample, {"ann": says}))
    (corrected,) = found.corrected
    assert (found.progress[0].cannot_tell, corrected.outside) == (1, 1)
    assert sum(corrected.counted.values()) == 19
    ends = [
        checked(study, sample, study.labelled(sample, {"ann": sure(v)})).corrected[0].estimate.value
        for v in ("same", "different")
    ]
    assert corrected.extremes == tuple(ends)
    pairs = [p for asked in study.asked(sample).values() for p in asked if not p.identical]
    assert sum(found.against[0].confusion) == sum(p.place != doubted.place for p in pairs)
    assert found.progress[0].labelled == found.progress[0].asked < len(pairs)


def test_questions_behind_an_open_one_wait() -> None:
    study = Simulated(questions=60, flips=0.4, single=0)
    sample = study.drawn(20)
    drawn = sample.questions(study.frame.strata)
    assert drawn is not None
    skipped = drawn["still"][3]
    fold = study.labelled(sample, {"ann": lambda pair: None if pair.question_id == skipped else truly(pair)})
    found = checked(study, sample, fold)
    assert found.progress[0].finished == 19
    assert found.progress[0].counted == {"moved": 10, "still": 3}
    fold = study.labelled(sample, {"ann": lambda pair: None if pair.question_id == drawn["still"][1] else truly(pair)})
    (short,) = checked(study, sample, fold).corrected
    assert short.estimate.value is None
    assert "1 of" in short.estimate.reason


def test_labels_of_other_answers_do_not_count() -> None:
    study = Simulated(questions=40, flips=0.4)
    sample = study.drawn(10)
    pairs = study.queue(sample, "ann")
    entries = [label(study.study_id, "ann", p, truly(p), sha256(b"before") if n == 0 else None)
               for n, p in enumerate(pairs)]  # fmt: skip
    found = checked(study, sample, Fold(events(entries)))
    assert (found.progress[0].outdated, found.progress[0].labelled) == (1, len(pairs) - 1)


def test_a_label_taken_back_is_open_again_and_the_newest_counts() -> None:
    study = Simulated(questions=40, flips=0.4)
    first, second = study.queue(study.drawn(10), "ann")[:2]
    said = [(first, "same"), (second, "same"), (first, "different"), (second, None)]
    fold = Fold(events([label(study.study_id, "ann", pair, value) for pair, value in said]))
    own = labels.given(fold, study.study_id)["ann"]
    assert {place: event.verdict for place, event in own.items()} == {first.place: "different"}


# properties


fractions = st.integers(-4, 4).map(lambda n: Fraction(n, 4))
samples = st.lists(st.tuples(fractions, fractions), min_size=2, max_size=12)


@given(samples, samples, st.integers(0, 30), st.integers(0, 30), st.randoms())
def test_the_order_of_questions_and_strata_means_nothing(
    a: list[tuple[Fraction, Fraction]], b: list[tuple[Fraction, Fraction]], more_a: int, more_b: int, rng: Any
) -> None:
    def strata(first: list[tuple[Fraction, Fraction]], second: list[tuple[Fraction, Fraction]]) -> list[Stratum]:
        return [
            Stratum(name, len(found) + more, *(tuple(p[side] for p in found) for side in (0, 1)), floored=name == "b")
            for name, found, more in (("a", first, more_a), ("b", second, more_b))
        ]

    mean = Fraction(1, 8)
    before = people.corrected(mean, strata(a, b))
    x, y = rng.sample(a, len(a)), rng.sample(b, len(b))
    assert people.corrected(mean, strata(x, y)[::-1]) == before
    assert before.floored >= before.variance >= 0
    if not more_a and not more_b:
        everyone = [h for _, h in a + b]
        judge = sum((j for j, _ in a + b), Fraction(0)) / len(everyone)
        assert people.corrected(judge, strata(a, b)).value == sum(everyone, Fraction(0)) / len(everyone)


@given(st.integers(0, 40), st.integers(0, 40))
def test_agreeing_people_change_nothing(moved: int, still: int) -> None:
    strata = [
        Stratum("moved", moved + 5, (Fraction(1),) * 2, (Fraction(1),) * 2),
        Stratum("still", still + 5, (Fraction(0),) * 2, (Fraction(0),) * 2, floored=True),
    ]
    mean = Fraction(moved + 5, moved + still + 10)
    found = people.corrected(mean, strata)
    assert found.value == mean
    assert found.floored > found.variance, "two questions without an error are no proof"


def test_calling_a_and_b_the_other_way_round_changes_nothing() -> None:
    study = Simulated(questions=40, flips=0.4)
    sample = study.drawn(20)
    pairs = study.queue(sample, "ann")
    turned = [pair.sides(sample.seed, "ann")[0] is pair.second for pair in pairs]
    other = [pair.sides(sample.seed, "ben")[0] is pair.second for pair in pairs]
    assert 0.2 < sum(turned) / len(turned) < 0.8
    assert turned != other
    assert {p.sha256 for p in pairs} == {p.sha256 for p in study.queue(sample, "ben")}


# the draw and the queue


def test_a_bigger_draw_contains_the_smaller_one_and_takes_half_of_each() -> None:
    study = Simulated(questions=200, flips=0.3)
    sizes = {name: len(ids) for name, ids in study.frame.strata.items()}
    small, big = study.drawn(50), study.drawn(90)
    assert small.sizes == {"moved": 25, "still": 25}
    assert small.population == sizes
    first, second = small.questions(study.frame.strata), big.questions(study.frame.strata)
    assert first is not None
    assert second is not None
    for name in labels.DRAWN:
        assert second[name][: len(first[name])] == first[name]
        assert set(first[name]) <= set(study.frame.strata[name])
    everything = study.drawn(10_000)
    assert everything.sizes == {name: sizes[name] for name in labels.DRAWN}
    assert study.drawn(50, seed="other").questions(study.frame.strata) != first
    few = labels.drawn({"moved": ["a"], "still": list("bcdefgh"), "identical": []}, (OLD, NEW), "j", "s", 6)
    assert few.sizes == {"moved": 1, "still": 5}


def drawn_by(who: str, study: Simulated, sample: Sample, number: int = 0) -> Entry:
    return Entry(
        request_id=f"{who}:{number}",
        study_id=study.study_id,
        bundle=BUNDLE,
        question_id="",
        reviewer=who,
        kind="sample",
        item_sha256=sha256(sample.content.encode()),
        at="2026-01-31T09:00:00Z",
        old=OLD,
        new=NEW,
        kernel="semantic",
        content=sample.content,
    )


def test_people_who_worked_apart_are_joined(tmp_path: Path) -> None:
    study = Simulated(questions=60, flips=0.4)
    sample = study.drawn(20)
    stores = {}
    for who, says in (("ann", ANN), ("ben", BEN)):
        (tmp_path / who).mkdir()
        stores[who] = ReviewStore(tmp_path / who / "reviews.db")
        stores[who].append_group(
            [drawn_by(who, study, sample), *(label(study.study_id, who, p, says(p)) for p in study.queue(sample, who))]
        )
    for _ in range(2):
        merge(stores["ann"], [tmp_path / "ben" / "reviews.db"])
    fold = stores["ann"].fold()
    assert labels.samples(fold, study.study_id, (OLD, NEW), "primary", study.frame.strata) == [sample]
    together = checked(study, sample, study.labelled(sample, {"ann": ANN, "ben": BEN}))
    assert checked(study, sample, fold) == together


def test_a_draw_is_read_back_and_only_a_bigger_one_of_the_same_seed_follows_it() -> None:
    study = Simulated(questions=100, flips=0.3)

    draws = [study.drawn(40), study.drawn(20), study.drawn(60, seed="luckier"), study.drawn(50)]
    entries = [drawn_by("ada", study, sample, n) for n, sample in enumerate([*draws, draws[3]])]
    entries.append(replace(entries[0], request_id="x", content="{}"))
    found = labels.samples(Fold(events(entries)), study.study_id, (OLD, NEW), "primary", study.frame.strata)
    assert found == [draws[0], draws[3]]
    assert [s.event.id for s in found if s.event] == [1, 4]
    other = Simulated(questions=100, flips=0.3, seed=2)
    assert draws[0].questions(other.frame.strata) is None
    assert labels.samples(Fold(events(entries)), study.study_id, (OLD, NEW), "primary", other.frame.strata) == []


def test_the_queue_asks_every_pair_once_finishes_questions_and_mixes_them() -> None:
    study = Simulated(questions=120, flips=0.4)
    sample = study.drawn(40)
    queue, other = study.queue(sample, "ann"), study.queue(sample, "ben")
    texts = {
        (q, frozenset((p.first.text, p.second.text)))
        for q, pairs in study.asked(sample).items()
        for p in pairs
        if p.first.text != p.second.text
    }
    assert Counter((p.question_id, frozenset((p.first.text, p.second.text))) for p in queue) == Counter(texts)
    assert queue != other
    neighbours = sum(a.question_id == b.question_id for a, b in itertools.pairwise(queue))
    assert neighbours <= len(queue) // 50
    drawn = sample.questions(study.frame.strata)
    assert drawn is not None
    kind = {question: name for name, ids in drawn.items() for question in ids}
    for start in range(0, 30, 10):
        ten = list(dict.fromkeys(p.question_id for p in queue))[start : start + 10]
        assert {kind[q] for q in ten} == {"moved", "still"}, "neither kind comes first"
    half = queue[: len(queue) // 2]
    left = Counter(p.question_id for p in queue[len(half) :])
    assert sum(1 for q in {p.question_id for p in half} if q not in left) >= 15


def test_whatever_the_names_of_states_a_subject_names_one_pair() -> None:
    cells = StudySimulator(questions=1, states=("a|b", "a%7Cb")).dossiers()[0].cells
    pairs = labels.pairs_of("q", None, cells, ("a|b", "a%7Cb"))
    assert len({p.subject for p in pairs}) == len(pairs) == 6


def test_without_a_judge_or_repeats_there_is_nothing_to_check() -> None:
    bare = StudySimulator(labels=False)
    with pytest.raises(NotMeasurableError, match="no judge"):
        labelled.frame(arrays_of(bare.protocol(decision=None), bare.dossiers()), "n1", "n7")
    once = StudySimulator(repeats=1)
    with pytest.raises(NotMeasurableError, match="nothing to check"):
        labelled.frame(arrays_of(once.protocol(), once.dossiers()), "n1", "n7")
