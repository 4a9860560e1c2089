"""${message}."""

import sqlalchemy as sa
from alembic import op

from normalize.errors import UsageError

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create what is absent."""
    ${upgrades if upgrades else ""}


def downgrade() -> None:
    """Refuse: nothing is ever dropped."""
    raise UsageError("Migrations never go back, since that would drop data; restore a backup instead.")
