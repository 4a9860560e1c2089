"""Vector stores: one interface (`store.py`) over Qdrant's engine inside this process and over a Qdrant server.

`open_store` chooses the engine; everything else works with the `VectorStore` it returns.
"""

from pathlib import Path

from backends.vectors.store import VectorStore


def open_store(
    *,
    home: Path,
    url: str | None,
    api_key: str | None,
    timeout: float,
    lock_timeout: float,
    ca_file: Path | None = None,
) -> VectorStore:
    """Return the server at `url`, or where there is none the embedded store in `<home>/vectors`.

    `timeout` is the server's answer time in seconds, `lock_timeout` how long to wait for another process that holds an
    embedded collection, `ca_file` the certificates (PEM) to trust in place of the system's. Use it as a context
    manager, or close it. Raises StoreUnavailableError if the server cannot be reached.
    """
    if url:
        from backends.vectors.qdrant import connect

        return connect(url, api_key, timeout, ca_file)
    from backends.vectors.edge import EdgeStore

    return EdgeStore(home, lock_timeout)
