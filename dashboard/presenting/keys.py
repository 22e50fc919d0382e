"""The keys of the presenter: one registry for the listener, the help dialog and the documentation."""

from __future__ import annotations

from dashboard.components.keys import Key

REGISTRY: tuple[Key, ...] = (
    Key("arrowright space pagedown", "next", "Forward", "The evidence of a flip, if it has any, then the next slide."),
    Key("arrowleft pageup", "previous", "Back", "One step back."),
    Key("home", "first", "First", "The first slide."),
    Key("end", "last", "Last", "The last slide."),
    Key("digits", "jump", "Go to", "Type the number of a slide, then Enter."),
    Key("e", "evidence", "Evidence", "Show or hide the evidence of a flip."),
    Key("g", "gold", "Gold", "Show or hide the gold answers of a flip; that a reviewer saw them is recorded."),
    Key("n", "names", "Names", "Show or hide who gave a verdict and who signed; hidden at every start."),
    Key("b .", "black", "Black", "A black screen; any key brings the slide back."),
    Key("f", "screen", "Full screen", "The whole screen, or the window again."),
    Key("?", "help", "Keys", "Show or close this list."),
    Key("escape q", "close", "Leave", "Back to where this was opened from; Esc leaves the full screen first."),
)  # fmt: skip
