"""Named, versioned rules that read texts: what an answer does, what a passage is, which parts a question has.

A rule is a declared reading, never a judgment: whatever it says is shown with the rule's name and its reason.
"""
