"""The search as a read-only web service: the consumer's `/sdk/v1/rag/search` and the retriever's `/query`.

There is no route that writes. Requests are bounded in size and in what they may ask for; with an API key every route
but `/healthz` needs it, as `Authorization: Bearer KEY` or `X-API-Key: KEY`.
"""

import secrets
import time
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Literal

from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.responses import JSONResponse, Response
from fastapi.security import APIKeyHeader, HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel, ConfigDict, Field

from normalize.errors import FundstelleError, GateError, UsageError
from retrieve.search import Answer, SearchOptions

MOST_RESULTS = 50
MOST_BYTES = 64 * 1024
MOST_QUERY_CHARACTERS = 20_000

Find = Callable[[str | None, str, SearchOptions], Answer]
"""Search a collection (None = the default one) for a question."""


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class RagSearchRequest(_Body):
    """What the consumer asks; longer questions than 2000 characters are cut."""

    query: str = Field(min_length=1, max_length=MOST_QUERY_CHARACTERS)
    collection: str | None = Field(default=None, min_length=1, max_length=200)
    top_k: int = Field(default=5, ge=1, le=MOST_RESULTS)


class RagSearchResult(BaseModel):
    """One source with the fields of the contract's §7.1 and its source line."""

    article_label: str | None
    regulation_code: str | None
    article: str | None
    paragraph: str | None
    sub: str | None
    citation_style: str | None
    is_recital: bool
    text: str | None
    regulation_name: str | None
    regulation_short: str | None
    category: str | None
    pages: list[int] | None
    source_url: str | None
    score: float
    source: str
    also: list[str]


class RagSearchResponse(BaseModel):
    """The sources, best first; `degraded` names stages that fell short."""

    query: str
    collection: str
    results: list[RagSearchResult]
    degraded: list[str]


class Expand(_Body):
    """Over how many edges a source lifts another."""

    depth: int = Field(default=0, ge=0, le=3)


class QueryRequest(_Body):
    """What the retriever is asked (spec/retriever-scoring 5), in one of two shapes.

    The depth stands in `expand` ({"depth": 1}), or in `expand_depth` as on the command line; not in both. With
    `explain` the answer has the wordings that were searched and what each stage did.
    """

    query: str = Field(min_length=1, max_length=MOST_QUERY_CHARACTERS)
    mode: Literal["semantic", "hybrid"] = "hybrid"
    top_k: int = Field(default=10, ge=1, le=MOST_RESULTS)
    expand: Expand | None = None
    expand_depth: int | None = Field(default=None, ge=0, le=3)
    collection: str | None = Field(default=None, min_length=1, max_length=200)
    explain: bool = False

    @property
    def depth(self) -> int:
        """Over how many edges a source lifts another. Raises UsageError if the request says it twice."""
        if self.expand is not None and self.expand_depth is not None:
            raise UsageError("Give the depth in 'expand' or in 'expand_depth', not in both.")
        return self.expand.depth if self.expand is not None else self.expand_depth or 0


class QueryHit(RagSearchResult):
    """One hit with its raw scores, its rank in each list and after each stage, and the fields of the contract."""

    units: list[str]
    chunk_id: str | None
    document_id: str | None
    stage: str
    ranks: dict[str, int]
    total_score: float
    semantic_score: float
    edge_bonus: float
    centrality_bonus: float


class SearchedWording(BaseModel):
    """A wording of the question that was searched, and where it is from ("original", "table", "hyde", …)."""

    name: str
    text: str


class StageReport(BaseModel):
    """What a stage did: candidates in and out, milliseconds, and why it fell short, if it did."""

    name: str
    candidates_in: int
    candidates_out: int
    milliseconds: float
    degraded: str | None


class QueryResponse(BaseModel):
    """The hits, best first, and how long it took; `wordings` and `stages` only if the request asks to explain."""

    results: list[QueryHit]
    used_mode: Literal["semantic", "hybrid"]
    latency_ms: float
    degraded: list[str]
    wordings: list[SearchedWording] | None = None
    stages: list[StageReport] | None = None


class Fault(BaseModel):
    """What was wrong, in one sentence."""

    detail: str


_FAULTS: dict[int | str, dict[str, Any]] = {
    400: {"model": Fault, "description": "The question or the collection cannot be searched."},
    401: {"model": Fault, "description": "The API key is missing or wrong."},
    413: {"model": Fault, "description": "The request is larger than 64 KiB."},
    503: {"model": Fault, "description": "The store or the embedder does not answer."},
}


def create_app(find: Find, api_key: str | None = None) -> FastAPI:
    """Return the service over a search function; `api_key` None leaves it open."""
    app = FastAPI(title="fundstelle", version="1", description="Sources of law with their Fundstelle.")
    bearer, header = HTTPBearer(auto_error=False), APIKeyHeader(name="X-API-Key", auto_error=False)

    def admitted(
        token: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)],
        key: Annotated[str | None, Depends(header)],
    ) -> None:
        given = token.credentials if token is not None else key
        if not secrets.compare_digest((given or "").encode(), (api_key or "").encode()):
            raise HTTPException(401, "The API key is missing or wrong.", {"WWW-Authenticate": "Bearer"})

    guard = [Depends(admitted)] if api_key is not None else []

    @app.middleware("http")
    async def bounded(request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
        size = 0
        parts = []
        async for part in request.stream():
            size += len(part)
            if size > MOST_BYTES:
                return JSONResponse({"detail": f"The request is larger than {MOST_BYTES} bytes."}, 413)
            parts.append(part)
        request._body = b"".join(parts)  # what the route reads, now that the stream has been
        return await call_next(request)

    @app.exception_handler(FundstelleError)
    async def refused(_request: Request, error: FundstelleError) -> JSONResponse:
        status = 400 if isinstance(error, UsageError | GateError) else 503
        return JSONResponse({"detail": str(error)}, status)

    @app.get("/healthz")
    def healthz() -> dict[str, str]:
        """Say that the service runs."""
        return {"status": "ok"}

    @app.post("/sdk/v1/rag/search", responses=_FAULTS, dependencies=guard)
    def rag_search(body: RagSearchRequest) -> RagSearchResponse:
        """Return the sources for a question."""
        answer = find(body.collection, body.query, SearchOptions(body.top_k))
        return RagSearchResponse.model_validate(
            {"query": answer.query, "collection": answer.collection, "results": answer.results(),
             "degraded": answer.telemetry.degraded}
        )  # fmt: skip

    @app.post("/query", responses=_FAULTS, dependencies=guard)
    def query(body: QueryRequest) -> QueryResponse:
        """Return the hits for a question with their raw scores."""
        started = time.perf_counter()
        answer = find(body.collection, body.query, SearchOptions(body.top_k, body.mode, body.depth))
        hits = [_hit(fields) for fields in answer.results()]
        milliseconds = round((time.perf_counter() - started) * 1000, 3)
        told = answer.report()
        explained = {name: told[name] for name in ("wordings", "stages")} if body.explain else {}
        return QueryResponse.model_validate(
            {"results": hits, "used_mode": body.mode, "latency_ms": milliseconds, "degraded": told["degraded"]}
            | explained
        )

    return app


def _hit(found: dict[str, Any]) -> dict[str, Any]:
    """Return a result of a search in the retriever's names."""
    scores = found["scores"]
    return found | {
        "total_score": scores["total"],
        "semantic_score": scores["semantic"],
        "edge_bonus": scores["edge"],
        "centrality_bonus": scores["centrality"],
    }
