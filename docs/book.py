#!/usr/bin/env python3
"""Checks the documentation, and builds the book and llms.txt from the index in docs/README.md.

    docs/book.py check     # links, anchors, the index and llms.txt
    docs/book.py llms      # writes llms.txt
    docs/book.py build     # checks, and builds target/book/html with mdBook (`mdbook` on PATH, or MDBOOK)

The book has the pages of the repository at their places, so relative links work in both. Linked files that are not
pages are copied beside them.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
INDEX = ROOT / "docs/README.md"
LLMS = ROOT / "llms.txt"
BOOK = ROOT / "target/book"
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")
ROW = re.compile(r"^\| \[([^\]]+)\]\(([^)]+)\) \| (.+) \|$")
LARGEST_COPY = 1 << 20


def pages():
    """Returns all pages of the documentation."""
    found = [path for path in ROOT.glob("*.md")]
    for folder in ("docs", "examples", "packaging", "docker/compose"):
        found += (ROOT / folder).rglob("*.md")
    return sorted(path for path in found if "SUMMARY.md" != path.name)


def without_code(text):
    """Returns a page's text with blank code blocks and code spans, so that positions stay."""
    text = re.sub(r"^(```|~~~).*?^\1", lambda match: re.sub(r"[^\n]", " ", match.group()), text, flags=re.M | re.S)
    return re.sub(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)", lambda match: " " * len(match.group()), text)


def anchors(text):
    """Returns the anchors of a page's headings, as GitHub and mdBook name them."""
    found, is_code = set(), False
    for line in text.split("\n"):
        is_code ^= line.startswith("```")
        heading = None if is_code else re.match(r"#+ (.+)", line)
        if heading:
            title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.group(1).replace("`", ""))
            name = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
            number = 0
            while (candidate := f"{name}-{number}" if number else name) in found:
                number += 1
            found.add(candidate)
    return found


def links(path):
    """Returns the relative links of a page: the path that they name, and the anchor."""
    for match in LINK.finditer(without_code(path.read_text())):
        target, _, anchor = match.group(3).partition("#")
        if not re.match(r"[a-z]+:|//", target):
            yield (path.parent / target).resolve() if target else path, anchor, match.group(3)


def index():
    """Returns the sections of the index: (title, [(title, path, description)])."""
    sections = []
    for line in INDEX.read_text().split("\n"):
        if line.startswith("## "):
            sections.append((line[3:], []))
        elif row := ROW.match(line):
            title, target, description = row.groups()
            path = (INDEX.parent / target).resolve()
            path = path / "README.md" if path.is_dir() else path
            sections[-1][1].append((title, path, description))
    return sections


def title_of(path):
    return re.search(r"^# (.+)$", path.read_text(), re.M).group(1)


def llms():
    """Returns llms.txt (https://llmstxt.org): what the project is, and the pages of the index."""
    summary = re.search(r"^(Callwright is .+?)\n\n", (ROOT / "README.md").read_text(), re.M | re.S).group(1)
    out = ["# Callwright", "", "> " + " ".join(summary.split()), ""]
    for section, rows in index():
        out += [f"## {section}", ""]
        for _, path, description in rows:
            out.append(f"- [{title_of(path)}]({path.relative_to(ROOT)}): {re.sub(LINK, lambda link: link.group(2), description)}")
        out.append("")
    return "\n".join(out)


def check():
    """Returns what is wrong."""
    errors, known = [], {path: anchors(path.read_text()) for path in pages()}
    for path in known:
        for target, anchor, link in links(path):
            place = f"{path.relative_to(ROOT)}: {link}"
            if not target.exists():
                errors.append(f"{place}: there is no such file")
            elif anchor and target in known and anchor not in known[target]:
                errors.append(f"{place}: there is no such heading")
    listed = {path for _, rows in index() for _, path, _ in rows}
    for path in sorted((ROOT / "docs").rglob("*.md")):
        if path not in listed and path != INDEX and not path.is_relative_to(ROOT / "docs/benchmarks"):
            errors.append(f"{path.relative_to(ROOT)}: not in docs/README.md")
    if not errors and (not LLMS.exists() or LLMS.read_text() != llms()):
        errors.append("llms.txt: out of date: run docs/book.py llms")
    return errors


def build():
    """Assembles the source of the book, and runs mdBook."""
    source = BOOK / "src"
    shutil.rmtree(BOOK, ignore_errors=True)
    source.mkdir(parents=True)
    summary = ["# Summary", "", "[Callwright](README.md)", "[Documentation](docs/README.md)", ""]
    chapters = {ROOT / "README.md", INDEX}
    for section, rows in index():
        summary += [f"# {section}", ""]
        for _, path, _ in rows:
            if path in chapters:
                continue
            chapters.add(path)
            summary.append(f"- [{title_of(path).replace('`', '')}]({path.relative_to(ROOT)})")
            for below in sorted(path.parent.rglob("*.md")) if path.name == "README.md" and path.parent != ROOT else []:
                if below not in chapters:
                    chapters.add(below)
                    summary.append(f"  - [{title_of(below).replace('`', '')}]({below.relative_to(ROOT)})")
        summary.append("")
    others = [path for path in pages() if path not in chapters]
    if others:
        summary += ["# Further pages", ""] + [f"- [{title_of(path).replace('`', '')}]({path.relative_to(ROOT)})" for path in others]
        chapters.update(others)
    (source / "SUMMARY.md").write_text("\n".join(summary) + "\n")
    for path in chapters:
        text = path.read_text()
        for target, _, link in links(path):
            inside = target.relative_to(ROOT) if target.is_relative_to(ROOT) else None
            if target.is_dir() or inside is None:
                # The book has no page of a folder, unless the folder has a README.md.
                replacement = f"]({link.rstrip('/')}/README.md)" if target / "README.md" in chapters else "](#)"
                text = text.replace(f"]({link})", replacement)
            elif target not in chapters and target.stat().st_size <= LARGEST_COPY:
                (source / inside).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(target, source / inside)
        to = source / path.relative_to(ROOT)
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text(text)
    subprocess.run([os.environ.get("MDBOOK", "mdbook"), "build", str(ROOT)], check=True)
    built = sum(1 for _ in (BOOK / "html").rglob("*.html"))
    if built < len(chapters):
        raise SystemExit(f"error: the book has {built} pages, but there are {len(chapters)}")
    print(f"{len(chapters)} pages in {(BOOK / 'html').relative_to(ROOT)}")


def main():
    task = sys.argv[1] if len(sys.argv) == 2 else ""
    if task == "llms":
        LLMS.write_text(llms())
    elif task in ("check", "build"):
        if errors := check():
            raise SystemExit("\n".join(errors))
        if task == "build":
            build()
    else:
        raise SystemExit(__doc__)


main()
