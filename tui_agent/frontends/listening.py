"""Where a server listens: this machine alone, unless a person says otherwise."""

from __future__ import annotations

import ipaddress
import re
import socket
from dataclasses import dataclass

from tui_agent.request import UsageError
from tui_agent.safe_text import one_line

LOOPBACK = "127.0.0.1"
_ADDRESS = re.compile(r"(?:(?P<host>\[[0-9A-Fa-f:.%]+\]|[^\[\]:/\s@]*):)?(?P<port>\d{1,5})")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An address to listen at.

    Args:
        host: a name or an address, IPv6 without brackets.
        port: 0 for any that is free.
    """

    host: str
    port: int

    def __str__(self) -> str:
        """`HOST:PORT` as it stands in a URL."""
        return f"{self._in_url(self.host)}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether nobody but this machine reaches it."""
        if self.host.lower() == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def hosts(self) -> list[str]:
        """The names and addresses by which a client may ask for it, as they stand in a `Host` header, without a port.

        Any other name is a page's own that was pointed here (DNS rebinding).
        """
        names = [LOOPBACK, "localhost", "::1", self.host]
        if self.host in ("0.0.0.0", "::"):
            own = {socket.gethostname(), socket.getfqdn()}
            for name in list(own):
                try:
                    own |= {str(found[4][0]) for found in socket.getaddrinfo(name, None)}
                except OSError:
                    continue  # a name that nobody knows
            names += sorted(own)
        return list(dict.fromkeys(map(self._in_url, names)))

    def listen(self) -> socket.socket:
        """A socket that listens there.

        Raises:
            OSError: it cannot be had.
        """
        host = LOOPBACK if self.host.lower() == "localhost" else self.host
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, self.port), family=family)

    @staticmethod
    def _in_url(host: str) -> str:
        return f"[{host}]" if ":" in host else host


def endpoint(text: str, option: str, *, allow_remote: bool) -> Endpoint:
    """The address that a text names: `HOST:PORT`, `[IPv6]:PORT`, or a port alone (`8000`, `:8000`) for this machine.

    Args:
        text: as it was typed.
        option: what it was typed behind, for complaints.
        allow_remote: whether other machines may reach it.

    Raises:
        UsageError: it is no address, or one that others reach and nobody has allowed.
    """
    match = _ADDRESS.fullmatch(text.strip())
    if match is None or int(match["port"]) > 65535:
        raise UsageError(f'{option} must be HOST:PORT or a port, such as 127.0.0.1:8000 or 8000, not "{_short(text)}".')
    found = Endpoint((match["host"] or LOOPBACK).strip("[]"), int(match["port"]))
    if not found.is_loopback and not allow_remote:
        raise UsageError(
            f"{option} {_short(text)} would let other machines in, and the server asks nobody who they are (it has no "
            "authentication of its own): whoever reaches it can read with your token and spend with your key. "
            "Leave the host out, or add --allow-remote if something in front of it decides who may."
        )
    return found


def _short(text: str) -> str:
    return one_line(text, 80)
