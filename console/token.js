// The operators' token: asked for where the operator side wants one, and kept for this tab alone.
import { element } from "./elements.js";

const KEPT = "callwright-operator-token";

/** The question that is open, where one is: what several requests wait for is asked once. */
let asking;

/** Fetches with the token; where it is missing or wrong, the operator is asked for it. */
export async function authorized(path, options = {}) {
  for (;;) {
    const token = sessionStorage.getItem(KEPT);
    const headers = { ...options.headers, ...(token ? { authorization: `Bearer ${token}` } : {}) };
    const response = await fetch(path, { ...options, headers });
    if (response.status !== 401) return response;
    // Somebody else may have been told the right one meanwhile.
    if (sessionStorage.getItem(KEPT) === token) {
      asking ??= ask(token ? "This is not the token." : "").finally(() => (asking = undefined));
      await asking;
    }
  }
}

/** Asks for the token, and keeps what is said. */
function ask(complaint) {
  const input = element("input", { type: "password", autocomplete: "off", required: "", size: "40" });
  const form = element("form", { method: "dialog" },
    element("h2", { id: "token-title" }, "Operators' token"),
    element("p", {}, "What the configuration says as server.operator_token. It is kept until this tab is closed."),
    complaint ? element("p", { class: "bad", role: "alert" }, complaint) : undefined,
    element("label", {}, "Token", input),
    element("div", { class: "actions" }, element("button", {}, "Go on")));
  const dialog = element("dialog", { "aria-labelledby": "token-title" }, form);
  // There is nothing to be seen without it.
  dialog.addEventListener("cancel", (event) => event.preventDefault());
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((told) => {
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      sessionStorage.setItem(KEPT, input.value.trim());
      dialog.remove();
      told();
    });
  });
}
