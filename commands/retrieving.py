"""Search: the sources for a question."""

from typing import Annotated

import typer

import printing.retrieving as printed
from commands.opening import JsonFlag, make_the_embedder, only_collection, open_vectors, print_json
from normalize.laws import LawTable
from retrieve.search import search as search_collection

app = typer.Typer()


@app.command()
def search(
    context: typer.Context,
    question: Annotated[str, typer.Argument(help="The question, in German.")],
    collection: Annotated[
        str | None, typer.Option("--collection", "-c", help="Where to search (default: the only collection).")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-k", min=1, max=200, help="How many sources.")] = 5,
    as_json: JsonFlag = False,
) -> None:
    """Search dense and BM25 side by side and print the sources with their Fundstelle."""
    settings = context.obj.settings
    with open_vectors(settings) as store:
        name = collection or only_collection(store)
        about = store.describe(name)
        embedder = make_the_embedder(settings, about.layout.dimension if about else None)
        answer = search_collection(store, name, embedder, question, LawTable.builtin(), top_k=limit)
    if as_json:
        print_json(answer.report())
    else:
        printed.print_answer(answer)
