"""Opens the page of a repaired turn of a default installation, and finds out why its call was changed.

Arguments: the URL of the operator listener, the path of the browser, a folder for screenshots, and the id of the trace.
"""

import sys

from playwright.sync_api import expect, sync_playwright

OPERATOR, BROWSER, PICTURES, TRACE = sys.argv[1:5]

with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    faults = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(f"{OPERATOR}/console#/turn/{TRACE}")
    expect(page.locator(".headline")).to_contain_text("repaired")
    why = page.locator("h2", has_text="Why").locator("xpath=following-sibling::*[1]")
    for text in ["getForecast → get_forecast", "Days → days", "/days", "string → integer"]:
        expect(why).to_contain_text(text)
    expect(why).not_to_contain_text("Nothing went wrong")
    expect(page.locator("body")).not_to_contain_text("canary")
    page.screenshot(path=f"{PICTURES}/why-changed.png", full_page=True)
    page.goto(f"{OPERATOR}/console#/turns?finding=repair:tool_renamed")
    row = page.locator("tbody tr")
    expect(row).to_have_count(1)
    expect(row).to_contain_text("repaired: tool renamed")
    page.goto(f"{OPERATOR}/console#/overview")
    for table in ["Tools with the most findings", "Most frequent findings"]:
        expect(page.get_by_role("table", name=table)).to_contain_text("repaired: type converted")
    page.screenshot(path=f"{PICTURES}/overview-repairs.png", full_page=True)
    page.goto(f"{OPERATOR}/console#/tools")
    used = page.get_by_role("table", name="Tools by turns, most failures first")
    expect(used.locator("tr", has_text="get_forecast")).to_contain_text("1")
    browser.close()
assert not faults, "\n".join(faults)
print("no fault")
