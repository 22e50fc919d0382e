"""The team file: what it may say, every fault at once; names; the name that is chosen once; who gets which question."""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from audit_core.cli import main
from audit_core.errors import InputError
from audit_core.reviews.chosen import FILE, choose, chosen
from audit_core.reviews.names import LONGEST, fold, unfit
from audit_core.reviews.roster import Roster, read
from audit_core.reviews.team import Person, RefusedError, Team, permit

FULL = """
[sign_in]
how = "oidc"
contact = "Ada, room 12"
hosts = ["Audit.Example.org"]
provider = "okta"
hours = 8
[people]
"ada@example.org" = "adjudicator"
"bo@example.org" = "reviewer"
"cy@example.org" = "viewer"
[others]
role = "viewer"
[review]
verdicts = 2
masked = true
assignment = "tag"
seed = 7
[review.tags]
billing = ["ADA@example.org", "bo@example.org"]
"""
OIDC = '[sign_in]\nhow = "oidc"\n[people]\n"a@b.c" = "reviewer"\n'
PROXY = (
    '[sign_in]\nhow = "proxy"\nheader = "X-User"\nsecret_header = "X-Proof"\nsecret_variable = "PROOF"\n'
    '[people]\n"a@b.c" = "reviewer"\n'
)


@pytest.fixture
def team(tmp_path: Path):
    def written(text: str) -> Roster:
        (tmp_path / "team.toml").write_text(text, encoding="utf-8")
        return read(tmp_path / "team.toml")

    return written


def faults(team, text: str) -> list[str]:
    with pytest.raises(InputError) as caught:
        team(text)
    assert caught.value.exit_code == 2
    for problem in caught.value.problems:
        assert all((problem.what, problem.expected, problem.found, problem.where, problem.action)), problem
    return [f"{problem.where.split(': ')[-1]}: {problem.what}" for problem in caught.value.problems]


def test_a_full_file(team):
    found = team(FULL)
    assert (found.sign_in.how, found.sign_in.contact, found.sign_in.provider) == ("oidc", "Ada, room 12", "okta")
    assert found.sign_in.hosts == ("audit.example.org",)
    assert found.sign_in.hours == 8
    assert found.team.reviewers == ["ada@example.org", "bo@example.org"]
    assert (found.team.needed, found.team.masked, found.team.assignment, found.team.seed) == (2, True, "tag", "7")
    assert found.team.tags == {"billing": ("ada@example.org", "bo@example.org")}
    assert found.team.assigned("s", "q", ["billing"]) == ("ada@example.org", "bo@example.org")


def test_the_command_says_who_may_do_what_and_counts_questions(tmp_path, capsys):
    (tmp_path / "team.toml").write_text(
        FULL.replace('role = "viewer"\n[review]', 'role = "reviewer"\n[review]').replace("billing", "privacy")
    )
    assert main(["team", str(tmp_path / "team.toml"), "--study", "help-centre", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(person["name"], person["role"], person["questions"]) for person in found["people"]] == [
        ("ada@example.org", "adjudicator", 80), ("bo@example.org", "reviewer", 80), ("cy@example.org", "viewer", 0)
    ]  # fmt: skip
    assert found["tags_without_questions"] == []
    (tmp_path / "team.toml").write_text(FULL)
    assert main(["team", str(tmp_path / "team.toml"), "--study", "help-centre"]) == 0
    said = capsys.readouterr().out
    assert "No question of the study has the tag billing." in said
    assert "settle disputes" in said
    (tmp_path / "team.toml").write_text("colour = 1")
    assert main(["team", str(tmp_path / "team.toml")]) == 2


def test_the_files_in_the_guide_are_good(team):
    guide = (Path(__file__).parents[2] / "docs" / "team.md").read_text(encoding="utf-8")
    files = [block for block in re.findall(r"```toml\n(.*?)```", guide, re.DOTALL) if "[sign_in]" in block]
    assert len(files) == 3
    for text in files:
        assert team(text if "[people]" in text else text + '[others]\nrole = "viewer"\n')


def test_an_empty_file_is_one_local_person(team):
    assert team("") == Roster()


def test_local_names_carry_that_nobody_vouches_for_them(team):
    found = team('[people]\nAda = "adjudicator"\n"Bo B." = "reviewer"\n')
    assert found.team.people == {"local:Ada": "adjudicator", "local:Bo B.": "reviewer"}
    assert found.known_as("local:ADA") == "local:Ada"
    assert found.known_as("Ada") is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("colour = 1", "the file: unknown entry"),
        ("people = 3", "people: this must be a table"),
        ("[people]\nAda = 3", "people.Ada: unknown value"),
        ('[people]\nAda = "boss"', "people.Ada: unknown value"),
        ('[people]\nAda = "viewer"\n"ada" = "viewer"', "people.ada: two names that look alike"),
        ('[people]\nAda = "viewer"\n"\uff21da" = "viewer"', "people.\uff21da: two names that look alike"),
        ('[people]\nAda = "viewer"\n"A\\u200bda" = "viewer"', "people.A\u200bda: two names that look alike"),
        ('[people]\n"A\\u200bda" = "viewer"', "people.A\u200bda: not a name"),
        ('[people]\n"\\u202eadA" = "viewer"', "people.\u202eadA: not a name"),
        ('[people]\n" " = "viewer"', "people. : not a name"),
        ('[people]\n"local:Ada" = "viewer"', "people.local:Ada: a name does not begin with local:"),
        ('[people]\nAda = "reviewer"\n[review]\nverdicts = 2', "review.verdicts: more verdicts"),
        ("[review]\nverdicts = 2", "review.verdicts: more verdicts"),
        ("[review]\nverdicts = true", "review.verdicts: this must be a whole number"),
        ("[review]\nverdicts = 0", "review.verdicts: this must be a whole number"),
        ("[review]\nmasked = 1", "review.masked: this must be true or false"),
        ("[review]\nseed = true", "review.seed: not a seed"),
        ('[review]\nassignment = "random"', "review.assignment: unknown value"),
        ('[review]\nassignment = "share"', "people: nobody to give questions to"),
        ('[people]\nAda = "reviewer"\n[review]\nassignment = "tag"', "review.tags: tags and assignment do not fit"),
        ('[people]\nA = "reviewer"\n[review]\nassignment = "tag"\ntags = {x = ["B"]}', "review.tags.x: a tag names"),
        ('[people]\nA = "viewer"\nB = "reviewer"\n[review]\nassignment = "tag"\ntags = {x = ["A"]}', "tags.x: a tag"),
        ('[people]\nA = "reviewer"\n[review]\nassignment = "tag"\ntags = {x = "A"}', "review.tags.x: not a list"),
        (
            '[people]\nA = "reviewer"\nB = "reviewer"\n[review]\nverdicts = 2\nassignment = "tag"\ntags = {x = ["A"]}',
            "review.tags.x: a tag names fewer people than verdicts",
        ),
        ('[others]\nrole = "viewer"', "others: others are people who signed in"),
        (OIDC + "[others]", "others.role: the role is missing"),
        ('[sign_in]\nhow = "oidc"', "people: nobody would be let in"),
        ('[sign_in]\nhow = "magic"', "sign_in.how: unknown value"),
        ('[sign_in]\nheader = "X-User"', "sign_in with how = local: unknown entry"),
        ('[sign_in]\nsecret = "x"', "sign_in with how = local: unknown entry"),
        ('[sign_in]\nhosts = "a.example"', "sign_in.hosts: not a list of host names"),
        ('[sign_in]\nhosts = ["a.example:80"]', "sign_in.hosts: not a list of host names"),
        ('[sign_in]\ncontact = "a\\u0000b"', "sign_in.contact: this must be a text"),
        ('[sign_in]\nhow = "oidc"\nhours = 0\n[people]\n"a@b.c" = "viewer"', "sign_in.hours: this must be a whole"),
        (PROXY.replace('header = "X-User"\n', "", 1), "sign_in.header: a trusted proxy needs this entry"),
        (PROXY.replace('"X-User"', '"Cookie"'), "sign_in.header: not a header of its own"),
        (PROXY.replace('"X-User"', '"X User"'), "sign_in.header: not a header of its own"),
        (PROXY.replace('"X-Proof"', '"x-user"'), "sign_in.secret_header: name and secret need two headers"),
        (PROXY.replace('"PROOF"', '"s3cret-itself!"'), "sign_in.secret_variable: not the name of a variable"),
    ],
)
def test_each_fault_is_told_where_it_is(team, text, expected):
    assert any(expected in fault for fault in faults(team, text)), faults(team, text)


def test_all_faults_at_once(team):
    text = '[people]\nA = "boss"\na = "viewer"\n[review]\nverdicts = 9\ncolour = 1\n[sign_in]\nhow = "magic"\n'
    assert len(faults(team, text)) == 5


@pytest.mark.parametrize("text", ["[people", "a = 1\na = 2", "\x00"])
def test_what_is_not_toml(team, text):
    assert "not TOML" in faults(team, text)[0]


def test_a_file_that_is_not_there_or_no_text(tmp_path: Path):
    with pytest.raises(InputError, match="cannot be read"):
        read(tmp_path / "none.toml")
    (tmp_path / "team.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="not TOML"):
        read(tmp_path / "team.toml")


def test_a_secret_in_place_of_its_variable_is_not_quoted(team):
    with pytest.raises(InputError) as caught:
        team(PROXY.replace('"PROOF"', '"s3cret-itself!"'))
    assert "s3cret" not in str(caught.value)


def test_who_is_let_in(team):
    found = team(OIDC)
    assert found.known_as("A@B.c") == "a@b.c"
    assert found.known_as("x@b.c") is None
    assert found.known_as("a@b.c\u200b") is None
    assert found.known_as("local:a@b.c") is None
    open_to = team(OIDC + '[others]\nrole = "reviewer"\n')
    # one person with two spellings is one person, or a question with two verdicts has one reader
    assert open_to.known_as("X@B.C") == open_to.known_as("x@b.c") == "x@b.c"
    assert (open_to.role("x@b.c"), open_to.role("a@b.c")) == ("reviewer", "reviewer")
    assert open_to.known_as("") is None


@pytest.mark.parametrize(
    "name",
    ["", " Ada", "Ada ", "A  B", "A\tB", "A\nB", "A\x00", "A\u200bB", "A\u202eB", "A\u00a0B", "e\u0301", "\u0301a",
     "\u3164", "\u2800", "\ufeffA", "A\ufe0f", "A\U000e0041", "\ud800", "x" * (LONGEST + 1)],
)  # fmt: skip
def test_what_cannot_be_a_name(name, tmp_path):
    assert unfit(name)
    with pytest.raises(InputError):
        choose(tmp_path / "reviews.db", name)
    assert list(tmp_path.iterdir()) == []


@given(some.text(max_size=80))
def test_a_fit_name_folds_to_something_and_folding_is_stable(name: str):
    if not unfit(name):
        assert fold(name)
        assert fold(fold(name)) == fold(name)
        assert fold(name.upper()) == fold(name.upper().lower())


@pytest.mark.parametrize("name", ["Ada", "Ada Lovelace", "é", "李小龍", "محمد", "O'Brien-Smith (2)", "x" * LONGEST])
def test_a_name_is_chosen_once(name, tmp_path):
    reviews = tmp_path / "reviews.db"
    assert chosen(reviews) is None
    choose(reviews, name)
    assert chosen(reviews) == name
    choose(reviews, name)
    with pytest.raises(InputError, match="chosen already"):
        choose(reviews, "Mallory")
    assert chosen(reviews) == name
    assert [path.name for path in tmp_path.iterdir()] == [FILE]


def test_of_many_who_choose_at_once_one_is_kept(tmp_path):
    reviews, kept, told = tmp_path / "reviews.db", [], []
    start = threading.Barrier(12)

    def one(name: str) -> None:
        start.wait()
        try:
            choose(reviews, name)
            kept.append(name)
        except InputError:
            told.append(name)

    threads = [threading.Thread(target=one, args=(f"N{number}",)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(kept), len(told)) == (1, 11)
    assert chosen(reviews) == kept[0]
    assert [path.name for path in tmp_path.iterdir()] == [FILE]


@pytest.mark.parametrize("content", ["", "[]", "{", '{"name": 3}', '{"name": "A\\u200b"}', "[" * 9_000])
def test_a_damaged_choice_is_told_not_guessed(content, tmp_path):
    (tmp_path / FILE).write_text(content)
    with pytest.raises(InputError, match="cannot be read"):
        chosen(tmp_path / "reviews.db")
    assert (tmp_path / FILE).read_text() == content


@pytest.mark.parametrize(
    ("role", "may"),
    [("viewer", set()), ("reviewer", {"verdict", "label", "reveal"}),
     ("adjudicator", {"verdict", "label", "reveal", "adjudicate", "signoff", "sample"})],
)  # fmt: skip
def test_what_each_role_may(role, may):
    person = Person("p", role)
    for kind in ("verdict", "label", "reveal", "adjudicate", "signoff", "sample"):
        if kind in may:
            permit(person, kind)
        else:
            with pytest.raises(RefusedError, match="may not record"):
                permit(person, kind)


def test_shares_are_even_and_a_newcomer_moves_only_their_own():
    people = {f"p{number}": "reviewer" for number in range(5)} | {"v": "viewer"}
    before = Team(people, needed=2, assignment="share")
    after = Team({**people, "p5": "reviewer"}, needed=2, assignment="share")
    counts: Counter[str] = Counter()
    for number in range(2_000):
        old, new = before.assigned("s", f"q{number}", []), after.assigned("s", f"q{number}", [])
        assert old is not None
        assert new is not None
        assert len(set(old)) == 2
        assert set(new) - set(old) <= {"p5"}
        counts.update(old)
    assert set(counts) == {f"p{number}" for number in range(5)}
    assert all(700 < count < 900 for count in counts.values())
