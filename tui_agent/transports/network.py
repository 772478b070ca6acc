"""The network as a transport, so that other transports can be put around it."""

from __future__ import annotations

import httpx


class NetworkTransport(httpx.AsyncBaseTransport):
    """Sends requests as httpx itself does, with the environment's proxies and certificates.

    A client that is given a transport of its own ignores `HTTPS_PROXY` and `NO_PROXY`; so the
    network is a whole client inside.
    """

    def __init__(self) -> None:
        self._client = httpx.AsyncClient(timeout=None, follow_redirects=False)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request; its own time-outs, if it brings any, hold."""
        return await self._client.send(request, stream=True)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()
