"""What the Qdrant client raises, turned into one sentence and the right kind of error.

The kinds matter more than the words: a write that was refused can be mended and sent again, one whose answer is lost
has to be read first.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import httpx
from pydantic import ValidationError
from qdrant_client import models
from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from normalize.errors import FundstelleError, StoreError, StoreUnavailableError, UnknownOutcomeError


@contextmanager
def reading(where: str, doing: str) -> Iterator[None]:
    """Turn the client's exceptions during a read into one sentence."""
    try:
        yield
    except FundstelleError:
        raise
    except (json.JSONDecodeError, ValidationError) as error:
        raise _foreign(where, doing) from error
    except ResponseHandlingException as error:
        if isinstance(error.source, ValidationError):
            raise _foreign(where, doing) from error
        raise _lost(where, error.source) or StoreUnavailableError(
            f"The Qdrant server {where} did not answer when fundstelle wanted to {doing} ({_why(error.source)}); "
            "check that it runs, or raise the time-out."
        ) from error
    except Exception as error:
        raise _refused(where, f"could not {doing}", error) from error


@contextmanager
def writing(where: str, collection: str) -> Iterator[None]:
    """Turn the client's exceptions during a write into one sentence, apart by whether the write may have happened."""
    unknown = (
        f"so it is not known whether the write to collection '{collection}' was applied; "
        "read the collection before writing again (running the same command again does that)."
    )
    try:
        yield
    except FundstelleError:
        raise
    except ResponseHandlingException as error:
        raise _lost(where, error.source) or UnknownOutcomeError(
            f"The Qdrant server {where} did not answer in time or hung up ({_why(error.source)}), {unknown}"
        ) from error
    except UnexpectedResponse as error:
        status = error.status_code or 0
        if status >= httpx.codes.INTERNAL_SERVER_ERROR or status == httpx.codes.REQUEST_TIMEOUT:
            raise UnknownOutcomeError(
                f"The Qdrant server {where} failed with status {status} ({_reason(error)}), {unknown}"
            ) from error
        raise _refused(where, f"refused to write to collection '{collection}'", error) from error
    except (json.JSONDecodeError, ValidationError, AssertionError) as error:
        raise UnknownOutcomeError(
            f"The server {where} answered with something that is not Qdrant's, {unknown}"
        ) from error
    except Exception as error:
        raise _refused(where, f"refused to write to collection '{collection}'", error) from error


def _lost(where: str, source: Exception) -> StoreUnavailableError | None:
    """Return the error for a request that never left, or None if it may have arrived."""
    if isinstance(source, httpx.ConnectError) and "CERTIFICATE_VERIFY_FAILED" in str(source):
        return StoreUnavailableError(
            f"The Qdrant server {where} shows a certificate that is not trusted ({_why(source)}); name the file of its "
            "authority in QDRANT_CA_FILE, and the server as in its certificate in QDRANT_URL."
        )
    if isinstance(source, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout | httpx.UnsupportedProtocol):
        return StoreUnavailableError(
            f"The Qdrant server {where} cannot be reached ({_why(source)}); start it, or mend QDRANT_URL, "
            "or leave it out to use the embedded store."
        )
    return None


def _foreign(where: str, doing: str) -> StoreError:
    return StoreError(
        f"The server {where} could not {doing}: its answer is not one of Qdrant's; check that QDRANT_URL leads to a "
        "Qdrant server and not to a proxy or another service."
    )


def _refused(where: str, what: str, error: Exception) -> StoreError:
    """Return the error for an answer that says no, with the server's reason."""
    if isinstance(error, UnexpectedResponse):
        if error.status_code in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN):
            return StoreError(f"The Qdrant server {where} {what}: the API key is missing or wrong; set QDRANT_API_KEY.")
        return StoreError(f"The Qdrant server {where} {what}: status {error.status_code}, {_reason(error)}.")
    if isinstance(error, ResourceExhaustedResponse):
        return StoreError(f"The Qdrant server {where} {what}: it stays too busy ({error}); run again later.")
    return StoreError(f"The Qdrant server {where} {what}: {_why(error)}.")


def _reason(error: UnexpectedResponse) -> str:
    try:
        reason = str(error.structured()["status"]["error"])
    except (ValueError, KeyError, TypeError):
        reason = error.content.decode("utf-8", "replace")[:300].strip() or error.reason_phrase
    return " ".join(reason.split()).rstrip(".")


def _why(error: Exception) -> str:
    if isinstance(error, httpx.TimeoutException):
        return "time-out"
    text = str(error).strip()
    return text.splitlines()[0].rstrip(".") if text else type(error).__name__


def check_completed(where: str, collection: str, results: Sequence[models.UpdateResult]) -> None:
    """Raise UnknownOutcomeError unless the server says of each write that it is applied."""
    open_ones = [result.status for result in results if result.status != models.UpdateStatus.COMPLETED]
    if open_ones:
        raise UnknownOutcomeError(
            f"The Qdrant server {where} answered a write to collection '{collection}' with status "
            f"'{open_ones[0].value}' instead of 'completed', so it may not be applied yet; read the collection before "
            "writing again (running the same command again does that)."
        )
