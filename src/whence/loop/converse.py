"""An agent file as a conversation that is run to its answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial, reduce

from whence.errors import ExecutionFailed, InvalidArgs, UsageError
from whence.loop.agent_file import AgentFile
from whence.loop.caution import cautious
from whence.loop.compact import KEPT, shorten
from whence.loop.conversation import broke_off
from whence.loop.models import choose_model
from whence.loop.news import Result
from whence.loop.output import read_output
from whence.loop.request import in_mode, opening, settings_of
from whence.loop.scope import Scope
from whence.loop.transcript import Transcript
from whence.loop.turns import PARALLEL, Run, answer_calls, ask
from whence.provider.exchange import Completion, Settings, ToolChoice
from whence.provider.model import Model
from whence.provider.xml_stream import definitions_of
from whence.shapes.declaration import Config
from whence.shapes.item import Item, Message, StopReason
from whence.shapes.json import JSONValue

_CORRECTIONS = 2
"""How often a model may correct an answer that does not fit the agent's output schema."""
_UNKEPT = {
    "dollars": "the price of {} is not known: a budget in dollars cannot be kept",
    "tokens": "{} does not say how many tokens it uses: a budget of tokens cannot be kept",
}
_GO_ON = "Your last answer broke off. Go on where it ended."


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
    model, owned = _model(scope, file.resolved.config)
    scope.session = cautious(scope.session, model)
    try:
        run, settings = _begin(file, scope, model, items, new, transcript)
        answer = _Answer(run, model, settings, scope.compact_at)
        value = await answer.fitting(file)
    finally:
        if owned:
            await model.aclose()
    budget = scope.budget
    return Result(
        answer.text, value, budget.taken, budget.spent, scope.session.id, model.id, answer.stop
    )


def _model(scope: Scope, config: Config) -> tuple[Model, bool]:
    """The model, and whether this conversation has to let go of it."""
    above = scope.model
    if not scope.depth or scope.named_model or config.model in (None, above.id):
        return above, False
    model, notice = choose_model(scope.named_model, config.model, scope.workspace, scope.environ)
    if notice is not None:
        scope.say(notice)
    return model, True


def _begin(
    file: AgentFile,
    scope: Scope,
    model: Model,
    items: Sequence[Item],
    new: Sequence[Item],
    transcript: Transcript,
) -> tuple[Run, Settings]:
    """Give the model what was said; write into the transcript what is new."""
    config, session = file.resolved.config, scope.session
    allowed = reduce(in_mode, session.policy.ceiling, session.toolbox)
    opened = opening(config, allowed, session.policy.mode, items)
    settings = settings_of(file, opened.system, model.id)
    if scope.parallel == 1:
        settings = replace(settings, tool_choice=ToolChoice(parallel=False))
    transcript.words = definitions_of(opened.tools) if opened.xml else None
    run = Run(
        partial(model.converse, settings, opened.tools, xml=opened.xml), session, transcript,
        scope.budget, scope.emit, scope.steering, opened.system,
        parallel=(scope.parallel or PARALLEL) if config.parallel_tool_calls else 1,
        parent=scope.parent,
    )  # fmt: skip
    scope.run = run
    for note in opened.said.notes:
        run.say(note)
    run.tell(opened.said.items)
    transcript.add(opened.said.closed)
    run.add([*new, *run.heard()])
    _check_asked(file, run)
    return run, settings


def _check_asked(file: AgentFile, run: Run) -> None:
    """There must be something to answer: a question, an outcome, an answer that broke off."""
    last = run.items[-1] if run.items else None
    if isinstance(last, Message) and last.role == "assistant":
        if broke_off(file):
            run.add([Message.of("user", _GO_ON)])
            return
        last = None
    if last is None:
        raise UsageError(
            f"{file.path} asks nothing", "Give it an input, or write one after <user>."
        )


class _Answer:
    """What a run comes to, turn by turn."""

    def __init__(self, run: Run, model: Model, settings: Settings, compact_at: int) -> None:
        self._run = run
        self._model = model
        self._settings = settings
        self._compact_at = compact_at
        self.text = ""
        self.stop = StopReason.END

    async def fitting(self, file: AgentFile) -> JSONValue:
        """The answer as a value of the agent's output schema, corrected by the model if need be."""
        await self._reach()
        schema = file.resolved.interface.output_schema
        if schema is None:
            return None
        value, problem = read_output(self.text, schema)
        for _ in range(_CORRECTIONS):
            if not problem:
                return value
            self._run.add([Message.of("user", problem)])
            await self._reach()
            value, problem = read_output(self.text, schema)
        if problem:
            raise ExecutionFailed(
                f"the answer does not fit the agent's output schema: {problem}",
                "Run it again, with another model, or correct <output>.",
            )
        return value

    async def _reach(self) -> None:
        """Turn by turn to an answer that makes no calls."""
        self.text = ""
        while True:
            completion = await self._ask()
            self.text += completion.text or completion.refusal
            if completion.calls or self._run.steering:
                self.text = ""
                await answer_calls(self._run, completion.calls)
                if self._run.context_tokens >= self._compact_at:
                    await self._shorten(KEPT)
            elif completion.stop is not StopReason.PAUSE:
                self._end(completion)
                return

    async def _ask(self) -> Completion:
        """The next answer; a conversation that is too long for the model is summed up first."""
        kept = KEPT
        while True:
            try:
                completion = await ask(self._run)
            except InvalidArgs as error:
                if not error.details.get("too_long"):
                    raise
                while kept and not await self._shorten(kept):
                    kept //= 2
                if not kept:
                    raise
                kept //= 2
            else:
                self._say_what_is_unknown()
                return completion

    async def _shorten(self, kept: int) -> bool:
        return await shorten(self._run, self._model, self._settings, kept)

    def _end(self, completion: Completion) -> None:
        self.stop = StopReason.REFUSAL if completion.refusal else completion.stop
        if self.stop is StopReason.LENGTH:
            self._run.say("the answer is cut off: it reached its limit of tokens (max_tokens)")
        elif self.stop is StopReason.REFUSAL:
            self._run.say("the model declined to answer")
        elif not self.text.strip():
            self._run.say("the model has answered nothing")

    def _say_what_is_unknown(self) -> None:
        for what in self._run.budget.unkept():
            self._run.say(_UNKEPT[what].format(self._model.id))
