"""A hand-written ReAct agent that explores a repository, and the dashboard in which one watches it."""

from __future__ import annotations

__version__ = "0.1.0"
