"""A model and a GitHub on loopback, in a process of their own, so that only the client's CPU is measured.

Every turn but the last streams four calls of `list_directory`; the last one streams a report in 500 pieces.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

COMMIT = "c0ffee" + "0" * 34
CALLS = 4
REPORT_PIECES = 500
END = "The end."
"""The last piece of the report."""
DIRECTORIES = 200


def _chunk(delta: dict[str, object], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    frame = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "bench", "choices": [choice]}
    return b"data: " + json.dumps(frame).encode() + b"\n\n"


def turn_of_calls(turn: int) -> bytes:
    """The stream of one turn with calls."""
    out = [_chunk({"role": "assistant", "content": ""})]
    for i in range(CALLS):
        path = f"d{(turn * CALLS + i) % DIRECTORIES}"
        arguments = json.dumps({"owner": "octo", "repo": "bench", "path": path})
        head = {"index": i, "id": f"call_{turn}_{i}", "type": "function"}
        out.append(_chunk({"tool_calls": [{**head, "function": {"name": "list_directory", "arguments": ""}}]}))
        for start in range(0, len(arguments), 16):
            function = {"arguments": arguments[start : start + 16]}
            out.append(_chunk({"tool_calls": [{"index": i, "function": function}]}))
    return b"".join([*out, _chunk({}, "tool_calls"), b"data: [DONE]\n\n"])


def report(pieces: int = REPORT_PIECES) -> list[bytes]:
    """The stream of a report, a chunk a piece."""
    words = [*(f"word{i} " for i in range(pieces - 1)), END]
    return [*(_chunk({"content": word}) for word in words), _chunk({}, "stop"), b"data: [DONE]\n\n"]


def report_as_call(pieces: int) -> list[bytes]:
    """The same as the arguments of a call of `final_answer`, for who takes no plain text as an answer."""
    head = {"index": 0, "id": "call_last", "type": "function", "function": {"name": "final_answer", "arguments": ""}}
    parts = ['{"answer":"', *(f"word{i} " for i in range(pieces)), '"}']
    deltas = [{"tool_calls": [{"index": 0, "function": {"arguments": part}}]} for part in parts]
    return [_chunk({"tool_calls": [head]}), *map(_chunk, deltas), _chunk({}, "tool_calls"), b"data: [DONE]\n\n"]


def tree() -> bytes:
    """The whole tree: some directories with some files each."""
    entries = []
    for i in range(DIRECTORIES):
        entries.append({"path": f"d{i}", "mode": "040000", "type": "tree", "sha": f"{i:040x}"})
        entries += [
            {"path": f"d{i}/f{j}.py", "mode": "100644", "type": "blob", "sha": f"{i * 100 + j:040x}", "size": 100 + j}
            for j in range(8)
        ]
    return json.dumps({"sha": COMMIT, "tree": entries, "truncated": False}).encode()


async def _serve() -> None:
    turns = int(sys.argv[1])
    pieces = int(sys.argv[2]) if len(sys.argv) > 2 else REPORT_PIECES
    streams = [turn_of_calls(turn) for turn in range(turns)]
    last, last_call = report(pieces), report_as_call(pieces)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                target = head.split(b" ", 2)[1]
                length = 0
                for line in head.lower().split(b"\r\n"):
                    if line.startswith(b"content-length:"):
                        length = int(line[15:])
                body = await reader.readexactly(length)
                if b"/chat/completions" in target:
                    turn = body.count(b'"role":"assistant"') + body.count(b'"role": "assistant"')
                    writer.write(
                        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
                    )
                    ending = last_call if b"/final_answer/" in target else last
                    for part in [streams[turn]] if turn < turns else ending:
                        writer.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
                        await writer.drain()
                    writer.write(b"0\r\n\r\n")
                else:
                    data = COMMIT.encode() if b"/commits/" in target else tree()
                    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(data) + data)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, limit=2**24)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


@contextmanager
def serving(turns: int, pieces: int = REPORT_PIECES) -> Iterator[str]:
    """The server's URL; it ends with the block.

    Args:
        turns: turns with calls before the report.
        pieces: chunks of the report.
    """
    command = [sys.executable, __file__, str(turns), str(pieces)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdin is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.stdin.close()


if __name__ == "__main__":
    asyncio.run(_serve())
