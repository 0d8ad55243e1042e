"""Watches the approvals in the console while a client makes a call that waits for a person.

Arguments: the URL of the operator listener, the path of the browser, the URL of chat completions.
"""

import json
import sys
import threading
import urllib.request

from playwright.sync_api import expect, sync_playwright

OPERATOR, BROWSER, CLIENT = sys.argv[1:4]


def send(url, body):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def book():
    answers.append(send(CLIENT, {"model": "helper", "messages": [{"role": "user", "content": "Book the blue room"}]}))


answers = []
with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
    page = browser.new_page()
    page.goto(f"{OPERATOR}/console#/approvals")
    expect(page.locator("main")).to_contain_text("No matching call.")
    expect(page).to_have_title("Approvals · Callwright")
    client = threading.Thread(target=book)
    client.start()
    expect(page.locator("tbody tr")).to_contain_text("rooms/bookRoom")
    expect(page).to_have_title("(1) Approvals · Callwright")
    expect(page.locator("#pending")).to_have_text("1")
    with urllib.request.urlopen(f"{OPERATOR}/admin/approvals?status=pending") as answer:
        [waiting] = json.load(answer)["approvals"]
    send(f"{OPERATOR}/admin/approvals/{waiting['id']}/approve", {"by": "Ada"})
    expect(page.locator("tbody tr")).not_to_contain_text("pending")
    expect(page).to_have_title("Approvals · Callwright")
    client.join()
    browser.close()
assert answers[0]["choices"][0]["message"]["content"] == "It is booked.", answers
print("no fault")
