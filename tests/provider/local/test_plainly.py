"""What requests say plainly: commands, pairs, lists, yes and no, several files."""

from __future__ import annotations

from typing import Any

import pytest

from whence.declare.toolbox import Mounted, Toolbox
from whence.provider.local import commands, paths, plainly, verbs
from whence.provider.local.lists import take_list
from whence.provider.local.pairs import take_pairs
from whence.provider.local.plainly import Known
from whence.provider.local.plan import steps_of
from whence.provider.local.slots import Slot, name_words, slots_of
from whence.provider.local.spread import spread
from whence.shapes.tool import Tool

TEXT: dict[str, Any] = {"type": "string"}
PATH: dict[str, Any] = {"type": "string", "description": "File to read"}
LIST: dict[str, Any] = {"type": "array", "items": TEXT}


def mounted(name: str = "tool", **properties: dict[str, Any]) -> Mounted:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
    }
    (made,) = Toolbox([Tool(name, "A tool", schema, None)])
    return made


def slot(name: str, schema: dict[str, Any]) -> Slot:
    (made,) = slots_of(mounted("tool", **{name: schema}))
    return made


@pytest.mark.requirement("local:spans")
@pytest.mark.parametrize(
    ("request_text", "line"),
    [
        ("run npm install", "npm install"),
        ("please run pytest -x tests/unit.", "pytest -x tests/unit"),
        ("execute `yarn build` in the folder web", "yarn build"),
        ('run echo "hello world"', 'echo "hello world"'),
        ("run ls -la in /tmp/data", "ls -la"),
        ("whats the output of df -h?", "df -h"),
        ("run the command uname -a please", "uname -a"),
        ("rm -rf build", "rm -rf build"),
        ("git log --oneline", "git log --oneline"),
        ("run the tests", None),
        ("delete a.txt", None),
    ],
    ids=str,
)
def test_a_command_is_what_stands_behind_run(request_text: str, line: str | None) -> None:
    said = commands.said_command(Known.of(request_text), elsewhere=True)

    assert (said.line if said else None) == line


@pytest.mark.parametrize("filling", [" ", ", ", "(", "a -", "1. ", "/", "\n"])
def test_long_runs_of_one_sign_are_read_in_no_time(filling: str) -> None:
    said = f"run x{filling * 20_000}y"

    assert steps_of(said, ())
    commands.said_command(Known.of(said), elsewhere=True)


def test_a_command_is_cut_into_words_as_a_shell_would() -> None:
    assert commands.words_of("grep -r 'a b' src") == ["grep", "-r", "a b", "src"]
    assert commands.words_of("echo it's") == ["echo", "it's"]


@pytest.mark.requirement("local:spans")
@pytest.mark.parametrize(
    ("request_text", "old", "new"),
    [
        ("change 'localhost' to '0.0.0.0' in a.py", "localhost", "0.0.0.0"),
        ("replace every foo with bar in a.py", "foo", "bar"),
        ("in a.ini change \"debug = true\" to \"debug = false\"", "debug = true", "debug = false"),
        ("fix the typo recieve -> receive in a.md", "recieve", "receive"),
        ("rename getUser in api.ts to fetchUser", "getUser", "fetchUser"),
        ("please change hello world to good day", "hello world", "good day"),
        ("I want to change 80 to 8080", "80", "8080"),
    ],
    ids=str,
)  # fmt: skip
def test_what_is_changed_stands_before_what_it_becomes(
    request_text: str, old: str, new: str
) -> None:
    known = Known.of(request_text)
    take_pairs(slots_of(mounted(new_string=TEXT, old_string=TEXT)), known)

    assert known.values == {("old_string",): old, ("new_string",): new}


@pytest.mark.parametrize(
    "request_text",
    ["5 km in miles", "how many miles are 5 km?", "convert 5 km to miles", "what is 5 km in miles"],
)
@pytest.mark.parametrize("unit", [TEXT, {"enum": ["miles", "km"]}], ids=["text", "choice"])
def test_what_is_converted_stands_behind_its_number(
    request_text: str, unit: dict[str, Any]
) -> None:
    known = Known.of(request_text)
    take_pairs(slots_of(mounted(to_unit=unit, from_unit=unit)), known)

    assert known.values == {("from_unit",): "km", ("to_unit",): "miles"}


@pytest.mark.parametrize(
    ("request_text", "values"),
    [
        ("put bread, red wine and a bag of rice on the shopping list",
         ["bread", "red wine", "bag of rice"]),
        ("add rice to my list", ["rice"]),
        ("shopping list: soap, candles", ["soap", "candles"]),
        ("add it to the shopping list", None),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_things_that_are_counted_up_are_parted_by_commas_and_ands(
    request_text: str, values: list[str] | None
) -> None:
    tool, known = mounted("add_to_shopping_list", items=LIST), Known.of(request_text)
    take_list(slots_of(tool)[0], known, name_words(tool.name))

    assert known.values.get(("items",)) == values


def test_arguments_of_a_program_are_single_words() -> None:
    known = Known.of("run make with the targets lint and test")
    take_list(slot("arguments", LIST), known, ["make"])

    assert known.values == {("arguments",): ["lint", "test"]}


@pytest.mark.parametrize(
    ("name", "request_text", "said"),
    [
        ("locked", "lock the door", True),
        ("locked", "please unlock the door", False),
        ("enabled", "turn it on", True),
        ("enabled", "disable it", False),
        ("recursive", "list src", False),
        ("recursive", "list src recursively", True),
        ("replace_all", "replace a by b", False),
        ("replace_all", "replace all a by b", True),
    ],
)
def test_yes_needs_a_word_for_it(name: str, request_text: str, said: bool) -> None:
    assert plainly.said_truth(slot(name, {"type": "boolean"}), Known.of(request_text)) is said


@pytest.mark.requirement("local:steps")
@pytest.mark.parametrize(
    ("properties", "request_text", "parts"),
    [
        ({"path": PATH}, "show a.txt, b.txt and c.txt", ["show a.txt", "show b.txt", "show c.txt"]),
        ({"path": PATH}, "list src and docs", ["list src", "list docs"]),
        ({"path": PATH}, "list files and folders in src", ["list files and folders in src"]),
        ({"path": PATH, "text": TEXT}, "append 'x' to a.txt and b.txt",
         ["append 'x' to a.txt", "append 'x' to b.txt"]),
        ({"src": PATH, "dst": PATH}, "copy a.txt and b.txt to old/",
         ["copy a.txt to old/", "copy b.txt to old/"]),
        ({"src": PATH, "dst": PATH}, "compare a.txt and b.txt", ["compare a.txt and b.txt"]),
        ({"path": PATH, "more": LIST}, "pack a.txt and b.txt", ["pack a.txt and b.txt"]),
        ({"text": TEXT}, "post a.txt and b.txt", ["post a.txt and b.txt"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_several_paths_are_several_calls_of_a_tool_that_takes_one(
    properties: dict[str, Any], request_text: str, parts: list[str]
) -> None:
    assert spread(request_text, mounted(**properties)) == parts


@pytest.mark.parametrize(
    ("request_text", "inside"),
    [
        ("whats in src", True),
        ("What files are here?", True),
        ("which files are in test/data?", True),
        ("show me the files in build", True),
        ("what is in LICENSE", False),
        ("which files mention os?", False),
    ],
)
def test_what_a_folder_has_in_it_is_asked_in_many_ways(request_text: str, inside: bool) -> None:
    assert paths.asks_inside(Known.of(request_text)) is inside


def test_a_file_takes_the_place_of_a_folder_only_where_something_is_in_it() -> None:
    folder = slot("dir", {"type": "string", "description": "Directory to search"})

    def found(said: str) -> list[str]:
        known = Known.of(said)
        return [known.pieces[index].text for index in paths.shaped_paths(folder, known)]

    assert found("search for x in README.md") == ["README.md"]
    assert found("find settings.json below src/") == ["src/"]
    assert found("grep for os.path in src/lib") == ["src/lib"]


def test_a_count_is_no_beginning() -> None:
    known = Known.of("the first 20 lines of a.log")

    assert plainly.said_numbers(slot("offset", {"type": "integer"}), known) == []
    assert plainly.said_numbers(slot("count", {"type": "integer"}), known) == [(20, 2)]


def test_names_of_things_in_the_name_of_a_tool_are_no_verbs() -> None:
    assert verbs.done_by(Tool("read_file", "Reads it", {}, None)) == {"read"}
    assert verbs.done_by(Tool("find_and_replace", "Does it", {}, None)) == {"search", "replace"}
    assert verbs.wanted(["in", "change", "to"]) >= {"replace"}
    assert verbs.wanted(["look", "at"]) == {"read"}
