"""Retrievers, generators and judges: the only code that leaves the process.

An adapter gets a question and passages, or a judge packet; it never sees gold, and a judge never sees states, repeats,
evidence or documents (their types have no such field).
"""
