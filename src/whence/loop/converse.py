"""An agent file as a conversation that is run to its answer."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from whence.declare.toolbox import Toolbox
from whence.errors import ExecutionFailed, InvalidArgs, UsageError
from whence.gate.mode import group_of
from whence.loop import compact
from whence.loop.agent_file import AgentFile
from whence.loop.budget import MAX_TURNS, Budget
from whence.loop.models import choose_model
from whence.loop.news import Compacted, Notice, Result
from whence.loop.outcomes import interrupted
from whence.loop.request import settings_of
from whence.loop.scope import Scope
from whence.loop.transcript import COMPACTED, Transcript
from whence.loop.turns import PARALLEL, Run, turn
from whence.provider.exchange import Completion, Settings, leading_system
from whence.provider.model import Conversation, Model
from whence.provider.xml import ToolProtocol, from_text, resolve_tool_protocol
from whence.provider.xml_stream import definitions_of
from whence.shapes.declaration import Config
from whence.shapes.item import Item, Message, ToolCall, ToolOutcome
from whence.shapes.json import JSONObject, JSONValue
from whence.shapes.policy import Mode

_CORRECTIONS = 2
"""How often a model may correct an answer that does not fit the agent's output schema."""


async def converse(
    file: AgentFile,
    scope: Scope,
    items: Sequence[Item],
    new: Sequence[Item],
    transcript: Transcript,
) -> Result:
    """Run a conversation to its answer.

    Args:
        file: whose settings and output schema hold.
        scope: its session has the tools.
        items: what the file says so far.
        new: what is added before the model is asked.
        transcript: where it is written.
    """
    config = file.resolved.config
    model, owned = _model(scope, config)
    try:
        talk = _Talk(file, scope, model, transcript)
        talk.begin(items, new)
        completion = await talk.to_answer()
        value = await talk.fitting(completion)
    finally:
        if owned:
            await model.aclose()
    budget = scope.budget
    return Result(talk.answer, value, budget.taken, budget.spent, scope.session.id, model.id)


def budget_of(config: Config, max_turns: int | None, parent: Budget | None = None) -> Budget:
    """What a file allows its run; a caller's number of turns comes before the file's."""
    limits = config.budget
    return Budget(
        turns=max_turns or config.max_turns or MAX_TURNS,
        tokens=limits.tokens if limits else None,
        seconds=limits.seconds if limits else None,
        dollars=limits.dollars if limits else None,
        parent=parent,
    )


def in_mode(toolbox: Toolbox, mode: Mode | None) -> Toolbox:
    """The tools that a mode leaves: what it does not have, the model is not shown."""
    if mode is None:
        return toolbox
    kept = [tool.tool for tool in toolbox if group_of(tool.tool) in (None, *mode.groups)]
    return Toolbox(kept)


def settled(items: Sequence[Item]) -> list[ToolOutcome]:
    """Outcomes for the calls that a run which broke off has left without one."""
    answered = {item.call_id for item in items if isinstance(item, ToolOutcome)}
    return [
        interrupted(item, "the run ended before it was done")
        for item in items
        if isinstance(item, ToolCall) and item.id and item.id not in answered
    ]


def _role(mode: Mode | None) -> tuple[Message, ...]:
    return (Message.of("system", mode.role),) if mode and mode.role else ()


def _model(scope: Scope, config: Config) -> tuple[Model, bool]:
    """The model, and whether this conversation has to let go of it."""
    above = scope.model
    if above is not None and (scope.named_model or config.model in (None, above.id)):
        return above, False
    model, notice = choose_model(scope.named_model, config.model, scope.workspace, scope.environ)
    if notice is not None:
        scope.emit(Notice(notice, scope.parent))
    return model, True


class _Talk:
    """One conversation with one model, from its first request to its answer."""

    def __init__(self, file: AgentFile, scope: Scope, model: Model, transcript: Transcript) -> None:
        self._file = file
        self._scope = scope
        self._model = model
        self._transcript = transcript
        self._tools = in_mode(scope.session.toolbox, scope.session.policy.mode)
        self._xml = False
        self._system: tuple[Message, ...] = ()
        self._settings = Settings(model.id)
        self._run: Run
        self.answer = ""

    def begin(self, items: Sequence[Item], new: Sequence[Item]) -> None:
        """Give the model what was said; write into the transcript what is new."""
        config = self._file.resolved.config
        definitions = definitions_of(self._tools)
        protocol = resolve_tool_protocol(config.protocol, items, definitions)
        self._xml = protocol is ToolProtocol.XML
        told = from_text(items, definitions) if self._xml else tuple(items)
        spoken, rest = leading_system(told)
        self._system = (*_role(self._scope.session.policy.mode), *spoken)
        self._settings = settings_of(self._file, self._system, self._model.id)
        self._transcript.words = definitions if self._xml else None
        self._run = Run(
            self._open(), self._scope.session, self._transcript, self._scope.budget,
            self._scope.emit, [], parallel=self._parallel(config), parent=self._scope.parent,
        )  # fmt: skip
        self._scope.run = self._run
        self._tell(rest)
        self._run.add([*settled(rest), *new])
        if not any(isinstance(item, Message | ToolOutcome) for item in self._run.items):
            raise UsageError(
                f"{self._file.path} asks nothing", "Give it an input, or write one after <user>."
            )

    def _parallel(self, config: Config) -> int:
        wanted = self._scope.parallel or PARALLEL
        return wanted if config.parallel_tool_calls else 1

    def _open(self) -> Conversation:
        return self._model.converse(self._settings, self._tools, xml=self._xml)

    def _tell(self, items: Sequence[Item]) -> None:
        """Items that the transcript has already."""
        self._run.items += items
        for loss in self._run.conversation.add(items):
            self._scope.emit(Notice(str(loss), self._scope.parent))

    async def to_answer(self) -> Completion:
        """Turn by turn."""
        while True:
            try:
                completion = await turn(self._run)
            except InvalidArgs as error:
                if error.details.get("too_long") and await self._compact():
                    continue
                raise
            if self._scope.budget.price_unknown:
                self._say_price_is_unknown()
            if completion is not None:
                self.answer = completion.text
                return completion
            if self._run.context_tokens >= self._scope.compact_at:
                await self._compact()

    async def fitting(self, completion: Completion) -> JSONValue:
        """The answer as a value of the agent's output schema, corrected by the model if need be."""
        schema = self._file.resolved.interface.output_schema
        if schema is None:
            return None
        for _ in range(_CORRECTIONS):
            value, problem = read_output(completion.text, schema)
            if not problem:
                return value
            self._run.add([Message.of("user", problem)])
            completion = await self.to_answer()
        value, problem = read_output(completion.text, schema)
        if problem:
            raise ExecutionFailed(
                f"the answer does not fit the agent's output schema: {problem}",
                "Run it again, with another model, or correct <output>.",
            )
        return value

    def _say_price_is_unknown(self) -> None:
        text = f"the price of {self._model.id} is not known: its budget in dollars cannot be kept"
        self._scope.budget.dollars = None
        self._scope.emit(Notice(text, self._scope.parent))

    async def _compact(self) -> bool:
        """Sum up what is older; False where there is nothing to be gained."""
        run = self._run
        at = compact.split(run.items, 0)
        if at == 0:
            return False
        summary = await compact.summarise(self._model, self._settings, run.items[:at])
        kept = run.items[at:]
        self._transcript.add([summary], f"{COMPACTED} {len(kept)}")
        run.items = []
        run.conversation = self._open()
        self._tell([summary, *kept])
        self._scope.emit(Compacted(at, summary.text, self._scope.parent))
        return True


def read_output(text: str, schema: JSONObject) -> tuple[JSONValue, str]:
    """The value of an answer, and what is wrong with it."""
    import jsonschema_rs

    written = text.strip().removeprefix("```json").removeprefix("```").removesuffix("```")
    try:
        value = msgspec.json.decode(written)
    except msgspec.DecodeError as error:
        return None, f"Answer with JSON alone that fits the output schema: {error}."
    validator = jsonschema_rs.Draft202012Validator(dict(schema), offline=True)
    found = next(validator.iter_errors(value), None)
    return value, f"Answer with JSON that fits the output schema: {found.message}" if found else ""
