"""The tables of `audit.db`. Everything here is derived from locked ledgers; nothing here is a source."""

from __future__ import annotations

SCHEMA_VERSION = 3

TABLES: dict[str, str] = {
    "study": """
        study_key INTEGER PRIMARY KEY, study_id TEXT NOT NULL UNIQUE, title TEXT NOT NULL, origin TEXT NOT NULL,
        provenance TEXT NOT NULL, generator TEXT NOT NULL, path TEXT NOT NULL, normalization TEXT NOT NULL,
        old_state TEXT, new_state TEXT, kernels TEXT NOT NULL, main_kernel TEXT NOT NULL, bundle TEXT NOT NULL,
        root_lock TEXT NOT NULL, locks INTEGER NOT NULL, verified TEXT NOT NULL, protocol TEXT NOT NULL,
        decision TEXT, release TEXT""",
    "state": """
        study_key INTEGER NOT NULL REFERENCES study, position INTEGER NOT NULL, state TEXT NOT NULL,
        label TEXT NOT NULL, closed_book INTEGER NOT NULL, repeats INTEGER NOT NULL, settings TEXT NOT NULL,
        PRIMARY KEY (study_key, position), UNIQUE (study_key, state)""",
    "question": """
        question_key INTEGER PRIMARY KEY, study_key INTEGER NOT NULL REFERENCES study,
        position INTEGER NOT NULL, question_id TEXT NOT NULL, text TEXT, tags TEXT NOT NULL, weight INTEGER, gold TEXT,
        parts TEXT NOT NULL, content_sha256 TEXT NOT NULL, UNIQUE (study_key, question_id)""",
    "cell": """
        cell_key INTEGER PRIMARY KEY, question_key INTEGER NOT NULL REFERENCES question, state INTEGER NOT NULL,
        repeat INTEGER NOT NULL, status TEXT NOT NULL, answer TEXT, error TEXT, exact_key TEXT, em INTEGER, f1 REAL,
        unknown INTEGER, flagged INTEGER NOT NULL, attempts INTEGER, source INTEGER, record INTEGER, cached INTEGER,
        outcome TEXT, outcome_source TEXT, outcome_certain INTEGER, evidence INTEGER, excerpts TEXT""",
    "outcome": """
        question_key INTEGER NOT NULL REFERENCES question, state INTEGER NOT NULL, answers INTEGER NOT NULL,
        answered INTEGER NOT NULL, partial INTEGER NOT NULL, refused INTEGER NOT NULL, split INTEGER NOT NULL,
        refusal_split INTEGER NOT NULL, same_evidence INTEGER, PRIMARY KEY (question_key, state)""",
    "judge": """
        judge_key INTEGER PRIMARY KEY, study_key INTEGER NOT NULL REFERENCES study, judge TEXT NOT NULL,
        role TEXT NOT NULL, blind TEXT NOT NULL, description TEXT NOT NULL, UNIQUE (study_key, judge)""",
    "pair_label": """
        judge_key INTEGER NOT NULL REFERENCES judge, first INTEGER NOT NULL REFERENCES cell,
        second INTEGER NOT NULL REFERENCES cell, label INTEGER NOT NULL, PRIMARY KEY (judge_key, first, second)""",
    "passage": "sha256 TEXT PRIMARY KEY, text TEXT NOT NULL",
    "document": """
        question_key INTEGER NOT NULL REFERENCES question, state INTEGER NOT NULL, repeat INTEGER NOT NULL,
        rank INTEGER NOT NULL, document_id TEXT NOT NULL, score TEXT, title TEXT NOT NULL, passage TEXT,
        family TEXT NOT NULL, PRIMARY KEY (question_key, state, repeat, rank)""",
    "sibling": """
        question_key INTEGER NOT NULL REFERENCES question, state INTEGER NOT NULL, position INTEGER NOT NULL,
        document_id TEXT NOT NULL, family TEXT NOT NULL, of TEXT NOT NULL, rank INTEGER, score TEXT,
        title TEXT NOT NULL, passage TEXT, PRIMARY KEY (question_key, state, position)""",
    "excerpt": """
        question_key INTEGER NOT NULL REFERENCES question, state INTEGER NOT NULL, repeat INTEGER NOT NULL,
        position INTEGER NOT NULL, kind TEXT NOT NULL, PRIMARY KEY (question_key, state, repeat, position)""",
    "probe": """
        question_key INTEGER NOT NULL REFERENCES question, state INTEGER NOT NULL, number INTEGER NOT NULL,
        repeat INTEGER NOT NULL, answer TEXT NOT NULL, outcome TEXT NOT NULL,
        PRIMARY KEY (question_key, state, number, repeat)""",
    "pair": """
        pair_key INTEGER PRIMARY KEY, study_key INTEGER NOT NULL REFERENCES study,
        old TEXT NOT NULL, new TEXT NOT NULL, role TEXT NOT NULL, UNIQUE (study_key, old, new)""",
    "contrast": """
        pair_key INTEGER NOT NULL REFERENCES pair, kernel TEXT NOT NULL,
        question_key INTEGER NOT NULL REFERENCES question,
        within_old INTEGER, within_old_pairs INTEGER NOT NULL, within_new INTEGER, within_new_pairs INTEGER NOT NULL,
        crossing INTEGER, cross_pairs INTEGER NOT NULL, numerator INTEGER, denominator INTEGER, flip INTEGER NOT NULL,
        PRIMARY KEY (pair_key, kernel, question_key)""",
    "fact": """
        pair_key INTEGER NOT NULL REFERENCES pair, question_key INTEGER NOT NULL REFERENCES question,
        matched INTEGER NOT NULL, lost INTEGER NOT NULL, gained INTEGER NOT NULL, both_match INTEGER NOT NULL,
        different_nonmatch INTEGER NOT NULL, same_nonmatch INTEGER NOT NULL, unknown_in INTEGER NOT NULL,
        unknown_out INTEGER NOT NULL, all_nonmatch INTEGER NOT NULL, verbatim INTEGER NOT NULL, shared INTEGER,
        documents INTEGER, same_set INTEGER, same_order INTEGER, refusal_split INTEGER NOT NULL,
        open_triangles INTEGER NOT NULL, judges_disagree INTEGER NOT NULL, split_old INTEGER NOT NULL,
        split_new INTEGER NOT NULL, to_refused INTEGER NOT NULL, from_refused INTEGER NOT NULL,
        same_evidence_old INTEGER, same_evidence_new INTEGER,
        PRIMARY KEY (pair_key, question_key)""",
    "estimate": """
        study_key INTEGER NOT NULL REFERENCES study, position INTEGER NOT NULL, name TEXT NOT NULL,
        measure TEXT NOT NULL,
        kernel TEXT, old TEXT, new TEXT, value REAL, numerator INTEGER, denominator INTEGER, lower REAL, low REAL,
        high REAL, unit TEXT NOT NULL, status TEXT NOT NULL, reason TEXT NOT NULL, population INTEGER NOT NULL,
        excluded INTEGER NOT NULL, detail TEXT NOT NULL, PRIMARY KEY (study_key, name)""",
    "check_result": """
        study_key INTEGER NOT NULL REFERENCES study, position INTEGER NOT NULL, check_id TEXT NOT NULL,
        title TEXT NOT NULL, result TEXT NOT NULL, detail TEXT NOT NULL, PRIMARY KEY (study_key, check_id)""",
    "lock": """
        study_key INTEGER NOT NULL REFERENCES study, number INTEGER NOT NULL, gate TEXT NOT NULL,
        sha256 TEXT NOT NULL,
        prev TEXT NOT NULL, created TEXT NOT NULL, files TEXT NOT NULL, counts TEXT NOT NULL, note TEXT NOT NULL,
        PRIMARY KEY (study_key, number)""",
    "finding": """
        study_key INTEGER NOT NULL REFERENCES study, position INTEGER NOT NULL, severity TEXT NOT NULL,
        kind TEXT NOT NULL,
        count INTEGER NOT NULL, place TEXT NOT NULL, sentence TEXT NOT NULL, PRIMARY KEY (study_key, position)""",
}
"""Column definitions by table, in an order that satisfies the foreign keys."""

WITHOUT_ROWID = {"pair_label", "outcome", "document", "sibling", "excerpt", "probe", "contrast", "fact"}

INDEXES: dict[str, tuple[str, ...]] = {
    "question": ("study_key, position",),
    "cell": ("question_key, state, repeat",),
    "contrast": ("pair_key, kernel, flip",),
}

VIEWS: dict[str, str] = {
    # Section 1 of docs/method.md, straight from the cells: the third of three independent computations
    # (numpy, this view, exact fractions) that the tests hold equal.
    "agreement_pair": """
        SELECT 'exact' AS kernel, a.question_key, a.state AS first_state, b.state AS second_state,
               a.exact_key = b.exact_key AS agree
        FROM cell a JOIN cell b ON b.question_key = a.question_key AND b.cell_key > a.cell_key
        WHERE a.status = 'ok' AND b.status = 'ok'
        UNION ALL
        SELECT 'semantic', a.question_key, min(a.state, b.state), max(a.state, b.state), l.label
        FROM pair_label l JOIN judge j ON j.judge_key = l.judge_key AND j.role = 'primary'
        JOIN cell a ON a.cell_key = l.first JOIN cell b ON b.cell_key = l.second""",
    "contrast_recomputed": """
        SELECT p.pair_key, g.kernel, g.question_key,
               sum(CASE WHEN first_state = o.position AND second_state = o.position THEN agree END) AS within_old,
               sum(first_state = o.position AND second_state = o.position) AS within_old_pairs,
               sum(CASE WHEN first_state = n.position AND second_state = n.position THEN agree END) AS within_new,
               sum(first_state = n.position AND second_state = n.position) AS within_new_pairs,
               sum(CASE WHEN first_state <> second_state THEN agree END) AS crossing,
               sum(first_state <> second_state) AS cross_pairs
        FROM pair p
        JOIN state o ON o.study_key = p.study_key AND o.state = p.old
        JOIN state n ON n.study_key = p.study_key AND n.state = p.new
        JOIN question q ON q.study_key = p.study_key
        JOIN agreement_pair g ON g.question_key = q.question_key
             AND g.first_state IN (o.position, n.position) AND g.second_state IN (o.position, n.position)
        GROUP BY p.pair_key, g.kernel, g.question_key""",
    # Outcomes and splits straight from cells and documents, held equal to the table `outcome` in the same way.
    # Documents of repeat -1 are those of all repeats; a cell whose evidence is known and has no document saw none.
    "outcome_recomputed": """
        WITH shown AS (
            SELECT question_key, state, repeat, group_concat(json_array(document_id, passage, score), '') AS content
            FROM (SELECT * FROM document ORDER BY question_key, state, repeat, rank)
            GROUP BY question_key, state, repeat)
        SELECT c.question_key, c.state, count(*) AS answers, sum(c.outcome = 'answered') AS answered,
               sum(c.outcome = 'partial') AS partial, sum(c.outcome = 'refused') AS refused,
               count(DISTINCT c.outcome) > 1 AS split, count(DISTINCT c.outcome = 'refused') > 1 AS refusal_split,
               CASE WHEN count(DISTINCT coalesce(own.content, every.content, iif(c.evidence IS NULL, NULL, ''))) > 1
                    THEN 0 WHEN count(c.evidence) = count(*) THEN 1 END AS same_evidence
        FROM cell c
        LEFT JOIN shown own ON own.question_key = c.question_key AND own.state = c.state AND own.repeat = c.repeat
        LEFT JOIN shown every ON every.question_key = c.question_key AND every.state = c.state AND every.repeat = -1
        WHERE c.status = 'ok' GROUP BY c.question_key, c.state""",
}
