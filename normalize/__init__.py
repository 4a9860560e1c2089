"""Pure rules, no I/O: text rules, citation grammar and law table, payload contract, identity, analyzer.

Nothing in here imports another package of the project, opens a file of the user, or talks to a store.
"""
