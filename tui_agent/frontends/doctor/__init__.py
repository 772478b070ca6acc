"""`repo-agent-tui doctor`: what is set up, and what to do about what is not."""
