"""Conversations with the embedded model, on its real networks."""

from __future__ import annotations

from typing import Any

import pytest

from tests.provider.local.evaluation import ask
from whence.catalogs import load_catalog
from whence.declare.toolbox import Toolbox
from whence.gate.why import judge
from whence.provider.exchange import Completion, Settings, ToolChoice
from whence.provider.local.conversation import LocalConversation
from whence.provider.local.model import LocalModel
from whence.provider.stream import ItemDone, TextDelta
from whence.shapes.item import (
    Image,
    Link,
    Message,
    StopReason,
    Text,
    ToolCall,
    ToolOutcome,
)
from whence.shapes.policy import WhyPolicy
from whence.shapes.tool import Tool

pytestmark = pytest.mark.anyio

AUTO = ToolChoice()
FILES_TOOLS = load_catalog("moollm")
FILES = Toolbox(FILES_TOOLS)
READING = ("fs.ls", "fs.read", "fs.append", "search.lexical", "terminal.run")
JOURNAL = (
    "The journal of a session is kept in a Markdown file.\n"
    "Nothing in this paragraph is of any interest to anybody who reads it.\n"
    "Every record holds a hash of the record before it, so a change by hand is noticed.\n"
    "The kitchen of the office is on the second floor, beside the stairs.\n"
    "Apples and pears grow in the garden behind the house, and they ripen in autumn.\n"
    "The old library closes at six in the evening, except on Sundays when it stays shut.\n"
    "Trains to the north leave from platform four, every half hour from early in the morning.\n"
)


def conversation(
    model: LocalModel, said: str, tools: Toolbox = FILES, choice: ToolChoice = AUTO
) -> LocalConversation:
    begun = model.converse(Settings(model.id, tool_choice=choice), tools)
    begun.add([Message.of("user", said)])
    return begun


def only_call(completion: Completion) -> ToolCall:
    (call,) = completion.calls
    assert completion.stop is StopReason.CALLS
    return call


def result(call: ToolCall, value: Any) -> list[ToolCall | ToolOutcome]:
    return [call, ToolOutcome(call.id, (Text("see the value"),), structured=value)]


@pytest.mark.requirement("local:steps")
@pytest.mark.requirement("local:quotes")
async def test_steps_are_called_one_after_the_other_and_then_quoted(local: LocalModel) -> None:
    talk = conversation(local, "read notes.txt and then list the folder archive")

    first = only_call(await ask(talk))
    talk.add(result(first, {"content": "buy bread\nand milk", "lines": 2, "truncated": False}))
    second = only_call(await ask(talk))
    talk.add(result(second, [{"name": "2024", "type": "dir"}, {"name": "a.txt", "type": "file"}]))
    last = await ask(talk)

    assert first.arguments == {
        "why": "Carry out the request “read notes.txt”, step 1 of 2", "path": "notes.txt",
    }  # fmt: skip
    assert (first.name, second.name) == ("fs_read", "fs_ls")
    assert first.id != second.id
    assert last.stop is StopReason.END
    assert last.text == (
        "read notes.txt:\nbuy bread\nand milk\n\nlist the folder archive:\n2024/\na.txt"
    )


@pytest.mark.requirement("local:steps")
async def test_each_of_several_files_is_a_step(local: LocalModel) -> None:
    talk = conversation(local, "read a.txt and b.txt")

    first = only_call(await ask(talk))
    talk.add(result(first, "one"))
    second = only_call(await ask(talk))
    talk.add(result(second, "two"))

    assert first.arguments == {
        "why": "Carry out the request “read a.txt”, step 1 of 2", "path": "a.txt",
    }  # fmt: skip
    assert second.arguments is not None
    assert second.arguments["path"] == "b.txt"
    assert (await ask(talk)).text == "read a.txt:\none\n\nread b.txt:\ntwo"


@pytest.mark.parametrize("said", ["delete README.md", "move a.txt to b.txt", "append it to a.txt"])
async def test_what_no_tool_can_do_is_not_done_with_another(local: LocalModel, said: str) -> None:
    reading = Toolbox([tool for tool in FILES_TOOLS if tool.name in READING])

    last = await ask(conversation(local, said, reading))

    assert last.calls == ()
    assert last.text.startswith(("I cannot do that", "“append it to a.txt” sounds like"))


@pytest.mark.requirement("local:steps")
async def test_a_step_that_fails_ends_the_request(local: LocalModel) -> None:
    talk = conversation(local, "read a.txt, then append 'x' to b.txt")
    call = only_call(await ask(talk))
    error = '{"error": {"code": "NOT_FOUND", "message": "no a.txt", "suggestion": "Look."}}'
    talk.add([call, ToolOutcome(call.id, (Text(error),), is_error=True)])

    last = await ask(talk)

    assert last.calls == ()
    assert "fs.read did not work: no a.txt. Look." in last.text
    assert "This was not done" in last.text


async def test_a_conversation_that_broke_off_goes_on_from_its_items(local: LocalModel) -> None:
    talk = conversation(local, "read a.txt and then list src")
    first = only_call(await ask(talk))

    again = conversation(local, "read a.txt and then list src")
    again.add(result(first, {"content": "x", "lines": 1, "truncated": False}))
    second = only_call(await ask(again))

    assert second.name == "fs_ls"
    assert second.id != first.id


@pytest.mark.requirement("local:quotes")
async def test_a_question_about_a_document_is_answered_by_its_sentence(local: LocalModel) -> None:
    talk = conversation(local, "What does guide.md say about changes by hand?")
    call = only_call(await ask(talk))
    talk.add(result(call, {"content": JOURNAL, "lines": 7, "truncated": False}))

    last = await ask(talk)

    assert last.text == (
        "“Every record holds a hash of the record before it, so a change by hand is noticed.” "
        "(guide.md:3)"
    )


@pytest.mark.requirement("local:quotes")
async def test_what_no_sentence_answers_is_not_known(local: LocalModel) -> None:
    talk = conversation(local, "What does guide.md say about quantum physics?")
    call = only_call(await ask(talk))
    talk.add(result(call, {"content": JOURNAL, "lines": 7, "truncated": False}))

    assert (await ask(talk)).text == "I do not know: nothing in guide.md answers that."


async def test_a_document_in_the_message_is_looked_up_without_a_tool(local: LocalModel) -> None:
    talk = local.converse(Settings(local.id), Toolbox())
    question = Text("When does the library close?")
    talk.add([Message("user", (question, Text(JOURNAL)))])

    last = await ask(talk)

    assert last.text.startswith("“The old library closes at six in the evening")


async def test_small_talk_gets_an_honest_answer_in_pieces(local: LocalModel) -> None:
    talk = conversation(local, "hello, how are you?")
    progress = [one async for one in talk.answer()]

    deltas = "".join(one.text for one in progress if isinstance(one, TextDelta))
    assert deltas.startswith("I do not chat. I am a small embedded model")
    assert "- fs.read: Read file contents" in deltas
    assert isinstance(progress[-2], ItemDone)
    assert isinstance(progress[-1], Completion)
    assert progress[-1].text == deltas
    assert progress[-1].model == "local/smollm2"


async def test_what_a_tool_needs_and_nobody_said_is_asked_for(local: LocalModel) -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"minutes": {"type": "integer"}},
              "required": ["minutes"]}  # fmt: skip
    tools = Toolbox([Tool("set_timer", "Start a countdown timer", schema, None)])

    last = await ask(conversation(local, "start the countdown timer", tools))

    assert last.calls == ()
    assert "set_timer" in last.text
    assert "minutes" in last.text


@pytest.mark.parametrize("said", ["ls", "list files", "show me what files there are"])
async def test_a_listing_of_nothing_named_is_one_of_this_directory(
    local: LocalModel, said: str
) -> None:
    call = only_call(await ask(conversation(local, said)))

    assert call.name == "fs_ls"
    assert call.arguments is not None
    assert call.arguments["path"] == "."


async def test_a_question_never_leads_to_a_write(local: LocalModel) -> None:
    call = only_call(await ask(conversation(local, "What does a.txt say about the content?")))

    assert call.name == "fs_read"


@pytest.mark.parametrize(
    "said",
    ["search for " + "word " * 2000, "'" * 3000, "read \ud83d\x00", "find " + "é" * 3000,
     "search \\\" in src", "'a " * 2000],
    ids=["long", "quotes", "broken", "one-word", "signs", "open"],
)  # fmt: skip
async def test_no_request_is_too_odd_for_an_answer(local: LocalModel, said: str) -> None:
    assert (await ask(conversation(local, said))).stop in (StopReason.CALLS, StopReason.END)


async def test_nothing_asked_is_answered_too(local: LocalModel) -> None:
    talk = local.converse(Settings(local.id), FILES)
    losses = talk.add([Message("user", (Image(Link("https://example.org/a.png")),))])

    assert [loss.fate for loss in losses] == ["dropped"]
    assert (await ask(talk)).stop is StopReason.END


async def test_the_choice_of_a_tool_can_be_taken_away(local: LocalModel) -> None:
    none = conversation(local, "read a.txt", choice=ToolChoice("none"))
    forced = conversation(local, "look at a.txt", choice=ToolChoice("tool", "fs_ls"))

    assert (await ask(none)).calls == ()
    assert only_call(await ask(forced)).name == "fs_ls"


@pytest.mark.requirement("local:valid-calls")
async def test_all_kinds_of_arguments_are_filled(local: LocalModel) -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "title": {"type": "string"},
            "labels": {"type": "array", "items": {"type": "string"}},
            "state": {"enum": ["open", "closed"]},
            "urgent": {"type": "boolean"},
            "range": {
                "type": "object",
                "properties": {"first": {"type": "integer"}, "last": {"type": "integer"}},
            },
            "ratio": {"type": ["number", "null"]},
            "why": {"type": "string", "description": "Its cause"},
        },
        "required": ["title"],
    }
    tools = Toolbox([Tool("make_report", "Make a report", schema, None)])
    said = 'make an urgent report "Late trains", first 3, last 9, closed, labels rail and north'

    call = only_call(await ask(conversation(local, said, tools)))

    assert call.arguments == {
        "_why": f"Carry out the request “{said}”",
        "title": "Late trains",
        "labels": ["rail", "north"],
        "state": "closed",
        "urgent": True,
        "range": {"first": 3, "last": 9},
    }


@pytest.mark.requirement("local:why")
@pytest.mark.parametrize("said", ["read README.md", "ls", "list src", "What is in src?"])
async def test_also_the_shortest_request_gives_a_reason_that_passes(
    local: LocalModel, said: str
) -> None:
    call = only_call(await ask(conversation(local, said, choice=ToolChoice("required"))))

    assert call.arguments is not None
    plain = {key: value for key, value in call.arguments.items() if key != "why"}
    judged = judge(call.arguments["why"], WhyPolicy.STRICT, "fs.ls", plain)
    assert (judged.fault, judged.warning) == (None, None)


@pytest.mark.requirement("local:deterministic")
async def test_the_same_request_gives_the_same_call_whatever_was_asked_before(
    local: LocalModel,
) -> None:
    said = "look up the word in the file that is about the quick brown fox"
    calls = []
    for before in ("search for the word brown", "look up the word in a file", said):
        await ask(conversation(local, before))
        calls.append(only_call(await ask(conversation(local, said))))

    assert len({call.text for call in calls}) == 1
    assert len({call.id for call in calls}) == 3


def test_it_is_marked_as_one_that_must_ask() -> None:
    assert LocalModel.cautious is True
