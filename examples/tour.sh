#!/bin/sh
# A tour of real calls through the gate, in a workspace of its own.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
whence="$here/.venv/bin/whence"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export WHENCE_SESSION=tour

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
run() { printf '$ whence %s\n' "$*"; "$whence" "$@" || printf '(exit %s)\n' "$?"; }

say 'A file is written; the call says why.'
run call fs.write '{"path": "greet.py", "content": "print(\"hello\")\n", "why": "Give the tour a program to change"}'

say 'A call without a reason goes nowhere.'
run call fs.read '{"path": "greet.py"}'

say 'Arguments may be YAML, and its comments are remembered.'
printf '$ whence call fs.patch <<YAML\n'
"$whence" call fs.patch <<'YAML'
path: greet.py
# the tests expect a name in the greeting
diff: |
  @@ -1 +1 @@
  -print("hello")
  +print("hello, whence")
why: Make the greeting name who it greets
YAML

say 'The workspace is a wall.'
run call fs.read '{"path": "/etc/passwd", "why": "See who lives here"}'

say 'Which rule decides, and what would change it?'
run explain fs.read '{"path": "/etc/passwd", "why": "See who lives here"}'

say 'Why did greet.py change?'
run log why greet.py

say 'Has anybody touched the log?'
run log verify

say 'Now somebody does.'
sed -i 's/name who it greets/name nobody/' .agent/sessions/tour/session-log.md
run log verify
