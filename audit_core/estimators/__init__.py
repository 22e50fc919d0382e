"""Estimators: arrays in, numbers out; no files. Point estimates are exact integers over a common denominator.

The method is Ning and Li, *Same Agent, Different Answers: A Repeat-Aware Audit of Corpus-Induced Answer Churn in
Retrieval-Augmented QA*; formulas and their numbers are in docs/method.md.
"""
