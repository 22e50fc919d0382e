"""The published figures, recomputed from the bundled studies: figure, where published, recomputed, match."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from audit_core.estimators import judges, utility
from audit_core.estimators.bootstrap import of_mean
from audit_core.estimators.churn import contrast
from audit_core.estimators.paired import paired_churn
from audit_core.model import Estimate
from audit_core.results import arrays_of, estimate_all, settings_of
from audit_core.study import Study
from audit_core.tensors import Answers

POOLED_SEED = "crossjudge-1"
"""Stream of the pooled second-judge interval; the published digits depend on the draws."""
KAPPA_TOLERANCE = Fraction(3, 1000)


@dataclass(frozen=True)
class _Set:
    """One study with everything a claim may ask of it."""

    study: Study
    answers: Answers
    named: Mapping[str, Estimate]

    def value(self, name: str) -> Fraction:
        value = self.named[name].value
        if value is None:
            raise KeyError(f"{name} is undefined: {self.named[name].reason}")
        return value

    def count(self, name: str) -> int:
        top = self.named[name].numerator
        if top is None:
            raise KeyError(f"{name} is undefined: {self.named[name].reason}")
        return top

    def lower(self, name: str) -> Fraction:
        bound = self.named[name].lower
        assert bound is not None
        return bound

    def interval(self, name: str) -> tuple[Fraction, Fraction]:
        bounds = self.named[name].interval
        assert bounds is not None
        return bounds


def rounded(value: Fraction, places: int) -> str:
    """Decimal text rounded half up from the exact value."""
    exact = Decimal(value.numerator) / Decimal(value.denominator)
    return str(exact.quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_UP))


def _pp(value: Fraction, places: int = 2) -> str:
    return rounded(value * 100, places)


def _range(bounds: tuple[Fraction, Fraction]) -> str:
    return f"[{_pp(bounds[0])}, {_pp(bounds[1])}]"


def claims(folder: Path, figures: Path) -> dict[str, Any]:
    """Recompute every published figure.

    Args:
        folder: The bundled studies.
        figures: JSON list of id, text, published and where.

    Returns:
        ``{"figures", "matched", "rows": [{"id", "text", "where", "published", "recomputed", "match",
        "note"}]}``; a figure that cannot be recomputed has ``recomputed`` null and does not match.
    """
    sets = {}
    for key, name in (("nq", "nq-400"), ("tqa", "triviaqa-200"), ("v4", "v4pro-100")):
        study = Study(folder / name)
        answers = arrays_of(study.protocol, study.dossiers())
        sets[key] = _Set(study, answers, {e.name: e for e in estimate_all(study.protocol, answers)})
    made = dict(_recomputed(sets["nq"], sets["tqa"], sets["v4"]))
    rows = []
    for figure in json.loads(figures.read_text(encoding="utf-8")):
        value, note = made.get(figure["id"], (None, "not recomputed"))
        match = value == figure["published"]
        if figure["id"] == "cj.kappa.CI" and value is not None and not match:
            # the interval comes from resampling, so its last digit depends on the draws
            given, found = (
                [Fraction(part) for part in text.strip("[]").split(", ")] for text in (figure["published"], value)
            )
            match = all(abs(a - b) <= KAPPA_TOLERANCE for a, b in zip(given, found, strict=True))
            note = "within ±0.003"
        rows.append({**figure, "recomputed": value, "match": match, "note": note})
    return {"figures": len(rows), "matched": sum(row["match"] for row in rows), "rows": rows}


def _recomputed(nq: _Set, tqa: _Set, v4: _Set) -> Iterator[tuple[str, tuple[str, str]]]:
    def plain(items: Iterable[tuple[str, object]]) -> Iterator[tuple[str, tuple[str, str]]]:
        for key, value in items:
            yield key, (str(value), "")

    yield from plain(_endpoints(nq, tqa, v4))
    yield from plain(_utility(nq, tqa, v4))
    yield from plain(_flips(nq, tqa))
    yield from plain(_overlap(nq, tqa))
    yield from plain(_ladder(nq, tqa))
    yield from plain(_second_judge(nq, tqa))
    yield from plain(_counts(nq, tqa, v4))
    yield from _shares(nq, tqa)


AT = "@n1-n7"


def _endpoints(nq: _Set, tqa: _Set, v4: _Set) -> Iterator[tuple[str, object]]:
    for word, kernel in (("sem", "semantic"), ("exact", "exact")):
        cross, within, churn = (f"{m}[{kernel}]{AT}" for m in ("cross_agreement", "baseline_agreement", "excess_churn"))
        yield f"nq.cross_dis.{word}", _pp(1 - nq.value(cross), 3)
        yield f"nq.within_dis.{word}", _pp(1 - nq.value(within), 3)
        yield f"nq.D.{word}", _pp(nq.value(churn), 3)
        yield f"nq.w.{word}", _pp(nq.value(within))
        yield f"nq.c.{word}", _pp(nq.value(cross))
        yield f"nq.D.{word}2", _pp(nq.value(churn))
        for short, study in (("nq", nq), ("tqa", tqa), ("v4", v4)):
            places = 3 if (short, word) == ("tqa", "sem") else 2
            yield f"{short}.LCB.{word}", _pp(study.lower(churn), places)
            if short != "nq":
                yield f"{short}.D.{word}", _pp(study.value(churn), places)
            yield f"{short}.CI.{word}", _range(study.interval(churn))
            for side, state in (("L", "n1"), ("H", "n7")):
                yield f"{short}.w{side}.{word}", _pp(study.value(f"within_agreement[{kernel}]@{state}"))
    decision = nq.study.results() or {}
    yield "nq.gate", decision["decision"]["outcome"] == "churn confirmed"
    yield "tqa.lo.exact", _pp(tqa.interval(f"excess_churn[exact]{AT}")[0])
    yield "tqa.c.sem", _pp(tqa.value(f"cross_agreement[semantic]{AT}"))
    yield "v4.flips", v4.count(f"repeat_stable_flips[semantic]{AT}")
    yield "all.D.sem.positive", all(s.value(f"excess_churn[semantic]{AT}") > 0 for s in (nq, tqa, v4))
    for word, kernel in (("sem", "semantic"), ("exact", "exact")):
        _, flash, paired = paired_churn(v4.answers, nq.answers, kernel, "n1", "n7", settings_of(v4.study.protocol))
        assert flash.value is not None
        assert paired.interval is not None
        yield f"v4flash100.D.{word}", _pp(flash.value)
        yield f"v4diff.CI.{word}", _range(paired.interval)


def _utility(nq: _Set, tqa: _Set, v4: _Set) -> Iterator[tuple[str, object]]:
    for short, study in (("nq", nq), ("tqa", tqa), ("v4", v4)):
        yield f"{short}.dEM", _pp(study.value(f"exact_match_difference{AT}"))
        places = 2 if short == "v4" else 3
        for state in study.answers.states:
            yield f"{short}.EM.{state}", _pp(study.value(f"exact_match@{state}"), places)
    yield "v4.dEM.CI", _range(v4.interval(f"exact_match_difference{AT}"))
    wanted = set(v4.answers.question_ids)
    part = nq.answers.take(np.flatnonzero([q in wanted for q in nq.answers.question_ids]))
    values, denominator, keep = utility.difference(part.em, part.index("n1"), part.index("n7"))
    yield "v4flash100.dEM", _pp(Fraction(int(values[keep].sum()), denominator * int(keep.sum())))
    yield (
        "em.n0.highest",
        all(
            s.value("exact_match@n0") > max(s.value(f"exact_match@{state}") for state in ("n1", "n3", "n7"))
            for s in (nq, tqa)
        ),
    )
    for short, study in (("nq", nq), ("tqa", tqa)):
        flow = {kind: study.named[f"transitions[{kind}]{AT}"] for kind in ("lost", "gained", "different_nonmatch")}
        yield f"{short}.loss", flow["lost"].numerator
        yield f"{short}.gain", flow["gained"].numerator
        yield f"{short}.diff", flow["different_nonmatch"].numerator
        yield f"{short}.diff.pct", _pp(study.value(f"transitions[different_nonmatch]{AT}"))
    yield "nq.net", nq.count(f"net_transitions{AT}")
    yield "nq.gross", nq.count(f"gross_transitions{AT}")
    yield "nq.gross.pct", _pp(nq.value(f"gross_transitions{AT}"))
    different = [s.named[f"transitions[different_nonmatch]{AT}"] for s in (nq, tqa)]
    yield "nonunk.most", all(2 * int(e.detail["between_answers"]) > (e.numerator or 0) for e in different)


def _flips(nq: _Set, tqa: _Set) -> Iterator[tuple[str, object]]:
    for short, study in (("nq", nq), ("tqa", tqa)):
        yield f"{short}.flips", study.count(f"repeat_stable_flips[semantic]{AT}")
        yield f"{short}.flip.contrib", _pp(study.value(f"flip_contribution[semantic]{AT}"))
        yield f"{short}.rest.contrib", _pp(study.value(f"rest_contribution[semantic]{AT}"), 2 if short == "nq" else 3)
        yield f"{short}.flip.verbatim", study.count(f"verbatim_flips[semantic]{AT}")
        yield f"{short}.flip.allnon", study.count(f"nonmatch_flips[semantic]{AT}")


def _overlap(nq: _Set, tqa: _Set) -> Iterator[tuple[str, object]]:
    for short, study in (("nq", nq), ("tqa", tqa)):
        yield f"{short}.overlap.mean", rounded(study.value(f"shared_documents{AT}"), 2)
        yield f"{short}.overlap.zero", _pp(study.value(f"zero_overlap{AT}"))
        yield f"{short}.overlap.identical", study.count(f"identical_sets{AT}")
    yield "nq.overlap.flips", rounded(nq.value(f"shared_documents[flips]{AT}"), 3)
    yield "nq.overlap.nonflips", rounded(nq.value(f"shared_documents[nonflips]{AT}"), 3)
    detail = nq.named[f"zero_overlap_test{AT}"].detail
    rates = [Fraction(*map(int, part.split(": ")[1].split(" of "))) for part in detail["bins"].split("; ")]
    yield "nq.overlap.nonmonotone", rates not in (sorted(rates), sorted(rates, reverse=True))
    yield "nq.fisher", float(detail["fisher_p"]) > 0.05


def _ladder(nq: _Set, tqa: _Set) -> Iterator[tuple[str, object]]:
    steps = (("n0", "n1"), ("n1", "n3"), ("n3", "n7"))
    for short, study in (("nq", nq), ("tqa", tqa)):
        for old, new in steps:
            yield f"{short}.flips.{old}{new}", study.count(f"repeat_stable_flips[semantic]@{old}-{new}")
        yield (
            f"{short}.steps.positive",
            all(
                study.value(f"excess_churn[{kernel}]@{old}-{new}") > 0
                for old, new in steps
                for kernel in ("exact", "semantic")
            ),
        )
    yield "nq.union", nq.count("adjacent_flips_union[semantic]")
    yield "nq.both", nq.count("consecutive_flips[semantic]@n3")
    yield "nq.xyx", nq.count("returning_flips[semantic]@n3")
    for word, side in (("n1", "old"), ("n7", "new"), ("third", "third"), ("unstable", "unstable"), ("mixed", "mixed")):
        yield f"nq.n3.{word}", nq.count(f"middle_state[{side}]@n3")
    yield "nq.n3unst.flips", _pp(nq.value("middle_unstable[flips]@n3"), 1)
    yield "nq.n3unst.non", _pp(nq.value("middle_unstable[others]@n3"))
    yield "nq.n0.stable", nq.named["anchor[old]@n0"].denominator
    for word, side in (("n1", "old"), ("n7", "new"), ("neither", "neither"), ("other", "other")):
        yield f"nq.n0.{word}", nq.count(f"anchor[{side}]@n0")


def _second_judge(nq: _Set, tqa: _Set) -> Iterator[tuple[str, object]]:
    rows: list[npt.NDArray[np.int64]] = []
    ids: list[tuple[str, str]] = []
    values: list[Fraction] = []
    seconds: list[Fraction] = []
    for short, study in (("nq", nq), ("tqa", tqa)):
        named = study.named
        agreement = named["judge_agreement[second]"]
        assert agreement.value is not None
        yield f"cj.{short}", _pp(agreement.value)
        kappa = named["judge_kappa[second]"].value
        if short == "nq" and kappa is not None:
            yield "cj.nq.kappa", rounded(kappa, 3)
        answers = study.answers
        assert answers.primary is not None
        both = np.flatnonzero(answers.labelled[answers.primary] & answers.labelled["second"])
        rows.append(judges.counts(answers.labels[answers.primary][both], answers.labels["second"][both]))
        ids += [(short, answers.question_ids[i]) for i in both]
        for label, target in (("semantic, questions of second", values), ("semantic:second", seconds)):
            estimate = named[f"excess_churn[{label}]{AT}"]
            assert estimate.value is not None
            target.append(estimate.value * estimate.population)
    pooled = np.concatenate(
        rows
    )  # the two cohorts in this order, each by question id, as the published draw numbers them
    found = judges.agreement(pooled, draws=50_000, seed=POOLED_SEED, tail=Fraction(1, 20))
    assert found.kappa is not None
    assert found.agreement_interval is not None
    assert found.kappa_interval is not None
    yield "cj.agree", found.agreeing
    yield "cj.agree.pct", _pp(Fraction(found.agreeing, found.pairs))
    yield "cj.kappa", rounded(found.kappa, 3)
    yield "cj.partition", found.identical
    yield "cj.n", "/".join(str(sum(short == word for short, _ in ids)) for word in ("nq", "tqa"))
    yield "cj.agree.CI", _range(found.agreement_interval)
    yield "cj.kappa.CI", f"[{rounded(found.kappa_interval[0], 3)}, {rounded(found.kappa_interval[1], 3)}]"
    yield "cj.D1", _pp(sum(values, Fraction(0)) / len(ids))
    yield "cj.D2", _pp(sum(seconds, Fraction(0)) / len(ids))
    yield "n.labels.oai", found.pairs


def _counts(nq: _Set, tqa: _Set, v4: _Set) -> Iterator[tuple[str, object]]:
    def lock(study: _Set, gate: str, name: str) -> int:
        return next(lock.counts[name] for lock in study.study.chain if lock.gate == gate)

    def labels(study: _Set, judge: str) -> int:
        return int(np.triu(study.answers.labels[judge] >= 0, 1).sum())

    yield "n.answers.main", lock(nq, "answers", "accepted") + lock(tqa, "answers", "accepted")
    yield "n.answers.all", sum(lock(study, "answers", "accepted") for study in (nq, tqa, v4))
    yield "n.labels.ds", sum(labels(study, "primary") for study in (nq, tqa, v4))
    for word, study in (("nq400", nq), ("tqa200", tqa), ("v4pro100", v4)):
        yield f"attempts.{word}", lock(study, "answers", "attempts")
        judge = sum(d.judgments["primary"].attempts or 0 for d in study.study.dossiers())
        yield f"judge_attempts.{word}", judge


PUBLISHED_SHARES = {("nq", "exact"): 0, ("nq", "semantic"): 0, ("tqa", "exact"): 2764, ("tqa", "semantic"): 2174}
"""Published shares of the 50,000 draws at or below zero, in units of 0.001 %."""


def _shares(nq: _Set, tqa: _Set) -> Iterator[tuple[str, tuple[str, str]]]:
    """A share of draws is itself random: it matches where the exact probability is within two standard errors."""
    for (short, kernel), thousandths in PUBLISHED_SHARES.items():
        study = nq if short == "nq" else tqa
        share = _probability(study, kernel)
        published = thousandths / 100_000
        error = (published * (1 - published) / 50_000) ** 0.5
        match = abs(share - published) < 2 * error if thousandths else share < 2e-5
        word = "sem" if kernel == "semantic" else kernel
        note = f"published {published:.3%}, exact bootstrap {share:.4%}"
        yield f"{short}.boot_le0.{word}", (str(match), note)


def _probability(study: _Set, kernel: str) -> float:
    answers = study.answers
    found = contrast(answers.kernel(kernel), answers.repeats, answers.index("n1"), answers.index("n7"))
    distribution = of_mean(found.scaled, found.denominator)
    assert distribution is not None
    return distribution.at_most(Fraction(0))
