"""Alembic's entry: migrations run on the connection that the store hands over, in its transaction."""

from alembic import context

from experepair.memory.store.schema import VERSION_TABLE

context.configure(
    connection=context.config.attributes["connection"], version_table=VERSION_TABLE, transactional_ddl=True
)
context.run_migrations()
