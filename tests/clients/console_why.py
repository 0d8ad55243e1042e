"""Opens the page of each turn and searches for the sentence that explains it.

Arguments: the URL of the operator listener, the path of the browser, and a JSON file: a list of pairs of trace id and
sentence.
"""

import json
import sys

from playwright.sync_api import expect, sync_playwright

OPERATOR, BROWSER, KINDS = sys.argv[1:4]

with open(KINDS, encoding="utf-8") as file:
    kinds = json.load(file)
assert len(kinds) > 65, len(kinds)
faults = []
with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
    page = browser.new_page()
    page.on("pageerror", lambda error: faults.append(str(error)))
    for trace, sentence in kinds:
        page.goto(f"{OPERATOR}/console#/turn/{trace}")
        expect(page.locator("dd", has_text=trace)).to_be_visible()
        why = page.locator("h2", has_text="Why").locator("xpath=following-sibling::*[1]").inner_text()
        if sentence not in why:
            faults.append(f"{sentence!r} is missing in {why!r}")
    browser.close()
assert not faults, "\n".join(faults)
print("no fault")
