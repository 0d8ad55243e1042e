"""Audits every page of the console with axe-core: light and dark, wide and narrow.

Arguments: the URL of the operator listener, the path of the browser, the file of axe-core, a folder for screenshots, and
further pages besides the sections.
"""

import os
import pathlib
import sys

from playwright.sync_api import expect, sync_playwright

OPERATOR, BROWSER, AXE, PICTURES = sys.argv[1], sys.argv[2], sys.argv[3], pathlib.Path(sys.argv[4])
SECTIONS = ["overview", "turns", "sessions", "approvals", "tools", "keys", "lessons", "procedures", "policies", "shadow", "switch"]
PAGES = SECTIONS + sys.argv[5:]
README = pathlib.Path(__file__).parents[2] / "docs" / "images"
AUDIT = "axe.run(document, {resultTypes: ['violations']}).then(found => found.violations.map(violation => `${violation.id}: ${violation.nodes[0].html.slice(0, 200)} ${violation.nodes[0].failureSummary}`))"


def audit(browser, width, height, scheme):
    page = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme).new_page()
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    # Another hash of the same document does not load it again.
    page.goto(f"{OPERATOR}/console")
    expect(page.locator("main h1")).to_be_visible()
    page.evaluate(pathlib.Path(AXE).read_text(encoding="utf-8"))
    for place in PAGES:
        # The previous page must not be audited again.
        page.evaluate("document.querySelector('main').replaceChildren()")
        page.evaluate("place => { location.hash = `#/about-to-open`; location.hash = `#/${place}`; }", place)
        expect(page.locator("main h1")).to_be_visible()
        expect(page.locator("main h1")).not_to_have_text("Error")
        page.evaluate("document.querySelectorAll('main details').forEach(details => details.open = true)")
        found = page.evaluate(AUDIT)
        faults.extend(f"{place} {width} {scheme}: {violation}" for violation in found)
        wide = page.evaluate("document.documentElement.scrollWidth")
        if wide > width:
            faults.append(f"{place} is {wide} wide on a screen of {width}")
        name = "".join(letter if letter.isalnum() else "-" for letter in place.split("?")[0])[:40]
        page.screenshot(path=PICTURES / f"{name}-{width}-{scheme}.png", full_page=True)
    page.context.close()


def picture(browser, place, name, height):
    """Makes a picture of the README."""
    page = browser.new_context(viewport={"width": 1200, "height": height}, color_scheme="light").new_page()
    page.goto(f"{OPERATOR}/console#/{place}")
    expect(page.locator("main h1")).to_be_visible()
    page.screenshot(path=README / name)
    page.context.close()


faults = []
with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
    for width, height in [(1440, 900), (390, 844)]:
        for scheme in ["light", "dark"]:
            audit(browser, width, height, scheme)
    if os.environ.get("CALLWRIGHT_README_IMAGES"):
        # One test has a day of turns, the other a turn with recorded bodies.
        has_day = any(place.startswith("session/") for place in PAGES)
        turn = next(place for place in PAGES if place.startswith("turn/"))
        picture(browser, *(("overview", "console-overview.png", 900) if has_day else (turn, "console-turn.png", 1250)))
    browser.close()
assert not faults, "\n".join(faults)
print("no fault")
