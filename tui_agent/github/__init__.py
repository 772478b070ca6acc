"""GitHub REST v3: names of repositories, requests, the snapshot, bytes to text."""
