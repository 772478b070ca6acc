"""How Markdown looks: a component class for every kind of text, and their mixtures as Rich styles.

Every run names its styles from the outside in ("quote", "strong", "link"); the colours of each lie over
those before, as CSS would have it. What counts is told by signs and text attributes as well as by colour.
"""

from __future__ import annotations

from rich.style import Style
from textual.color import BLACK, WHITE, Color
from textual.widget import Widget

from tui_agent.tui.widgets.markdown_inline import Styles

NAMES = (
    *(f"h{level}" for level in range(1, 7)),
    "h1-line",
    "h2-line",
    "placeholder",
    "strong",
    "em",
    "strike",
    "code",
    "link",
    "link-active",
    "image",
    "bullet",
    "task",
    "task-done",
    "quote",
    "quote-bar",
    "rule",
    "table-head",
    "table-line",
    "fence",
    "fence-bar",
    "fence-label",
    "code-keyword",
    "code-string",
    "code-comment",
    "code-constant",
    "code-name",
    "code-builtin",
    "code-removed",
)

COMPONENT_CLASSES = {f"markdown--{name}" for name in NAMES}

CSS = """
MarkdownView {
    & > .markdown--h1 { color: $text-primary; text-style: bold; }
    & > .markdown--h1-line { color: $primary; }
    & > .markdown--h2 { color: $text-primary; text-style: bold; }
    & > .markdown--h2-line { color: $primary 50%; }
    & > .markdown--h3 { color: $text-secondary; text-style: bold; }
    & > .markdown--h4 { color: $text-secondary; text-style: bold italic; }
    & > .markdown--h5 { color: $text-secondary; text-style: italic underline; }
    & > .markdown--h6 { color: $foreground 70%; text-style: italic; }
    & > .markdown--placeholder { color: $foreground 60%; }
    & > .markdown--strong { text-style: bold; }
    & > .markdown--em { text-style: italic; }
    & > .markdown--strike { text-style: strike; color: $foreground 65%; }
    & > .markdown--code { color: $text-warning; background: $warning 10%; }
    & > .markdown--link { color: $text-primary; text-style: underline; }
    & > .markdown--link-active {
        color: $block-cursor-foreground;
        background: $block-cursor-background;
        text-style: bold underline;
    }
    & > .markdown--image { color: $foreground 65%; text-style: italic; }
    & > .markdown--bullet { color: $text-accent; }
    & > .markdown--task { color: $text-warning; }
    & > .markdown--task-done { color: $text-success; }
    & > .markdown--quote { color: $foreground 80%; }
    & > .markdown--quote-bar { color: $primary; }
    & > .markdown--rule { color: $foreground 30%; }
    & > .markdown--table-head { color: $text-secondary; text-style: bold; }
    & > .markdown--table-line { color: $foreground 30%; }
    & > .markdown--fence { background: $foreground 6%; }
    & > .markdown--fence-bar { color: $foreground 30%; }
    & > .markdown--fence-label { color: $foreground 55%; text-style: italic; }
    & > .markdown--code-keyword { color: $text-accent; text-style: bold; }
    & > .markdown--code-string { color: $text-success; }
    & > .markdown--code-comment { color: $foreground 55%; text-style: italic; }
    & > .markdown--code-constant { color: $text-warning; }
    & > .markdown--code-name { color: $text-primary; }
    & > .markdown--code-builtin { color: $text-secondary; }
    & > .markdown--code-removed { color: $text-error; }
    &:ansi > .markdown--code { background: transparent; }
    &:ansi > .markdown--fence { background: transparent; }
}
"""


LINES = {"h1-line", "h2-line", "quote-bar", "rule", "table-line", "fence-bar"}
"""What is no text, and may be faint."""
READABLE = 4.5
"""The least ratio of contrast between a text and what is behind it (WCAG 2.2, 1.4.3)."""


class Palette:
    """The Rich styles of a widget's runs, worked out once and kept until the theme changes.

    Args:
        widget: has `COMPONENT_CLASSES` among its component classes.
    """

    def __init__(self, widget: Widget) -> None:
        self._widget = widget
        self._known: dict[Styles, Style] = {}

    def forget(self) -> None:
        """The theme changed."""
        self._known.clear()

    def style(self, names: Styles) -> Style:
        """The style of a run that names these, from the outside in."""
        found = self._known.get(names)
        if found is None:
            found = self._known[names] = self._mix(names)
        return found

    def _mix(self, names: Styles) -> Style:
        base = self._widget.visual_style
        background = base.background or Color(0, 0, 0)
        color, auto = base.foreground or Color(255, 255, 255), False
        attributes = Style()
        for name in names:
            styles = self._widget.get_component_styles(f"markdown--{name}")
            if styles.has_rule("background"):
                background += styles.background
            if styles.has_rule("auto_color") and styles.auto_color:
                color, auto = styles.color, True
            elif styles.has_rule("color"):
                color, auto = styles.color, False
            if styles.has_rule("text_style"):
                attributes += styles.text_style
        if auto:
            color = background.get_contrast_text(color.a)
        color = background + color
        if names and names[-1] not in LINES:
            color = readable(color, background)
        return attributes + Style.from_color(color.rich_color, background.rich_color)


def readable(color: Color, background: Color) -> Color:
    """The colour, or the nearest to it on the way to black or white that can be read on the background."""
    if color.ansi is not None or background.ansi is not None:
        return color
    ends = max((BLACK, WHITE), key=lambda end: contrast(end, background))
    for step in range(21):
        mixed = color.blend(ends, step / 20)
        if contrast(mixed, background) >= READABLE:
            return mixed
    return ends


def contrast(one: Color, other: Color) -> float:
    """The ratio of contrast of two colours (WCAG 2.2, relative luminance), from 1 to 21."""
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def _luminance(color: Color) -> float:
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in color.normalized
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
