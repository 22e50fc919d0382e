"""A session without a browser: Streamlit's own protocol, spoken by a program that sends what it likes."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

PATIENCE = 60.0


class Session:
    """One socket. `elements` is every element that any run has sent, `fragment` the last fragment that sent one."""

    def __init__(self, url: str, headers: Sequence[tuple[str, str]] = (), query: str = "", page: str = "triage",
                 origin: str | None = None) -> None:  # fmt: skip
        self.query, self.page = query, page
        self.elements: list[Any] = []
        self._open = connect(
            url.replace("http", "ws", 1) + "/_stcore/stream", additional_headers=list(headers), origin=origin,
            subprotocols=["streamlit"], max_size=None, open_timeout=30)  # fmt: skip
        self.pages: dict[str, str] = {}
        self.fragment = ""

    def __enter__(self) -> Session:
        self.socket: ClientConnection = self._open.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._open.__exit__(None, None, None)

    def run(self, states: Mapping[str, Any] | None = None, fragment: str = "") -> Session:
        """Ask for a run, with states of widgets by their ids, and wait for its end."""
        message = BackMsg()
        message.rerun_script.query_string = self.query
        message.rerun_script.page_script_hash = self.pages.get(self.page, "")
        message.rerun_script.page_name = "" if self.pages else self.page
        message.rerun_script.fragment_id = fragment
        for widget, value in (states or {}).items():
            state = message.rerun_script.widget_states.widgets.add()
            state.id = widget
            if isinstance(value, bool):
                state.trigger_value = value
            elif isinstance(value, str):
                state.string_value = value
            else:
                state.json_value = json.dumps(value)
        self.socket.send(message.SerializeToString())
        return self.wait()

    def wait(self) -> Session:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            message = ForwardMsg()
            message.ParseFromString(bytes(self.socket.recv(timeout=PATIENCE)))  # type: ignore[arg-type]
            kind = message.WhichOneof("type")
            if kind == "navigation":
                self.pages = {page.url_pathname: page.page_script_hash for page in message.navigation.app_pages}
            elif kind == "delta" and message.delta.WhichOneof("type") == "new_element":
                self.elements.append(message.delta.new_element)
                self.fragment = message.delta.fragment_id or self.fragment
            elif kind == "delta" and message.delta.WhichOneof("type") == "add_block":
                self.elements.append(message.delta.add_block)
            elif kind == "script_finished" and message.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN:
                return self
        raise TimeoutError("the run did not end")

    @property
    def text(self) -> str:
        """Everything that was sent, for a look whether some text is in it."""
        return "\n".join(str(element) for element in self.elements)

    def widget(self, key: str) -> str:
        """Id of the widget with a key, as the server gave it; empty where it sent none."""
        found = [word for word in self.text.replace('"', " ").split() if word.endswith(f"-{key}")]
        return found[-1] if found else ""


def refused(url: str, **how: Any) -> int:
    """Status with which the server answers a socket: 101 where it opens it."""
    try:
        with Session(url, **how):
            return 101
    except InvalidStatus as error:
        return error.response.status_code
    except ConnectionClosed:
        return 0
