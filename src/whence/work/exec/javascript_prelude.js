// Evaluated first. What it needs it keeps for itself, so that the code cannot take it away.
// Its value is called with the code, then again and again: see `turn` at the end.
(function () {
  "use strict";
  const emit = globalThis.__emit, text = globalThis.__input;
  delete globalThis.__emit;
  delete globalThis.__input;
  const { stringify, parse } = JSON;
  const evaluate = globalThis.eval;
  const OwnPromise = Promise, then = Promise.prototype.then;
  const wellFormed = String.prototype.toWellFormed;
  const timers = new Map();
  let lastTimer = 0, now = 0, due = 0, pending = false;
  let lines = 10_000, room = 2_000_000, leftOut = 0;

  const plain = (_, value) => {
    if (typeof value === "bigint" || typeof value === "symbol") return String(value);
    if (typeof value === "function") return String(value);
    if (typeof value === "number" && !Number.isFinite(value)) return String(value);
    if (value instanceof Map) return Object.fromEntries(value);
    if (value instanceof Set) return Array.from(value);
    if (value instanceof Error) return described(value);
    return value;
  };
  const described = (error) => {
    if (!(error instanceof Error)) return typeof error === "string" ? error : stringified(error);
    const [stack] = String(error.stack ?? "").trimEnd().split("\n    at eval (native)\n    at eval");
    return `${error.name}: ${error.message}` + (stack ? `\n${stack}` : "");
  };
  const named = (value) => {
    try {
      return String(value);
    } catch {
      return "[object]";
    }
  };
  const stringified = (value) => {
    try {
      return stringify(value, plain) ?? stringify(named(value));
    } catch {
      return stringify(named(value)); // it contains itself, or its own toJSON throws
    }
  };
  const shown = (value) =>
    typeof value === "string" ? value
      : value instanceof Error ? described(value) : stringified(value);
  const log = (label) => (...values) => {
    const line = label + values.map(shown).join(" "), written = stringify(line);
    room -= written.length;
    if (room < 0 || --lines < 0) leftOut++;
    else emit("L", written, wellFormed.call(line));
  };

  globalThis.console = Object.freeze({
    log: log(""), info: log(""), debug: log("debug: "), trace: log("trace: "),
    warn: log("warn: "), error: log("error: "),
  });
  globalThis.setTimeout = (callback, delay = 0, ...values) => {
    const later = Math.min(Math.max(Number(delay) || 0, 0), 0x7fffffff);
    timers.set(++lastTimer, { at: now + later, callback, values });
    return lastTimer;
  };
  globalThis.clearTimeout = (id) => void timers.delete(id);
  globalThis.input = parse(text);

  const fail = (error) => {
    const kind = error instanceof Error ? String(error.name) : "";
    const said = described(error);
    emit("E", stringify([kind, said]), wellFormed.call(`Uncaught ${said}`));
  };
  const finish = (value) => {
    if (value !== undefined) emit("R", stringified(value));
  };
  const compiles = (error) => !String(error.stack).includes("<eval>");
  const evaluated = (code) => {
    try {
      return evaluate(code);
    } catch (error) {
      // Code that returns or awaits is the body of a function, and nothing of it has run yet.
      if (!(error instanceof SyntaxError && compiles(error))) throw error;
      let body;
      try {
        body = evaluate(`(async () => {${code}\n})`);
      } catch {
        throw error;
      }
      return body();
    }
  };

  const run = (code) => {
    try {
      const value = evaluated(code);
      if (value instanceof OwnPromise) {
        pending = true;
        then.call(value, (done) => { pending = false; finish(done); },
          (error) => { pending = false; fail(error); });
      } else {
        finish(value);
      }
    } catch (error) {
      fail(error);
    }
  };
  const next = () => {
    let first = 0;
    for (const [id, timer] of timers)
      if (!first || timer.at < timers.get(first).at) first = id;
    return first;
  };
  const fire = (id) => {
    const { at, callback, values } = timers.get(id);
    timers.delete(id);
    now = Math.max(now, at);
    try {
      callback(...values);
    } catch (error) {
      fail(error);
    }
  };
  const end = () => {
    if (pending) emit("N", "");
    if (leftOut) emit("X", String(leftOut));
    return -1;
  };
  // Runs the code, or the timer that is due. Milliseconds until it wants to be called again, once
  // the jobs of promises are done; -1: never.
  return (code) => {
    if (code !== undefined) return run(code), 0;
    if (due) return fire(due), due = 0;
    due = next();
    return due ? Math.max(timers.get(due).at - now, 0) : end();
  };
})();
