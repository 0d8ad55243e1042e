"""Catalogues in the layouts of vendors. Each function returns the text of a file."""
import csv
import html
import io
import json

# Quantities whose numbers look like codes of a catalogue.
LIMITS = ["Items on a page", "Requests in an hour", "Bytes of a body", "Characters of a note", "Days of retention", "Open streams"]


def noise(rng, codes):
    """Returns sections whose numbers look like codes: limits, prices, dates, ranges."""
    some = rng.sample(codes, 18)
    limits = [(name, str(some[at])) for at, name in enumerate(LIMITS)]
    changes = [f"{2015 + at}-0{1 + at}-1{at}: {rng.choice(['raised', 'lowered', 'set'])} a limit to {code}." for at, code in enumerate(some[6:12])]
    prose = [f"Codes between {min(some)} and {max(some)} come from the service itself.",
             f"A batch has {some[12]} rows at most, and {some[13]} where compression is on.",
             f"Since 2019 the answer to {some[14]} has a link beside it."]
    return limits, changes, prose


def second_table(rng, codes, count=40):
    """Returns a table of the same numbers with another meaning."""
    reasons = ["Stream closed by the peer", "Heartbeat missed", "Frame too large", "Handshake refused", "Version not spoken",
               "Key rotated while connected", "Session taken over", "Server going down", "Text frame not UTF-8", "Too many subscriptions"]
    detail = ["Connect again at once.", "Connect again after a pause.", "Do not connect again.", "Make a new session first."]
    chosen = rng.sample(codes, count)
    return [(code, f"{rng.choice(reasons)} ({at})", rng.choice(detail)) for at, code in enumerate(chosen)]


def md_noise(rng, codes):
    limits, changes, prose = noise(rng, codes)
    rows = "\n".join(f"| {name} | {value} |" for name, value in limits)
    return (f"# Reference\n\n{' '.join(prose)}\n\n## Limits\n\n| What | Value |\n|---|---|\n{rows}\n\n## Changes\n\n"
            + "\n".join(f"- {line}" for line in changes) + "\n\n")


def md_second(second):
    rows = "\n".join(f"| {code} | {why} | {what} |" for code, why, what in second)
    return f"\n## Stream Close Codes\n\n| Code | Reason | What to do |\n|---|---|---|\n{rows}\n"


def md_table(entries, second, rng):
    rows = "\n".join(f"| {e.code} | {e.name} | {e.title}. {e.description} |" for e in entries)
    head = md_noise(rng, [e.code for e in entries])
    return f"{head}## Request Error Codes\n\n| Code | Name | Meaning |\n|---|---|---|\n{rows}\n{md_second(second)}"


def bullets(lines, mark="-"):
    return "\n".join(f"{mark} {line}" for line in lines)


def md_headings(entries, second, rng):
    parts = [md_noise(rng, [e.code for e in entries]), "## Request Error Codes\n"]
    for e in entries:
        parts.append(f"### {e.code}: {e.title}\n\n{e.description}\n\n#### Possible causes\n\n{bullets(e.causes)}\n\n"
                     f"#### Possible solutions\n\n{bullets(e.solutions)}\n")
    return "\n".join(parts) + md_second(second)


def md_headings_bold(entries, second, rng):
    parts = [md_noise(rng, [e.code for e in entries]), "## Request Error Codes\n"]
    for e in entries:
        parts.append(f"### Error {e.code}\n\n**{e.title}**\n\n{e.description}\n\n**Causes**\n\n{bullets(e.causes, '*')}\n\n"
                     f"**Solutions**\n\n{bullets(e.solutions, '*')}\n")
    return "\n".join(parts) + md_second(second)


def md_list(entries, second, rng):
    lines = bullets(f"**{e.code}** ({e.name}): {e.title}. {e.description}" for e in entries)
    return f"{md_noise(rng, [e.code for e in entries])}## Request Error Codes\n\n{lines}\n{md_second(second)}"


def md_definitions(entries, second, rng):
    lines = "\n".join(f"`{e.code}` {e.name}\n: {e.title}. {e.description}\n" for e in entries)
    return f"{md_noise(rng, [e.code for e in entries])}## Request Error Codes\n\n{lines}\n{md_second(second)}"


def plain_text(entries, second, rng):
    limits, changes, prose = noise(rng, [e.code for e in entries])
    lines = "\n".join(f"{e.code} - {e.title}\n    {e.description}\n" for e in entries)
    other = "\n".join(f"{code} - {why}\n    {what}\n" for code, why, what in second)
    return (f"REFERENCE\n=========\n\n{' '.join(prose)}\n\n" + "\n".join(f"{name}: {value}" for name, value in limits)
            + f"\n\nREQUEST ERROR CODES\n===================\n\n{lines}\n\nSTREAM CLOSE CODES\n==================\n\n{other}\n")


def page(body):
    return ("<!doctype html><html><head><title>Errors</title><script>var n = 40001;</script><style>p{margin:0}</style></head>"
            f"<body><nav><a href=/>Home</a></nav><main>{body}</main></body></html>")


def html_noise(rng, codes):
    limits, changes, prose = noise(rng, codes)
    rows = "".join(f"<tr><td>{name}<td>{value}" for name, value in limits)
    return f"<h1>Reference</h1><p>{' '.join(prose)}<h2>Limits</h2><table><tr><th>What<th>Value{rows}</table>"


def html_second(second):
    rows = "".join(f"<tr><td>{code}</td><td>{why}</td><td>{what}</td></tr>" for code, why, what in second)
    return f"<h2>Stream Close Codes</h2><table><tr><th>Code</th><th>Reason</th><th>What to do</th></tr>{rows}</table>"


def html_table(entries, second, rng):
    text = html.escape
    rows = "".join(f"<tr><td><code>{e.code}</code></td><td>{text(e.title)}</td><td><p>{text(e.description)}</p></td></tr>\n" for e in entries)
    head = html_noise(rng, [e.code for e in entries])
    table = f"<table><thead><tr><th>Code</th><th>Message</th><th>Meaning</th></tr></thead><tbody>{rows}</tbody></table>"
    return page(f"{head}<h2>Request Error Codes</h2>{table}{html_second(second)}")


def html_dl(entries, second, rng):
    text = html.escape
    items = "".join(f"<dt id=e{e.code}>{e.code} <em>{e.name}</em></dt>\n<dd><p>{text(e.title)}.</p><p>{text(e.description)}</p></dd>\n" for e in entries)
    return page(f"{html_noise(rng, [e.code for e in entries])}<h2>Request Error Codes</h2><dl>{items}</dl>{html_second(second)}")


def json_array(entries, second, rng):
    names = rng.choice([("code", "message", "description"), ("errorCode", "title", "details"), ("id", "summary", "explanation")])
    number = lambda code: int(code) if code.isdigit() else code
    row = lambda e: {names[0]: number(e.code), "name": e.name, names[1]: e.title, "log_level": "ERROR", names[2]: e.description,
                     "causes": "\n".join(e.causes), "solutions": e.solutions, "http_status": e.status}
    return json.dumps([row(e) for e in entries], indent=1)


def json_by_code(entries, second, rng):
    return json.dumps({"version": 3, "errors": {e.code: {"message": e.title, "detail": e.description} for e in entries}}, indent=1)


def csv_table(entries, second, rng):
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["Code", "Name", "Message", "Description", "HTTP status"])
    for e in entries:
        writer.writerow([e.code, e.name, e.title, e.description, e.status])
    return out.getvalue()


# File suffix of each layout, and whether it has the second table and the lists of causes.
LAYOUTS = {
    "md_table": (md_table, "md", True), "md_headings": (md_headings, "md", True), "md_headings_bold": (md_headings_bold, "md", True),
    "md_list": (md_list, "md", True), "md_definitions": (md_definitions, "md", True), "plain_text": (plain_text, "txt", True),
    "html_table": (html_table, "html", True), "html_dl": (html_dl, "html", True), "json_array": (json_array, "json", False),
    "json_by_code": (json_by_code, "json", False), "csv": (csv_table, "csv", False),
}


def md_operations(operations):
    parts = ["# Operations and their errors\n"]
    for name, description, entries in operations:
        errors = bullets(f"`{e.code}`: {e.title}" for e in entries)
        parts.append(f"## {name}\n\n{description}\n\nErrors:\n\n{errors}\n")
    return "\n".join(parts)
