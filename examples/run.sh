#!/bin/sh
# A real agent with real tools on the embedded model, in a workspace of its own.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
whence="$here/.venv/bin/whence"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$here/docs" "$here/examples" "$here/README.md" "$work"
cp "$here/examples/assistant.chatmd" "$work"
cd "$work"
export WHENCE_SESSION=first

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
run() { printf '$ whence %s\n' "$*"; "$whence" "$@"; }

say 'An agent is a text file: settings, tools, instructions, and what was said.'
cat assistant.chatmd

say 'It runs here, without a key; every call says why.'
run run assistant.chatmd

say 'What does more than read asks first, or is allowed by a rule.'
run run assistant.chatmd 'Append "- read the manual" to notes.md' --allow 'fs.append(notes.md)'

say 'Why did notes.md change?'
run log why notes.md

say 'And what exactly? It can be taken back, too: whence log undo.'
run log diff

say 'Everything is in the journal, and nobody touched it.'
run log verify
