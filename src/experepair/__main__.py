"""`python -m experepair` is the same as `experepair`."""

from experepair.cli.app import main

main()
