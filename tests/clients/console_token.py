"""Uses the console of a proxy that requires the operator token.

Arguments: the URL of the operator listener, the path of the browser, the token.
"""

import sys

from playwright.sync_api import expect, sync_playwright

OPERATOR, BROWSER, TOKEN = sys.argv[1:4]


def enter(page, token):
    dialog = page.get_by_role("dialog", name="Operators' token")
    expect(dialog).to_be_visible()
    dialog.get_by_label("Token").fill(token)
    page.keyboard.press("Enter")


with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
    page = browser.new_page()
    page.goto(f"{OPERATOR}/console#/turns")
    enter(page, "wrong")
    expect(page.get_by_role("dialog")).to_contain_text("The token is wrong.")
    enter(page, TOKEN)
    expect(page.locator("h1")).to_have_text("Turns")
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.reload()
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert TOKEN not in page.content() and TOKEN not in page.url
    assert page.evaluate("localStorage.length") == 0 and page.evaluate("document.cookie") == ""
    # Another browser session does not have the token.
    other = browser.new_context().new_page()
    other.goto(f"{OPERATOR}/console")
    expect(other.get_by_role("dialog")).to_be_visible()
    browser.close()
print("no fault")
