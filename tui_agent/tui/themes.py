"""Two calm themes, dark and light; all of Textual's stay in the palette."""

from __future__ import annotations

from typing import Any, Final

from textual.app import App
from textual.theme import Theme

DARK: Final = Theme(
    name="repo-agent-dark",
    primary="#6ea8fe",
    secondary="#8b9bb4",
    accent="#c3a6ff",
    warning="#e5b567",
    error="#f07178",
    success="#8cc98f",
    foreground="#d5dae3",
    background="#11141a",
    surface="#171b22",
    panel="#1e242d",
    dark=True,
    variables={
        "border": "#6ea8fe",
        "border-blurred": "#323b48",
        "footer-key-foreground": "#6ea8fe",
        "block-cursor-background": "#2b3a52",
        "block-cursor-foreground": "#e8edf5",
        "block-cursor-text-style": "none",
        "block-cursor-blurred-background": "#222935",
        "scrollbar": "#39424f",
        "scrollbar-hover": "#4a5666",
        "scrollbar-background": "#11141a",
        "scrollbar-background-hover": "#11141a",
        "scrollbar-background-active": "#11141a",
        "scrollbar-corner-color": "#11141a",
    },
)

LIGHT: Final = Theme(
    name="repo-agent-light",
    primary="#1d5fbf",
    secondary="#54627a",
    accent="#7a3fb8",
    warning="#9a6200",
    error="#b3261e",
    success="#22713a",
    foreground="#1f2530",
    background="#fafaf8",
    surface="#f1f1ee",
    panel="#e6e7e4",
    dark=False,
    variables={
        "border": "#1d5fbf",
        "border-blurred": "#c5c8cc",
        "footer-key-foreground": "#1d5fbf",
        "block-cursor-background": "#d3e2f8",
        "block-cursor-foreground": "#10161f",
        "block-cursor-text-style": "none",
        "block-cursor-blurred-background": "#e7ebf1",
        "scrollbar": "#bfc4ca",
        "scrollbar-hover": "#a4abb3",
        "scrollbar-background": "#fafaf8",
        "scrollbar-background-hover": "#fafaf8",
        "scrollbar-background-active": "#fafaf8",
        "scrollbar-corner-color": "#fafaf8",
    },
)

ALIASES: Final = {"dark": DARK.name, "light": LIGHT.name}
"""Short names that the `REPO_AGENT_THEME` setting may use."""


def is_known(app: App[Any], theme: str) -> bool:
    """Whether there is a theme of that name, or one of ours that it stands for."""
    return theme in app.available_themes or theme in (*ALIASES, DARK.name, LIGHT.name)


def dress(app: App[Any], theme: str | None) -> str:
    """Choose an app's colours before its style sheet is read: a change afterwards would read it twice more.

    Args:
        app: one that is being made.
        theme: a theme's name, or "dark" or "light".

    Returns:
        The name, where there is no such theme and the dark one was taken; else nothing.
    """
    for one in (DARK, LIGHT):
        app.register_theme(one)
    wanted = ALIASES.get(theme or "dark", theme or "")
    missing = "" if wanted in app.available_themes else wanted
    chosen = app.available_themes[DARK.name if missing else wanted]
    if chosen.ansi:
        app.theme = chosen.name
        return missing
    app.set_reactive(App.theme, chosen.name)
    looks = {f"-theme-{chosen.name}": True, "-dark-mode": chosen.dark, "-light-mode": not chosen.dark}
    app.update_classes(looks, update=False)
    app.stylesheet.set_variables(app.get_css_variables())
    return missing
