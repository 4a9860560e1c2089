"""Everything that talks to something outside: vectors, tables, embedders, and (opt-in) an LLM endpoint."""
