"""Opens the page of each turn and searches for the sentence that explains it.

Arguments: the URL of the operator listener, the path of the browser, a JSON file, and a session. The file has a list of
trace id, sentence and, if the turn is recorded, its question. The session has the recorded turns.
"""

import json
import sys

from playwright.sync_api import expect, sync_playwright

OPERATOR, BROWSER, KINDS, SESSION = sys.argv[1:5]

with open(KINDS, encoding="utf-8") as file:
    kinds = json.load(file)
assert len(kinds) > 65, len(kinds)
faults = []
with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
    page = browser.new_page()
    page.on("pageerror", lambda error: faults.append(str(error)))
    for trace, sentence, *question in kinds:
        page.goto(f"{OPERATOR}/console#/turn/{trace}")
        expect(page.locator("dd", has_text=trace)).to_be_visible()
        why = page.locator("h2", has_text="Why").locator("xpath=following-sibling::*[1]").inner_text()
        if sentence not in why:
            faults.append(f"{sentence!r} is missing in {why!r}")
        for text in question:
            expect(page.locator(".question")).to_have_text(text)
            expect(page.locator("summary", has_text="Whole request")).to_be_visible()
    page.goto(f"{OPERATOR}/console#/session/{SESSION}")
    thread = page.locator("ol.thread")
    for text in ["Is Amber free?", "Is Red free?", "Is Blue free?", "Is Cyan free?", "Chat: yes.", "Responses: yes.", "Messages: yes."]:
        expect(thread).to_contain_text(text)
    expect(thread).not_to_contain_text("thinking")
    browser.close()
assert not faults, "\n".join(faults)
print("no fault")
