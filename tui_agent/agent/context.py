"""The conversation with the model: valid at every moment, and inside the model's window.

It only grows at its end, so that a provider's prefix cache hits; only where the window would be
overrun are tool results shortened, oldest first.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace

from tui_agent.agent.dialects import ModelTurn, TokenCount
from tui_agent.events import JsonObject
from tui_agent.tools.toolbox import CANCELLED, ToolCall

ENDLESS = 10**9
"""Tokens of a window that nothing fills."""
_SHORTENED = "This observation was shortened to fit the context window; call the tool again if you need it."


_dense = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def encode(value: JsonObject) -> str:
    """A tool's result, or a whole message, as it is sent: dense JSON, whatever text is in it."""
    dense = _dense(value)
    return dense if _encodable(dense) else json.dumps(value, separators=(",", ":"))


def well_formed(text: str) -> str:
    """Text that UTF-8 can carry: half a surrogate pair becomes a replacement character."""
    if _encodable(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _name(tool: str) -> str:
    """A tool's name as servers take it in a history (OpenAI's pattern), however the model wrote it."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", tool)[:64] or "unnamed"


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def estimate(text: str) -> int:
    """Tokens of a text, by rule of thumb: three ASCII characters or one other make one; rather too many."""
    ascii_characters = len(text.encode("ascii", "ignore"))
    return ascii_characters // 3 + (len(text) - ascii_characters) + 1


@dataclass
class Conversation:
    """The history that is sent with every request.

    Args:
        window: tokens that the model's context holds.
        overhead: tokens of the tools' schemas.
    """

    window: int
    overhead: int
    messages: list[JsonObject] = field(default_factory=list)
    encoded: list[bytes] = field(default_factory=list)
    """Each message as it is sent: encoded once, since every request repeats all of them."""
    _sizes: list[int] = field(default_factory=list)
    _whole: dict[int, JsonObject] = field(default_factory=dict)
    _scale: float = 1.0

    @property
    def tokens(self) -> int:
        """What the history holds, estimated, and set right by what the server last counted."""
        return round((sum(self._sizes) + self.overhead) * self._scale)

    def add(self, message: JsonObject) -> None:
        """Put a message at the end."""
        text = encode(message)
        self.messages.append(message)
        self.encoded.append(text.encode())
        self._sizes.append(4 + estimate(text))

    def say(self, role: str, text: str) -> None:
        """Put a system or user message at the end."""
        self.add({"role": role, "content": well_formed(text)})

    def add_turn(self, turn: ModelTurn, calls: list[ToolCall]) -> None:
        """Put the model's turn at the end.

        Args:
            turn: what it said.
            calls: its calls under the ids that this run gives them; each needs its `add_answer`.
        """
        message: JsonObject = {"role": "assistant", "content": well_formed(turn.content) or None}
        if calls:
            # DeepSeek refuses a history whose turns with calls have lost their reasoning; others refuse the field.
            if turn.echo_reasoning:
                message["reasoning_content"] = well_formed(turn.reasoning)
            message["tool_calls"] = [
                {
                    "id": call.call_id,
                    "type": "function",
                    "function": {"name": _name(call.tool), "arguments": encode(call.arguments or {})},
                }
                for call in calls
            ]
        self.add(message)

    def add_answers(self, calls: list[ToolCall], results: dict[str, JsonObject]) -> None:
        """Answer every call of the last turn, in the order of the calls; one without a result was cancelled."""
        for call in calls:
            result = results.get(call.call_id, CANCELLED)
            self.add({"role": "tool", "tool_call_id": call.call_id, "content": encode(result)})

    def say_report(self, report: str) -> None:
        """Put a report that nobody asked for here at the end, so that the next question finds it; "" is none."""
        if report:
            self.add({"role": "assistant", "content": well_formed(report)})

    def branch(self, window: int | None = None) -> Conversation:
        """A conversation that goes on from here by itself; with a window, inside that one."""
        return replace(
            self,
            window=self.window if window is None else window,
            messages=list(self.messages),
            encoded=list(self.encoded),
            _sizes=list(self._sizes),
            _whole=dict(self._whole),
        )

    @property
    def call_ids(self) -> set[str]:
        """The ids of all calls in the history."""
        return {call["id"] for message in self.messages for call in message.get("tool_calls", ())}

    @property
    def has_reasoning(self) -> bool:
        """Whether any turn brings its reasoning along."""
        return any("reasoning_content" in message for message in self.messages)

    def carry_reasoning(self, carried: bool) -> None:
        """Have every turn with calls bring its reasoning along, or none.

        A history that several models or a record have made may bring it with some turns alone. DeepSeek wants it with
        every one ("" where there is none), and others do not know the field.
        """
        for i, message in enumerate(self.messages):
            if "tool_calls" in message and ("reasoning_content" in message) is not carried:
                bare = {name: value for name, value in message.items() if name != "reasoning_content"}
                self._put(i, {**bare, "reasoning_content": ""} if carried else bare)

    @property
    def shortened(self) -> list[str]:
        """The ids of the calls whose answers stand shortened in the history."""
        return [message["tool_call_id"] for message in self._whole.values()]

    def learn(self, counted: TokenCount) -> None:
        """Set the estimate right by what the server counted for the history as it was sent."""
        raw = sum(self._sizes) + self.overhead
        if counted.prompt > 0 and raw > 0:
            self._scale = min(2.0, max(0.25, counted.prompt / raw))

    def fit(self, reserve: int) -> list[str]:
        """Shorten the oldest observations until the history and `reserve` tokens fit into the window.

        Returns:
            the ids of the calls whose answers were shortened.
        """
        room = self.window - reserve
        shortened: list[str] = []
        for i, message in enumerate(self.messages):
            if self.tokens <= room:
                break
            if message["role"] == "tool" and i not in self._whole:
                stub = encode({"ok": _ok(message["content"]), "shortened": _SHORTENED})
                if len(stub) < len(message["content"]):
                    self._whole[i] = message
                    self._put(i, {**message, "content": stub})
                    shortened.append(message["tool_call_id"])
        return shortened

    def _put(self, place: int, message: JsonObject) -> None:
        """Have another message in the place of one."""
        text = encode(message)
        self.messages[place], self.encoded[place], self._sizes[place] = message, text.encode(), 4 + estimate(text)

    def whole(self) -> list[JsonObject]:
        """The history with every observation as it was made."""
        return [self._whole.get(i, message) for i, message in enumerate(self.messages)]


def _ok(content: str) -> bool:
    return bool(json.loads(content).get("ok"))
