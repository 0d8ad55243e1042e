"""Error catalogues: generated ones, and real ones from packages with free licences."""
import collections
import gzip
import html
import json
import pathlib
import random
import re

Entry = collections.namedtuple("Entry", "code name title description causes solutions status")

SUBJECTS = """account address alias archive attachment balance batch beneficiary binding booking bucket campaign card carrier cart
certificate channel charge claim cluster contact contract conversation coupon credential customer deployment device discount dispute
document domain draft endpoint event export feed file filter folder form gateway group host image import index instance invoice item
job journal key label lease ledger licence link location mailbox mandate member membership message meter module network node note
notification number offer order outlet package page parcel partition payment payout permission phone pipeline plan policy pool port
position product profile project queue quota quote rate receipt recipient record recording refund region registration release report
request resource role route rule sandbox schedule schema scope section segment sender sensor series service session shard shipment
signature site slot snapshot source space stack statement storage stream subscription table tag task tax template tenant ticket tier
token topic trace transcript transfer trigger trunk unit upload user variant vault vendor verification version video volume voucher
wallet warehouse webhook widget window workflow workspace zone""".split()
PROPERTIES = """name format length expiry status type owner currency country language size checksum encoding amount date time zone
identifier signature scope priority parent state limit path visibility reference timestamp capacity region""".split()
FAULTS = [
    ("Invalid {s} {p}", "The {p} of the {s} that was sent is not one that the service accepts."),
    ("{S} not found", "There is no {s} with this {p}, or it belongs to another account."),
    ("{S} {p} already in use", "Another {s} has the same {p}; within one region it has to be unique."),
    ("{S} limit exceeded", "The account has as many {s} entries as its plan allows, counted by {p}."),
    ("Missing {s} {p}", "The request has no {p} for the {s}, without which it cannot be carried out."),
    ("{S} is locked", "The {s} is being changed by another request, so its {p} cannot be changed now."),
    ("{S} {p} too long", "The {p} of a {s} may not be longer than the documented number of characters."),
    ("Not permitted to change {s} {p}", "The role of the caller does not include writing the {p} of a {s}."),
    ("{S} has expired", "The {s} was valid until the {p} that was set when it was made."),
    ("Unsupported {s} {p}", "This version of the interface does not know the {p} that the {s} has."),
    ("{S} {p} mismatch", "The {p} of the {s} differs from the one that was given at its registration."),
    ("{S} delivery failed", "The {s} was accepted, but its {p} made the receiving side refuse it."),
]
CAUSES = [
    "The {s} was removed in the meantime.", "The {p} was copied with blanks around it.", "A test {s} was used with a live key.",
    "The {s} belongs to a subaccount.", "The {p} is written in lower case, which the {s} does not allow.",
    "More than {n} requests for one {s} arrived within a second.", "The {s} was made before the year {y}.",
    "An earlier call ended with {other} and left the {s} half made.",
]
SOLUTIONS = [
    "Ask for the list of every {s} and take its {p} from there.", "Wait {n} seconds and send the request again.",
    "Set the {p} as the reference of the {s} describes it.", "Where {other} comes first, mend that before anything else.",
    "Open the console and look at the {p} of the {s}.", "Remove one {s} of the {n} that are allowed.",
]


def shaped(template, rng, subject, prop, codes):
    words = {"s": subject, "S": subject.capitalize(), "p": prop, "n": rng.choice([10, 30, 60, 100, 250, 1000, rng.choice(codes)]),
             "y": rng.randint(2009, 2025), "other": f"{rng.choice(['error ', 'code ', ''])}{rng.choice(codes)}"}
    return template.format(**words)


def with_lists(code, name, title, description, status, rng, codes):
    """Returns the entry with causes and solutions, which mention other codes, quantities and years."""
    subject, prop = rng.choice(SUBJECTS), rng.choice(PROPERTIES)
    make = lambda templates, most: [shaped(text, rng, subject, prop, codes) for text in rng.sample(templates, rng.randint(1, most))]
    return Entry(code, name, title, description, make(CAUSES, 3), make(SOLUTIONS, 3), status)


def invented(rng, count=1600):
    codes = sorted(rng.sample(range(10000, 64000), count - count // 4))
    # Codes with other codes as prefixes.
    codes = sorted(set(codes) | {code // 10 for code in codes[:: 5]} | {int(f"{code}"[:4]) for code in codes[:: 17]})
    entries = []
    for code in codes:
        subject, prop = rng.choice(SUBJECTS), rng.choice(PROPERTIES)
        title, description = rng.choice(FAULTS)
        title, description = (text.format(s=subject, S=subject.capitalize(), p=prop) for text in (title, description))
        name = re.sub(r"[^A-Z]+", "_", title.upper()).strip("_")
        entries.append(with_lists(str(code), name, title, description, rng.choice([400, 400, 403, 404, 409, 422, 429]), rng, codes))
    return entries


def table_of(path, form, rng, count=1800):
    """Reads a module with a dictionary from numbers to name and message."""
    found = re.findall(r'^\s+(0x[0-9a-fA-F]+):\s*\("(\w+)",\s*"((?:[^"\\]|\\.)*)"\)', path.read_text(encoding="utf-8"), re.M)
    rows, seen = [], set()
    for number, name, message in found:
        message = " ".join(re.sub(r"\\.", " ", message).split())
        if number not in seen and len(message) > 12:
            seen.add(number)
            rows.append((form(int(number, 16)), name, message))
    rng.shuffle(rows)
    rows = sorted(rows[:count])
    codes = [code for code, _, _ in rows]
    entries = []
    for code, name, message in rows:
        title, _, rest = message.partition(". ")
        description = rest or f"Reported as {name.replace('_', ' ').lower()}."
        entries.append(with_lists(code, name, title, description, 400, rng, codes))
    return entries


def text_of(markup):
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", markup or "")).split())


def operations(folder, rng, count=60):
    """Yields operations of real services with their documented exceptions: (operation, description, entries)."""
    result = []
    models = sorted(folder.glob("*/*/service-2.json.gz"))
    for path in rng.sample(models, count):
        model = json.load(gzip.open(path))
        shapes = model["shapes"]
        for name, operation in sorted(model["operations"].items()):
            entries = []
            for error in operation.get("errors", []):
                shape = shapes[error["shape"]]
                text = text_of(error.get("documentation") or shape.get("documentation"))
                if len(text) > 20:
                    status = (shape.get("error") or {}).get("httpStatusCode", 400)
                    entries.append(Entry(error["shape"], error["shape"], text, "", [], [], status))
            if entries:
                description = text_of(operation.get("documentation"))
                result.append((f"{path.parts[-3]}.{name}", re.split(r"(?<=[.]) ", description)[0][:300], entries))
    return result


def load(name, packages, rng):
    packages = pathlib.Path(packages or ".")
    if name == "invented":
        return invented(rng)
    if name == "system":
        return table_of(packages / "impacket/system_errors.py", str, rng)
    if name == "status":
        return table_of(packages / "impacket/nt_errors.py", lambda number: f"0x{number:08X}", rng)
    if name == "result":
        return table_of(packages / "impacket/hresult_errors.py", lambda number: f"0x{number:08X}", rng)
    raise SystemExit(f"unknown source `{name}`; available: invented, system, status and result")
