// Evaluated first. What it needs it keeps for itself, so that the code cannot take it away.
(function () {
  "use strict";
  const emit = globalThis.__emit, text = globalThis.__input;
  delete globalThis.__emit;
  delete globalThis.__input;
  const { stringify, parse } = JSON;
  const evaluate = globalThis.eval;
  const OwnPromise = Promise, then = Promise.prototype.then;
  const timers = new Map();
  let lastTimer = 0, now = 0;

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
    emit("L", stringify(label + values.map(shown).join(" ")));
  };

  globalThis.console = Object.freeze({
    log: log(""), info: log(""), debug: log("debug: "), trace: log("trace: "),
    warn: log("warn: "), error: log("error: "),
  });
  globalThis.setTimeout = (callback, delay = 0, ...values) => {
    timers.set(++lastTimer, { at: now + Math.max(Number(delay) || 0, 0), callback, values });
    return lastTimer;
  };
  globalThis.clearTimeout = (id) => void timers.delete(id);
  globalThis.input = parse(text);

  const fail = (error) => {
    const kind = error instanceof Error ? String(error.name) : "";
    emit("E", stringify([kind, described(error)]));
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
        emit("P", "");
        then.call(value, (done) => { emit("D", ""); finish(done); },
          (error) => { emit("D", ""); fail(error); });
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
  // Milliseconds until a timer is due; -1: there is none.
  const wait = () => {
    const id = next();
    return id ? Math.max(timers.get(id).at - now, 0) : -1;
  };
  const fire = () => {
    const id = next(), { at, callback, values } = timers.get(id);
    timers.delete(id);
    now = Math.max(now, at);
    try {
      callback(...values);
    } catch (error) {
      fail(error);
    }
  };
  Object.assign(globalThis, { __run: run, __wait: wait, __fire: fire });
})();
