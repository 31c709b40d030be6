from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from whence.errors import Unavailable
from whence.execute.sandbox import hidden
from whence.execute.sandbox.hidden import Veil

SECRETS = (".env", ".env.local", "key.pem", "id_rsa", ".netrc", "aws-credentials.json")


def names(paths: tuple[str, ...], root: Path) -> list[str]:
    return sorted(os.path.relpath(path, root) for path in paths)


@pytest.mark.requirement("sandbox:secrets")
def test_secrets_are_found_at_any_depth(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    for name in SECRETS:
        (tmp_path / "a" / "b" / name).touch()
    (tmp_path / "a" / "plain.txt").touch()

    found = Veil(str(tmp_path)).look()

    assert names(found.files, tmp_path) == sorted(f"a/b/{name}" for name in SECRETS)
    assert found.complete


@pytest.mark.requirement("sandbox:own-state")
def test_own_state_is_hidden_and_git_is_locked(tmp_path: Path) -> None:
    for name in (".agent/sessions", ".git/hooks", "sub/.git", "sub/.agent", ".ssh"):
        (tmp_path / name).mkdir(parents=True)

    found = Veil(str(tmp_path)).look()

    assert names(found.directories, tmp_path) == [".agent", ".ssh"]
    assert names(found.locked, tmp_path) == [".git", "sub/.git"]


def test_a_socket_is_hidden_and_a_link_is_left_to_what_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "plain").touch()
    (tmp_path / ".env").symlink_to("plain")
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(tmp_path / "s"))

        found = Veil(str(tmp_path)).look()

    assert names(found.files, tmp_path) == ["s"]


def test_patterns_add_to_what_is_hidden_and_take_away(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    for name in ("data/x.csv", ".env.example", ".env"):
        (tmp_path / name).touch()

    found = Veil(str(tmp_path), hidden=("data/*.csv",), shown=(".env.example",)).look()

    assert names(found.files, tmp_path) == [".env", "data/x.csv"]


def test_what_appears_and_goes_between_two_looks_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    veil = Veil(str(tmp_path))
    assert veil.look().files == ()

    (tmp_path / "a" / ".env").touch()
    with_it = veil.look()
    (tmp_path / "a" / ".env").unlink()
    without = veil.look()

    assert (names(with_it.files, tmp_path), without.files) == (["a/.env"], ())


def test_a_directory_that_did_not_change_is_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").mkdir()
    monkeypatch.setattr(hidden, "_SETTLED_NS", -(10**18))  # as if it had been made long ago
    veil = Veil(str(tmp_path))
    veil.look()
    read: list[str] = []
    real = os.scandir

    def scandir(path: str) -> object:
        read.append(path)
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)

    veil.look()

    assert read == []


def test_a_tree_too_large_to_be_looked_at_is_said_to_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(hidden, "_MOST_DIRECTORIES", 2)

    assert not Veil(str(tmp_path)).look().complete


@pytest.mark.requirement("sandbox:secrets")
def test_what_was_not_looked_at_is_closed_or_nothing_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
        (tmp_path / name / ".env").touch()
    monkeypatch.setattr(hidden, "_MOST_DIRECTORIES", 2)

    seen = Veil(str(tmp_path)).look()

    assert len(seen.files) == 1
    assert len(seen.directories) == 2
    assert {Path(path).name for path in (os.path.dirname(seen.files[0]), *seen.directories)} == {
        "a", "b", "c",
    }  # fmt: skip
    monkeypatch.setattr(hidden, "_MOST_CLOSED", 1)
    with pytest.raises(Unavailable, match="more than 2 directories"):
        Veil(str(tmp_path)).look()


def test_code_and_installed_packages_are_left_alone(tmp_path: Path) -> None:
    packages = tmp_path / "lib" / "site-packages" / "certifi"
    packages.mkdir(parents=True)
    for path in (packages / "cacert.pem", tmp_path / "credentials.py", tmp_path / "credentials"):
        path.touch()

    found = Veil(str(tmp_path)).look()

    assert names(found.files, tmp_path) == ["credentials"]
