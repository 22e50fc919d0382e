"""The share bundle: a study without its texts, for strangers, with a verifier that needs only Python and numpy.

What is in it and what it shows is in docs/share.md. `writing` makes one from a verified study; `checks` makes the
numbered checks and is what a bundle carries, with every module that it imports; `unpacking` opens one that came from
somebody else.
"""
