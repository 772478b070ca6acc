"""Real servers on loopback for the tests: GitHub's REST and chat completions, with everything that goes wrong."""
