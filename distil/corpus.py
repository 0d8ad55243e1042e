"""Texts for the teacher, without duplicates, in random order: texts of the kind that the table is used for, and texts in
the words that people use."""
import random
import re
from collections import Counter

from documents import documents, names_of, texts_of

# Shorter texts have no content, but names and phrases may be short. Longer texts are cut, because a table of tokens
# cannot learn from word order.
SHORTEST, SHORTEST_PHRASE, LONGEST = 8, 3, 240
# Maximum number of texts of each kind.
OF_DOCUMENTS, NAMES = 45_000, 16_000
# Share of characters of English text.
ENGLISH = 0.97

# Requests are made of summaries that begin with a verb, and of the names of things.
VERBS = (
    "add apply assign book calculate cancel change check close connect convert copy create delete describe disable "
    "download enable export fetch find generate get import list modify move open order pay query register remove "
    "replace reset restore retrieve return search send set show start stop submit transfer translate update upload "
    "verify view"
).split()
ACTION = re.compile("(" + "|".join(VERBS) + r")(?:e?s)? (.{2,100})", re.IGNORECASE)
ACTIONS = (
    "How do I {}?|How can I {}?|I want to {}.|Can you {} for me?|Please {}|I need to {}|Why can't I {}?|"
    "What happens if I {}?|I'm trying to {} but it doesn't work|Is it possible to {}?|"
    "I would like to {}, please help me|Could you please {}?|Help me {}|What do I need to {}?|Am I able to {}?|"
    "Do I have to {} myself?|Why does it take so long to {}?|I tried to {} but it failed|When can I {}?|"
    "Where do I go to {}?|Let's {}|Will I be charged if I {}?|How long does it take to {}?|I forgot how to {}|"
    "Hey, {} and tell me the result"
).split("|")
THINGS = (
    "Where can I find my {}?|Why is my {} wrong?|What is the {}?|I have a question about the {}.|My {} is not working|"
    "How do I change my {}?|I lost my {}, what should I do?|When will my {} arrive?|I don't recognize this {}|"
    "The {} has been declined|Why was I charged for {}?|Tell me about {}|Is there a limit on {}?|"
    "Which {} are supported?|I still haven't received the {}|Something is wrong with the {}|"
    "Can I have more than one {}?|How many {} can I have?|Why do I need a {}?|Can you recommend a good {}?|"
    "I'm looking for a {}|Give me the latest {}|What's the best {} for me?|I need information about {}|"
    "How does the {} work?|Has my {} changed?"
).split("|")
# Phrases are words between these and punctuation.
FUNCTION_WORDS = set(
    "a all also an and any are as at be but by can did do does for from had has have he her his how i if in into is it "
    "its me my no not of on only or other our she so some such than that the their them then there these they this to "
    "use used using via was we what when where which who why will with you your".split()
)
# Words of a phrase, and how often a single word and a phrase must occur.
LONGEST_PHRASE, OFTEN = 3, {1: 3, 2: 4, 3: 4}


def distinct(texts, shortest=SHORTEST):
    """Returns the distinct texts of sufficient length in English letters."""
    cut = (" ".join(text.split())[:LONGEST].strip() for text in texts)
    return list(dict.fromkeys(text for text in cut if len(text) >= shortest and sum(map(str.isascii, text)) >= ENGLISH * len(text)))


def action(summary):
    """Returns the first sentence of a summary as an imperative; `None` if it begins with no known verb."""
    found = ACTION.fullmatch(re.split(r"(?<=[.!?])\s", summary)[0].rstrip("."))
    return f"{found[1].lower()} {found[2]}" if found else None


def asked(summaries, names, chance):
    """Yields two requests for each action, and one for each thing."""
    for done in filter(None, map(action, summaries)):
        for form in chance.sample(ACTIONS, 2):
            yield form.format(done)
    for name in names:
        if name.islower() and 1 <= name.count(" ") <= 3 and name.split()[0] not in VERBS:
            yield chance.choice(THINGS).format(name)


def phrases(texts):
    """Returns the frequent words and sequences of words."""
    found = Counter()
    for text in texts:
        for part in re.split(r"[^a-z0-9 \-]+", text.lower()):
            run = []
            for word in [*part.split(), ""]:
                if word.isalpha() and word not in FUNCTION_WORDS:
                    run.append(word)
                    found.update(" ".join(run[-size:]) for size in range(1, min(LONGEST_PHRASE, len(run)) + 1))
                else:
                    run = []
    return [phrase for phrase, count in found.items() if count >= OFTEN[phrase.count(" ") + 1]]


def corpus(data, seed):
    """Returns pairs of the kind of a text and the text: texts and names of documents, requests made of them, the files
    of `texts/` and frequent phrases of all."""
    chance = random.Random(seed)
    texts, names = [], []
    for document in documents(data):
        texts.extend(texts_of(document))
        names.extend(names_of(document))
    kinds = {"documents": distinct(texts), "names": distinct(names)}
    for kind, most in (("documents", OF_DOCUMENTS), ("names", NAMES)):
        chance.shuffle(kinds[kind])
        del kinds[kind][most:]
    kinds["asked"] = distinct(asked(kinds["documents"], kinds["names"], chance))
    for path in sorted((data / "texts").glob("*.txt")):
        kinds[path.stem] = distinct(path.read_text(encoding="utf-8").splitlines(), SHORTEST_PHRASE)
    kinds["phrases"] = distinct(phrases(text for texts in kinds.values() for text in texts), SHORTEST_PHRASE)
    chosen = [(kind, text) for kind, texts in kinds.items() for text in texts]
    chance.shuffle(chosen)
    return chosen
