"""Uses the console as an operator, in a real browser.

Arguments: the URL of the operator listener, the path of the browser, a folder for screenshots. tests/slow/console.rs has
created the turns: one with a missing floor that was sent back and became a lesson, some with a failing tool, and a
booking that waits for approval and has markup in its arguments.
"""

import json
import pathlib
import re
import sys
import urllib.request

from playwright.sync_api import expect, sync_playwright

OPERATOR, BROWSER, PICTURES = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])


def admin(path):
    with urllib.request.urlopen(OPERATOR + path) as answer:
        return json.load(answer)


def open_section(page, name):
    """Opens a section by keyboard only: Tab reaches the links of the sections and Enter follows them."""
    link = page.locator("nav a", has_text=name)
    link.focus()
    page.keyboard.press("Enter")
    # The heading alone could be that of the view before, whose form is about to be replaced.
    expect(page.locator("main")).to_have_attribute("data-view", link.get_attribute("href"))
    expect(page.locator("h1")).to_contain_text(name)


def explain_a_turn(page):
    open_section(page, "Turns")
    page.get_by_label("Verdict").select_option("corrected")
    page.get_by_label("Tool", exact=True).fill("listRooms")
    page.get_by_role("button", name="Filter").click()
    expect(page.locator("tbody tr")).to_have_count(1)
    row = page.locator("tbody tr")
    expect(row).to_contain_text("List the rooms")
    expect(row).to_contain_text("E3.4 missing parameter")
    row.locator("a").first.click()
    expect(page.locator(".why")).to_contain_text("The call of listRooms lacks the required parameter floor.")
    expect(page.locator(".question")).to_have_text("List the rooms")
    trace = admin(f"/admin/traces/{page.url.rsplit('/', 1)[1]}")
    expect(page.locator("svg.waterfall rect")).to_have_count(len(trace["attempts"]) + len(trace["executions"]))
    steps = page.locator("ol.timeline > li")
    expect(steps.first).to_contain_text("E3.4")
    expect(steps.first).to_contain_text("floor")
    expect(page.get_by_role("group", name="Difference to the corrected call")).to_contain_text("/floor")
    expect(page.get_by_role("group", name="Text for the model")).to_contain_text("floor")
    expect(page.locator("ol.timeline")).to_contain_text("Feedback: faults of the call")
    expect(steps.last).to_contain_text("corrected")


def search_for_a_text(page):
    open_section(page, "Turns")
    page.get_by_label("Text in the recorded conversation").fill("THE ROOM THAT IS GONE")
    page.get_by_role("button", name="Filter").click()
    expect(page.locator("main")).to_contain_text("Searched")
    expect(page.locator("tbody tr")).to_have_count(3)
    page.get_by_role("link", name="15 minutes").click()
    expect(page.locator("main")).to_have_attribute("data-view", re.compile("range=15m"))
    expect(page.locator("tbody tr")).to_have_count(3)


def read_the_overview(page):
    open_section(page, "Overview")
    expect(page.locator("figure.chart")).to_have_count(4)
    expect(page.locator(".tile", has_text="Waiting approvals")).to_contain_text("1")
    worst = page.get_by_role("group", name="Tools with the most findings")
    expect(worst).to_contain_text("getRoom")
    worst.get_by_role("link", name="getRoom").click()
    expect(page.locator("h1")).to_have_text("Turns")
    expect(page.locator("tbody tr")).to_have_count(3)


def compare_a_policy(page):
    open_section(page, "Policies")
    page.get_by_role("link", name="careful", exact=True).click()
    difference = page.get_by_role("group", name="Differences from office")
    expect(difference.locator("tr", has_text="limits.static_feedback").locator("ins")).to_have_text("1")
    expect(difference.locator("tr", has_text="record.bodies").locator("del")).to_have_text("true")
    expect(difference).not_to_contain_text("limits.tokens")


def find_the_tool_that_fails_most(page):
    open_section(page, "Tools")
    first = page.locator("tbody tr").first
    expect(first).to_contain_text("getRoom")
    expect(first).to_contain_text("100.0 %")


def choose_range(page, since, until):
    page.locator("summary", has_text="Other").click()
    page.get_by_label("From").fill(since)
    page.get_by_label("To", exact=True).fill(until)
    page.get_by_role("button", name="Apply").click()


def choose_a_time_range_of_tools(page):
    open_section(page, "Tools")
    used = page.get_by_role("group", name="Tools by turns, most failures first")
    row = used.locator("tbody tr", has_text="getRoom")
    expect(row.locator("td")).to_have_text(["getRoom", "3", "0", "3", "0", "0", "100.0 %"])
    choose_range(page, "2020-01-01T00:00", "2020-01-02T00:00")
    expect(page.locator("main")).to_contain_text("No tool was called in this time range.")
    page.get_by_label("Name or operation").fill("book")
    page.get_by_role("button", name="Filter").click()
    expect(page.locator("main")).to_contain_text("No tool was called in this time range.")
    expect(page.get_by_role("link", name="bookRoom", exact=True)).to_be_visible()
    page.get_by_role("link", name="15 minutes").click()
    expect(row).to_be_visible()
    row.get_by_role("link", name="getRoom").click()
    expect(page.locator("h1")).to_have_text("Turns")
    assert "range=15m" in page.url, page.url
    expect(page.locator("tbody tr")).to_have_count(3)


def choose_a_time_range_of_approvals(page):
    open_section(page, "Approvals")
    expect(page.get_by_role("link", name="Any time")).to_have_attribute("aria-current", "true")
    expect(page.locator("tbody tr")).to_have_count(1)
    choose_range(page, "2020-01-01T00:00", "2020-01-02T00:00")
    expect(page.locator("main")).to_contain_text("No matching call in this time range.")
    page.get_by_label("Status").select_option("pending")
    page.get_by_role("button", name="Filter").click()
    expect(page.locator("main")).to_contain_text("No matching call in this time range.")
    page.get_by_role("link", name="hour", exact=True).click()
    expect(page.locator("tbody tr")).to_have_count(1)
    page.get_by_role("link", name="Any time").click()
    expect(page.locator("tbody tr")).to_have_count(1)


def edit_a_representation(page):
    open_section(page, "Tools")
    page.get_by_label("Name or operation").fill("book")
    page.get_by_role("button", name="Filter").click()
    page.get_by_role("link", name="bookRoom", exact=True).click()
    expect(page.locator("h1")).to_have_text("bookRoom")
    before = page.locator("#shown").inner_text()
    page.get_by_role("button", name="Add a pattern").click()
    page.get_by_label("Description of the requests").fill("Somebody wants a room for a while.")
    page.get_by_label("Example phrases, one per line").fill("reserve a room\nwe meet at <b>nine</b>")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("#shown")).to_contain_text("we meet at <b>nine</b>")
    assert admin("/admin/tools/rooms/bookRoom")["shown"].strip() == before.strip()
    page.get_by_role("button", name="Save for all replicas").click()
    expect(page.locator("main")).to_contain_text("Saved")
    # The proxy applies it in the background.
    while "reserve a room" not in admin("/admin/tools/rooms/bookRoom")["shown"]:
        page.wait_for_timeout(20)
    page.reload()
    expect(page.get_by_label("Description of the requests")).to_have_value("Somebody wants a room for a while.")
    expect(page.locator("main")).to_contain_text("Shared by all replicas")


def show_a_load_report(page):
    open_section(page, "Tools")
    page.get_by_role("link", name="rooms", exact=True).first.click()
    expect(page.locator("dl")).to_contain_text("rooms.yaml")


def explain_a_policy(page):
    open_section(page, "Policies")
    page.get_by_label("Body of the request").fill('{"model": "helper"}')
    page.get_by_role("button", name="Explain").click()
    expect(page.locator("main strong")).to_have_text("office")
    page.get_by_label("Body of the request").fill("{")
    page.get_by_role("button", name="Explain").click()
    expect(page.locator("main")).to_contain_text("The request is not valid JSON")
    page.locator("tbody a").first.click()
    expect(page.locator("h1")).to_contain_text("Policy")


def approve_a_call(page):
    expect(page.locator("#pending")).to_have_text("1")
    open_section(page, "Approvals")
    page.locator("tbody a").first.click()
    # User content is displayed as text, even if it contains markup.
    expect(page.get_by_role("group", name="Arguments")).to_contain_text("<img src=x onerror=")
    assert page.locator("main img").count() == 0
    page.get_by_label("Your name").fill("Ada")
    page.get_by_role("button", name="Approve").click()
    expect(page.locator("dl")).to_contain_text("Ada")
    expect(page.locator("#pending")).to_be_hidden()
    expect(page).to_have_title("Approval · Callwright")
    decided = admin("/admin/approvals")["approvals"][0]
    assert decided["status"] in ("approved", "used") and decided["decided_by"] == "Ada", decided


def retire_a_lesson(page):
    open_section(page, "Lessons")
    row = page.locator("tbody tr", has_text="floor")
    expect(row).to_contain_text("in use")
    row.locator("a").click()
    page.get_by_label("Reason").fill("rooms are on every floor now")
    page.get_by_role("button", name="Retire").click()
    expect(page.locator("dl")).to_contain_text("retired")
    [lesson] = admin("/admin/lessons")["items"]
    assert "rooms are on every floor now" in lesson["retired"]["reason"], lesson
    page.get_by_role("button", name="Use it again").click()
    expect(page.locator("dl")).to_contain_text("in use")


def use_the_kill_switch(page):
    open_section(page, "Kill switch")
    page.get_by_label("Reason").fill("a rehearsal")
    page.get_by_role("button", name="Turn guarding off").click()
    dialog = page.get_by_role("dialog", name="Turn guarding off?")
    dialog.get_by_role("button", name="Cancel").click()
    expect(page.locator("main")).to_contain_text("Guarding stays on.")
    page.get_by_role("button", name="Turn guarding off").click()
    dialog.get_by_role("button", name="Turn it off").click()
    expect(page.locator("main")).to_contain_text("a rehearsal")
    expect(page.locator("#alarm")).to_be_visible()
    page.get_by_role("button", name="Turn guarding on").click()
    expect(page.locator("#alarm")).to_be_hidden()


def look(browser, width, height, scheme):
    """Checks that every section fits the width and has a text if it is empty, and takes a screenshot of it."""
    page = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme).new_page()
    watch(page)
    page.goto(f"{OPERATOR}/console#/about-to-open")
    expect(page.locator("main h1")).to_be_visible()
    for section in ["overview", "turns", "sessions", "keys", "approvals", "tools", "tool/rooms/bookRoom", "toolset/rooms", "lessons", "procedures", "policies", "shadow", "switch"]:
        page.evaluate("section => { document.querySelector('main').replaceChildren(); location.hash = `#/${section}`; }", section)
        expect(page.locator("main h1")).to_be_visible()
        expect(page.locator("main h1")).not_to_have_text("Error")
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width, f"{section} is {wide} wide on a screen of {width}"
        page.screenshot(path=PICTURES / f"{section.replace('/', '-')}-{width}-{scheme}.png", full_page=True)
    page.close()


def watch(page):
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)


faults = []
with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
    page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    watch(page)
    page.goto(f"{OPERATOR}/console#/procedures")
    expect(page.locator("h1")).to_contain_text("Procedures")
    for task in [read_the_overview, explain_a_turn, search_for_a_text, find_the_tool_that_fails_most, choose_a_time_range_of_tools, choose_a_time_range_of_approvals, edit_a_representation, show_a_load_report, explain_a_policy, compare_a_policy, approve_a_call, retire_a_lesson,
                 use_the_kill_switch]:
        task(page)
        print(f"done: {task.__name__}")
    for size in [(1280, 900), (390, 844)]:
        for scheme in ["light", "dark"]:
            look(browser, *size, scheme)
    browser.close()
assert not faults, faults
print("no fault")
