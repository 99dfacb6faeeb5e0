#!/bin/sh
# Renew the hashed requirements: run.txt for users, dev.txt for contributors and CI. No index or host is recorded.
set -eu
bin=$1
"$bin/python" -m pip install -q --disable-pip-version-check uv
compile() {
    "$bin/uv" pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
        --no-emit-find-links --no-header "$@"
}
compile pyproject.toml -o requirements/run.txt
compile pyproject.toml --group dev -o requirements/dev.txt
! grep -nE 'https?://|file:' requirements/*.txt
