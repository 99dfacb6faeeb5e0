"""Run a set-up command, then leave what it changed in the tree as numbered pieces of a compressed tar archive.

Arguments: the command for a shell, the prefix of the pieces' names, the size of a piece, how many there may be.
The first file of the archive lists what was removed. Exit status: that of the command, or 97 when there is too much.
"""

import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time

TOO_MUCH = 97


def walk():
    """All files and links below the working directory, with their change times; folders that are empty too."""
    found = {}
    for folder, folders, files in os.walk("."):
        folders[:] = [name for name in folders if name not in (".git", "__pycache__")]
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        empty = [] if folders or files else [""]
        for name in files + links + empty:
            path = os.path.normpath(os.path.join(folder, name))
            status = os.lstat(path)
            found[path] = (status.st_ctime, status.st_size)
    found.pop(".", None)
    return found


def pack(before, after, archive):
    removed = sorted(path for path in before if path not in after and not os.path.isdir(path))
    listed = json.dumps(removed).encode()
    with tarfile.open(archive, "w:gz", compresslevel=3, format=tarfile.PAX_FORMAT) as tar:
        info = tarfile.TarInfo("removed")
        info.size = len(listed)
        tar.addfile(info, io.BytesIO(listed))
        for path in sorted(after):
            if before.get(path) != after[path]:
                tar.add(path, arcname="tree/" + path, recursive=False)


def main(command, prefix, size, most):
    before = walk()
    time.sleep(0.05)  # or a change could have the time of what was there
    done = subprocess.call(["sh", "-c", command], stdin=subprocess.DEVNULL)
    if done:
        return done if done > 0 else 128 - done
    after = walk()
    with tempfile.TemporaryDirectory() as folder:
        archive = os.path.join(folder, "archive")
        pack(before, after, archive)
        if os.path.getsize(archive) > size * most:
            sys.stderr.write("the set-up left %d MiB, compressed\n" % (os.path.getsize(archive) >> 20))
            return TOO_MUCH
        with open(archive, "rb") as source:
            for number in range(most):
                piece = source.read(size)
                if not piece:
                    break
                with open("%s%02d" % (prefix, number), "wb") as target:
                    target.write(piece)
    return 0


sys.exit(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
