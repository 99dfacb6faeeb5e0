"""The first schema."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make all tables."""
    op.create_table(
        "memory_meta",
        sa.Column("key", sa.String, primary_key=True),
        sa.Column("value", sa.String, nullable=False),
    )
    op.create_table(
        "memory_scope",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String, nullable=False, unique=True),
    )
    op.create_table(
        "memory_event",
        sa.Column("id", _NUMBER, primary_key=True, autoincrement=False),
        sa.Column("uid", sa.String(32), nullable=False, unique=True),
        sa.Column("scope", sa.Integer, sa.ForeignKey("memory_scope.id"), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("at", sa.String(32), nullable=False),
        sa.Column("actor", sa.String, nullable=False),
        sa.Column("lesson", _NUMBER),
        sa.Column("held", sa.Boolean, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Index("memory_event_kind", "scope", "kind"),
        sa.Index("memory_event_lesson", "lesson"),
    )
    op.create_table(
        "memory_lesson",
        sa.Column("id", _NUMBER, sa.ForeignKey("memory_event.id"), primary_key=True, autoincrement=False),
        sa.Column("scope", sa.Integer, sa.ForeignKey("memory_scope.id"), nullable=False),
        sa.Column("key", sa.String, nullable=False),
        sa.Column("issue", sa.String, nullable=False),
        sa.Column("source", sa.String(16), nullable=False),
        sa.Column("outcome", sa.String, nullable=False),
        sa.Column("verdict", sa.String(16), nullable=False),
        sa.Column("marks", sa.Integer, nullable=False),
        sa.UniqueConstraint("scope", "key"),
        sa.Index("memory_lesson_issue", "scope", "issue"),
    )
    op.create_table(
        "memory_demonstration",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("event", _NUMBER, sa.ForeignKey("memory_event.id"), nullable=False),
        sa.Column("lesson", _NUMBER, sa.ForeignKey("memory_lesson.id"), nullable=False),
        sa.Column("scope", sa.Integer, sa.ForeignKey("memory_scope.id"), nullable=False),
        sa.Column("agent", sa.String(16), nullable=False),
        sa.Column("origin", sa.String(16), nullable=False),
        sa.Column("marks", sa.Integer, nullable=False),
        sa.Column("changed", _NUMBER, nullable=False),
        sa.Index("memory_demonstration_changed", "scope", "agent", "changed"),
        sa.Index("memory_demonstration_lesson", "lesson"),
    )
    op.create_table(
        "memory_insight",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("scope", sa.Integer, sa.ForeignKey("memory_scope.id"), nullable=False),
        sa.Column("agent", sa.String(16), nullable=False),
        sa.Column("added", _NUMBER, nullable=False),
        sa.Column("revision", _NUMBER, nullable=False),
        sa.Column("writer", sa.String(32), nullable=False),
        sa.Column("used", _NUMBER, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Index("memory_insight_agent", "scope", "agent"),
    )
    op.create_table(
        "memory_use",
        sa.Column("subject", sa.String, primary_key=True),
        sa.Column("lesson", _NUMBER, sa.ForeignKey("memory_lesson.id"), primary_key=True),
        sa.Column("named", sa.Boolean, nullable=False),
        sa.Index("memory_use_lesson", "lesson"),
    )
