#!/bin/sh
# Make the environment that the Makefile uses: missing Debian packages (as root, or by sudo), then the locked
# Python packages in a virtual environment. Quick when nothing changed.
#     setup.sh PYTHON VENV [tests]      with `tests` also what only the tests need
set -eu
python=$1 venv=$2 purpose=${3:-run}
requirements=requirements/dev.txt

missing=
command -v git >/dev/null 2>&1 || missing="$missing git"
command -v bwrap >/dev/null 2>&1 || missing="$missing bubblewrap"
command -v setpriv >/dev/null 2>&1 || missing="$missing util-linux"
"$python" -c 'import ensurepip' >/dev/null 2>&1 || missing="$missing python3-venv"
if [ "$purpose" = tests ] && command -v apt-get >/dev/null 2>&1; then # elsewhere the tests of what lacks are skipped
    set -- /usr/lib/postgresql/*/bin/initdb
    [ -x "$1" ] || command -v initdb >/dev/null 2>&1 || missing="$missing postgresql"
    command -v chromium >/dev/null 2>&1 || missing="$missing chromium"
fi
if [ -n "$missing" ]; then
    if ! command -v apt-get >/dev/null 2>&1; then
        echo "setup: install with your package manager, then try again:$missing" >&2
        exit 1
    fi
    as_root=
    [ "$(id -u)" = 0 ] || as_root=sudo
    echo "setup: installing$missing"
    $as_root apt-get update -qq
    # shellcheck disable=SC2086 # one word a package
    DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends $missing >/dev/null
fi

stamp="$venv/.experepair-setup"
want=$(cat "$requirements" pyproject.toml | sha256sum | cut -d' ' -f1)
[ "$(cat "$stamp" 2>/dev/null)" = "$want" ] && exit 0

[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
"$venv/bin/python" -m pip install -q --disable-pip-version-check --require-hashes -r "$requirements"
"$venv/bin/python" -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
echo "$want" >"$stamp"
