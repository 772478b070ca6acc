"""What becomes of a report: what the program adds to it, and how it leaves the program."""
