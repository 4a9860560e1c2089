"""Named errors. Each message is one sentence: what happened, where, and what to do.

The command line turns an error into that sentence and its exit code; nothing else may end a command.
"""


class FundstelleError(Exception):
    """Base of every error an operator can meet; exit code 1 (failed)."""

    exit_code = 1


class UsageError(FundstelleError):
    """The call, the settings or the manifest is wrong; exit code 2."""

    exit_code = 2


class SourceError(FundstelleError):
    """A source document is missing, unreadable, or not what it claims to be."""


class ContractError(FundstelleError):
    """A payload breaks the contract (DESIGN §3); it is never written. Exit code 3."""

    exit_code = 3


class GateError(FundstelleError):
    """A safety gate (verify, prune, model identity) refused; exit code 3."""

    exit_code = 3


class LockedError(FundstelleError):
    """Another run holds the lock; exit code 4."""

    exit_code = 4


class StoreError(FundstelleError):
    """A store refused or failed a request; what it holds is known."""


class StoreUnavailableError(StoreError):
    """A store cannot be reached at all."""


class UnknownOutcomeError(StoreError):
    """A write timed out or its answer was lost: it may or may not have happened; read before trying again."""
