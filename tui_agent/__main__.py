"""`python -m tui_agent`."""

from __future__ import annotations

import sys

from tui_agent.start import main

if __name__ == "__main__":
    sys.exit(main())
