"""A headless Chromium for the page tests, driven over its debugging pipe: no driver and no library is needed."""

import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
PATIENCE = 30.0


def find_chromium() -> str | None:
    """Return the program, or None where there is none."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


class Page:
    """One open page."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._to, self._from = to_browser, from_browser
        self._left = b""
        self._number = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []

    def _message(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self._left:
            if not select.select([self._from], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise TimeoutError("Chromium did not answer in time")
            read = os.read(self._from, 1 << 16)
            if not read:
                raise ConnectionError("Chromium ended")
            self._left += read
        raw, self._left = self._left.split(b"\0", 1)
        message: dict[str, Any] = json.loads(raw)
        return message

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the DevTools protocol and return its result."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + PATIENCE
        while True:
            answer = self._message(deadline)
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result
            self.events.append(answer)

    def open(self, path: Path, downloads: Path) -> None:
        """Open a file as a page and wait until it is there."""
        self.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(downloads))
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.call("Page.navigate", url=path.resolve().as_uri())
        self.until("document.readyState === 'complete' && location.protocol === 'file:'")

    def value(self, expression: str) -> Any:
        """Return what a script expression says in the page."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def until(self, expression: str) -> None:
        """Wait until an expression is true."""
        deadline = time.monotonic() + PATIENCE
        while not self.value(expression):
            assert time.monotonic() < deadline, f"never true: {expression}"
            time.sleep(0.05)

    def press(self, key: str) -> None:
        """Press and release a key, as a person does."""
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, text=key if len(key) == 1 else "")
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)


@contextmanager
def open_browser(program: str, profile: Path) -> Iterator[Page]:
    """Yield a page of a fresh browser, which ends with the block."""
    down_read, down_write = os.pipe()
    up_read, up_write = os.pipe()
    options = "--headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run --remote-debugging-pipe"
    command = f'exec "$0" {options} --user-data-dir="$1" 3<&{down_read} 4>&{up_write}'
    # Descriptors 3 and 4 are the pipe's by its protocol; a shell moves ours there.
    process = subprocess.Popen(
        ["bash", "-c", command, program, str(profile)],
        pass_fds=(down_read, up_write),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(down_read)
    os.close(up_write)
    try:
        yield Page(down_write, up_read)
    finally:
        os.close(down_write)
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        os.close(up_read)
