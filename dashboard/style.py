"""The one stylesheet, and the product's mark."""

from __future__ import annotations

from pathlib import Path

STYLE = f"<style>{Path(__file__).with_name('style.css').read_text('utf-8')}</style>"

MARK = (
    '<rect x="1" y="4" width="14" height="14" rx="4" fill="#3b6fb6"/>'
    '<rect x="9" y="10" width="14" height="14" rx="4" fill="#c76a10" fill-opacity=".92"/>'
)
ICON = f'<svg xmlns="http://www.w3.org/2000/svg" width="24" height="28" viewBox="0 0 24 28">{MARK}</svg>'


def logo(dark: bool) -> str:
    """The product's name beside its mark; an image, so it cannot follow the theme by itself."""
    ink = "#f2f5f8" if dark else "#11151a"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="176" height="28" viewBox="0 0 176 28">{MARK}'
        f'<text x="33" y="20" font-size="17" font-weight="700" fill="{ink}" '
        "font-family=\"Inter,'Segoe UI',Roboto,Helvetica,Arial,sans-serif\">Snapshot audit</text></svg>"
    )
