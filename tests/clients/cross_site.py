"""Opens pages of an attacker in a browser: one with its name rebound to the proxy's address, and one of another site.

Arguments: the URLs of the client and operator listeners, the path of the browser. The calling test checks the effects.
"""

import json
import sys
from urllib.parse import urlsplit

from playwright.sync_api import sync_playwright

CLIENT, OPERATOR, BROWSER = sys.argv[1:4]
# Chromium's protections of local networks differ by version, and other browsers have none. The proxy must not rely on
# them.
FEATURES = "LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests,PrivateNetworkAccessSendPreflights,HttpsUpgrades"
ARGUMENTS = ["--no-sandbox", "--host-resolver-rules=MAP *.example 127.0.0.1", f"--disable-features={FEATURES}"]

CHAT = {"model": "gpt-test", "messages": [{"role": "user", "content": "Hello"}]}
REQUESTS = [
    (CLIENT, "POST", "/v1/chat/completions", CHAT),
    (CLIENT, "POST", "/chat/completions", CHAT),
    (CLIENT, "POST", "/v1/embeddings", {"input": "x"}),
    (CLIENT, "GET", "/v1/files", None),
    (OPERATOR, "GET", "/admin/traces", None),
    (OPERATOR, "POST", "/admin/keys", {"name": "eve"}),
    (OPERATOR, "POST", "/admin/switch", {"off": True, "reason": "owned"}),
]

SEND = """async ([url, method, type, body, mode]) => {
  const headers = type === null ? {} : { "content-type": type };
  const sent = body === null || type !== null ? body : new Blob([body]);
  try {
    const answer = await fetch(url, { method, mode, headers, body: sent });
    return [answer.type, answer.status, await answer.text()];
  } catch (error) {
    return ["error", 0, String(error)];
  }
}"""

# A form of `text/plain` sends NAME=VALUE. With the JSON split between name and value, the body is JSON.
FORM = """([url, body]) => {
  const frame = Object.assign(document.createElement("iframe"), { name: "answer" });
  const form = Object.assign(document.createElement("form"), { method: "post", action: url, enctype: "text/plain", target: "answer" });
  const field = Object.assign(document.createElement("input"), { type: "hidden" });
  field.name = body.slice(0, -1) + ', "x": "';
  field.value = '"}';
  form.append(field);
  document.body.append(frame, form);
  form.submit();
}"""


def blank(route):
    route.fulfill(status=200, content_type="text/html", body="<!doctype html><title>harmless</title><body>")


def rebound(browser):
    """Opens a page that has the origin of the proxy in the view of the browser."""
    for base, method, path, body in REQUESTS:
        origin = f"http://rebound.example:{urlsplit(base).port}"
        page = browser.new_page()
        page.route(f"{origin}/attack", blank)
        page.goto(f"{origin}/attack")
        sent = None if body is None else json.dumps(body)
        kind, status, told = page.evaluate(SEND, [path, method, body and "application/json", sent, "same-origin"])
        assert (kind, status) == ("basic", 421), f"{method} {path}: {kind} {status} {told}"
        assert "server.hosts" in told, told
        page.close()


def cross_site(browser):
    """Opens a page of another site that sends simple requests and requests with a CORS preflight."""
    page = browser.new_page()
    page.route("http://attacker.example/", blank)
    page.goto("http://attacker.example/")
    for base, method, path, body in REQUESTS:
        url, sent = base + path, None if body is None else json.dumps(body)
        types = [None] if body is None else [None, "text/plain", "application/x-www-form-urlencoded"]
        for kind in types:
            answer = page.evaluate(SEND, [url, method, kind, sent, "no-cors"])
            assert answer[0] in ("opaque", "error") and not answer[2].startswith("{"), f"{method} {path}: {answer}"
        if body is not None:
            answer = page.evaluate(SEND, [url, method, "application/json", sent, "cors"])
            assert answer[0] == "error", f"{method} {path}: {answer}"
            with page.expect_response(lambda response: response.request.method == "POST" and response.url == url) as response:
                page.evaluate(FORM, [url, sent])
            assert response.value.status == 403, f"form to {path}: {response.value.status}"
            page.evaluate("document.querySelectorAll('iframe, form').forEach((one) => one.remove())")
    page.close()


with sync_playwright() as playwright:
    chromium = playwright.chromium.launch(executable_path=BROWSER, args=ARGUMENTS)
    rebound(chromium)
    cross_site(chromium)
    chromium.close()
print("no fault")
