#!/usr/bin/env python3
"""Draws docs/images/demo.svg, the terminal picture of the README, from the output of `callwright demo`.

    docs/images/demo.py target/debug/callwright            # writes the picture
    docs/images/demo.py target/debug/callwright --check    # fails if the picture is out of date

The picture shows the first conversation, the shortest one with feedback to the model, and what follows the last
conversation, if it fits. Colours are those of the program. Times and trace ids differ between runs, so `--check`
ignores digits and hexadecimal numbers.
"""

import html
import os
import pathlib
import re
import subprocess
import sys

PICTURE = pathlib.Path(__file__).with_name("demo.svg")
COLUMNS = 100
CLOSING_LINES = 16
CHARACTER, LINE, MARGIN, TITLE_BAR = 8.4, 19, 20, 34
FOREGROUND, BACKGROUND, BAR = "#d6dbe1", "#14181d", "#1f252c"
COLOURS = {31: "#f07178", 32: "#8fd18b", 33: "#e6c570", 34: "#6cb2f0", 35: "#c792ea", 36: "#74c7d4", 90: "#8b949e"}
SGR = re.compile(r"\x1b\[([0-9;]*)m")
HEADING = re.compile(r"^ ?\d+  \S")


def run(program):
    """Returns the lines of the demo with their escape sequences."""
    environment = {**os.environ, "CLICOLOR_FORCE": "1", "COLUMNS": str(COLUMNS)}
    environment.pop("NO_COLOR", None)
    done = subprocess.run([program, "demo"], stdout=subprocess.PIPE, env=environment, check=True, text=True)
    return done.stdout.rstrip("\n").split("\n")


def plain(line):
    return SGR.sub("", line)


def selected(lines):
    """Returns the lines to show: two conversations and the end."""
    starts = [number for number, line in enumerate(lines) if HEADING.match(plain(line))]
    if not starts:
        raise SystemExit("error: the demo has no numbered conversation")
    conversations = []
    for start, following in zip(starts, [*starts[1:], len(lines)]):
        block = lines[start:following]
        # What follows the last conversation is not indented.
        end = next((number for number, line in enumerate(block[1:], 1) if line and not plain(line).startswith(" ")), len(block))
        conversations.append((block[:end], block[end:]))
    first, closing = conversations[0][0], conversations[-1][1]
    with_feedback = [block for block, _ in conversations[1:] if any("sent back" in plain(line) for line in block)]
    shown = list(first)
    if with_feedback:
        shown += min(with_feedback, key=len)
    if 0 < len(closing) <= CLOSING_LINES:
        shown += closing
    while shown and not plain(shown[-1]).strip():
        shown.pop()
    return shown


def spans(line):
    """Returns a line's text in runs of one style: (column, text, attributes)."""
    bold, dim, colour, column, runs, position = False, False, None, 0, [], 0
    for part in [*SGR.finditer(line), None]:
        text = line[position : part.start() if part else len(line)]
        if text.strip():
            style = f' fill="{colour}"' if colour else ""
            style += ' font-weight="bold"' if bold else ""
            style += ' opacity="0.62"' if dim else ""
            lead = len(text) - len(text.lstrip())
            runs.append((column + lead, text.strip(), style))
        column += len(text)
        if part:
            position = part.end()
            for code in [int(code or 0) for code in part.group(1).split(";")]:
                if code == 0:
                    bold, dim, colour = False, False, None
                elif code == 1:
                    bold = True
                elif code == 2:
                    dim = True
                elif code in COLOURS:
                    colour = COLOURS[code]
                elif 91 <= code <= 96:
                    colour = COLOURS[code - 60]
    return runs


def drawn(lines):
    shown = ["\x1b[1m$ callwright demo\x1b[0m", "", *lines]
    width = round(MARGIN * 2 + CHARACTER * max(len(plain(line)) for line in shown))
    height = TITLE_BAR + MARGIN * 2 + LINE * len(shown)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" aria-labelledby="title">',
        '<title id="title">Output of `callwright demo`: a call is repaired, another is sent back to the model and corrected</title>',
        f'<rect width="{width}" height="{height}" rx="8" fill="{BACKGROUND}"/>',
        f'<path d="M0 8a8 8 0 0 1 8-8h{width - 16}a8 8 0 0 1 8 8v{TITLE_BAR - 8}h-{width}z" fill="{BAR}"/>',
        *(f'<circle cx="{18 + 18 * number}" cy="{TITLE_BAR / 2:g}" r="5" fill="#4a535e"/>' for number in range(3)),
        f'<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, \'DejaVu Sans Mono\', monospace" font-size="14" fill="{FOREGROUND}" xml:space="preserve">',
    ]
    for number, line in enumerate(shown):
        y = TITLE_BAR + MARGIN + LINE * number + 13
        for column, text, style in spans(line):
            x, length = MARGIN + CHARACTER * column, CHARACTER * len(text)
            fit = f' textLength="{length:.1f}" lengthAdjust="spacingAndGlyphs"' if len(text) > 1 else ""
            out.append(f'<text x="{x:.1f}" y="{y}"{fit}{style}>{html.escape(text, quote=False)}</text>')
    return "\n".join([*out, "</g>", "</svg>", ""])


def comparable(picture):
    """Returns the picture without what differs between runs: numbers, and the columns that they move."""
    return re.sub(r" +", " ", re.sub(r"\b[0-9a-f]{32}\b|\d+(?:[.,]\d+)*", "0", picture))


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--check"]
    if len(arguments) != 1:
        raise SystemExit(__doc__)
    picture = drawn(selected(run(os.path.abspath(arguments[0]))))
    if "--check" not in sys.argv:
        PICTURE.write_text(picture)
    elif not PICTURE.exists() or comparable(picture) != comparable(PICTURE.read_text()):
        raise SystemExit(f"error: {PICTURE.name} is out of date: run docs/images/demo.py {arguments[0]}")


main()
