"""A repair from outside: what `experepair fix` calls, and what `experepair.repair` is."""

from __future__ import annotations
