// The operators' token: requested if the operator listener requires one, and kept in the session storage of this tab.
import { element } from "./elements.js";

const KEPT = "callwright-operator-token";

/** The open dialog, if any: concurrent requests share one. */
let pending;

/** Fetches with the token. If it is missing or wrong, requests it from the operator. */
export async function authorized(path, options = {}) {
  for (;;) {
    const token = sessionStorage.getItem(KEPT);
    const headers = { ...options.headers, ...(token ? { authorization: `Bearer ${token}` } : {}) };
    const response = await fetch(path, { ...options, headers });
    if (response.status !== 401) return response;
    // Another request may have received the right token meanwhile.
    if (sessionStorage.getItem(KEPT) === token) {
      pending ??= requestToken(token ? "The token is wrong." : "").finally(() => (pending = undefined));
      await pending;
    }
  }
}

/** Requests the token in a dialog and stores it. */
function requestToken(error) {
  const input = element("input", { type: "password", autocomplete: "off", required: "", size: "40" });
  const form = element("form", { method: "dialog" },
    element("h2", { id: "token-title" }, "Operators' token"),
    element("p", {}, "The value of server.operator_token in the configuration. It is kept until this tab is closed."),
    error ? element("p", { class: "bad", role: "alert" }, error) : undefined,
    element("label", {}, "Token", input),
    element("div", { class: "actions" }, element("button", {}, "Continue")));
  const dialog = element("dialog", { "aria-labelledby": "token-title" }, form);
  // No view works without the token.
  dialog.addEventListener("cancel", (event) => event.preventDefault());
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      sessionStorage.setItem(KEPT, input.value.trim());
      dialog.remove();
      resolve();
    });
  });
}
