// Sentences for people: what a fault, failure, refusal or limit means. They need no recorded bodies.

/** Fault codes: name, and a sentence about tool `t` and location `p`. */
export const FAULTS = {
  "E1": ["call as text", (t, p, facts) => `The answer was meant as a call, but no call could be parsed from it${NO_CALL[facts?.reason] ? `: ${NO_CALL[facts.reason]}` : ""}.`],
  "E2.1": ["wrong tool", (t) => `The tool ${t} exists, but another tool serves the request better.`],
  "E2.2": ["tool name spelling", (t) => `The name ${t} differs from that of an offered tool only in case, separators or namespace.`],
  "E2.3": ["unknown tool", (t) => `There is no tool ${t}. Its name is probably a misspelling of an offered one.`],
  "E2": ["unknown tool", (t) => `There is no tool ${t}, and no offered tool is similar.`],
  "E3.1": ["parameter of another tool", (t, p) => `The parameter ${p} belongs to another tool, not to ${t}.`],
  "E3.2": ["parameter spelling", (t, p) => `The name ${p} differs from that of a parameter of ${t} only in case or separators.`],
  "E3.3": ["unknown parameter", (t, p) => `The tool ${t} has no parameter ${p}. One of its parameters has a similar meaning.`],
  "E3.4": ["missing parameter", (t, p) => `The call of ${t} lacks the required parameter ${p}.`],
  "E3": ["unknown parameter", (t, p) => `The tool ${t} has no parameter ${p}, and none is similar.`],
  "E4.1": ["wrong type", (t, p) => `The value at ${p} of the call of ${t} has a type that the schema does not allow.`],
  "E4.2": ["value not allowed", (t, p) => `The value at ${p} of the call of ${t} violates a constraint of the schema (enum, range, length, pattern or format).`],
  "E4.3": ["placeholder value", (t, p) => `The value at ${p} of the call of ${t} is a placeholder that the conversation never mentions.`],
  "E4.4": ["value from another answer", (t, p) => `The value at ${p} of the call of ${t} has to come from the result of an earlier call, and it differs from that result.`],
  "E5.1": ["circle", (t) => `The model made the same call of ${t} for the third time, with the same result each time.`],
  "E5": ["repeated call", (t) => `The model repeated the call of ${t} with the same arguments, although nothing new was learned since.`],
  "E6": ["no answer", () => "Tools were offered, and the answer has neither text nor a call."],
  "E6.1": ["call announced", () => "The answer announces a call and ends without one."],
};

/** Reasons why no call could be parsed from a text. */
const NO_CALL = {
  unreadable: "the text after the marker of its notation cannot be parsed",
  cut_off: "the limit of tokens was reached within the call",
  unknown_tool: "it names a tool that is not offered",
  arguments: "its arguments are ambiguous",
  expression: "an argument is a name or an expression of a program",
  unsure: "the text may be a call, or may only describe one",
};

/** Outcomes of calls that the proxy executed: name, and a sentence. */
export const OUTCOMES = {
  redirected: ["redirected by the API", (t, status) => `The API redirected the call of ${t}${status ? ` with status ${status}` : ""} to an address that is not followed: set base_url of the toolset.`],
  client_error: ["refused by the API", (t, status) => `The API refused the call of ${t}${status ? ` with status ${status}` : ""}.`],
  server_error: ["failure of the API", (t, status) => `The API failed at the call of ${t}${status ? ` with status ${status}` : ""}.`],
  unreachable: ["API unreachable", (t) => `The API of ${t} could not be reached: nothing was sent.`],
  unknown: ["unknown outcome", (t) => `The request of ${t} was sent, and no response arrived. It is not known whether it took effect.`],
  refused: ["not sent", (t) => `The call of ${t} was not sent.`],
  unapproved: ["not approved", (t) => `The call of ${t} was not sent, because it requires a person's approval.`],
};

/** Reasons why the proxy did not send a call: name, and a sentence. */
export const REFUSALS = {
  no_server: ["no server", "The document names no server, so that the operation has no usable address."],
  address_not_allowed: ["address not allowed", "The address of the API is private, local or reserved, and the configuration does not allow it (executor.allowed_addresses)."],
  no_address: ["host without address", "The name of the API's host has no address."],
  redirect_not_allowed: ["redirect not followed", "The API redirects to another server, to an invalid URL, or too often."],
  policy_denied: ["denied by policy", "A rule of the policy denies the call, or no rule allows its method (execute.rules)."],
  approval_pending: ["approval pending", "A person has not decided about the call yet."],
  approval_denied: ["denied by a person", "A person denied the call."],
  approval_expired: ["approval expired", "No person decided in time, or the approved call was made too late."],
  approval_withdrawn: ["approval withdrawn", "The turn ended before a person decided."],
  approval_used: ["approval used", "The approval was used by an earlier execution."],
  approval_unavailable: ["approval impossible", "The call requires an approval that cannot be requested or used."],
  credential_missing: ["no credential", "A required credential of the toolset is not configured."],
  credential_unavailable: ["credential unavailable", "The configured credential of the toolset cannot be obtained."],
  credential_refused: ["credential refused", "The API rejected the credential of the toolset."],
  invalid_arguments: ["arguments cannot be sent", "The arguments cannot be sent safely."],
  not_chosen: ["not chosen", "The request's tool_choice excludes the tool."],
  call_limit: ["limit of calls", "The turn has executed as many calls as the policy allows (limits.executed_calls)."],
  intent_not_stored: ["intent not stored", "The intent to execute a call with side effects could not be stored first."],
  tool_removed: ["tool removed", "The tool is no longer in the catalog."],
  not_validated: ["not validated", "The call was not validated against this operation."],
  client_gone: ["client disconnected", "The client disconnected before the call was sent."],
};

/** Outcomes of requests to models: name, and a sentence about upstream `u`. */
export const UPSTREAM = {
  http_error: ["error of the provider", (u, status) => `The upstream ${u} answered with ${status ? `status ${status}` : "an error"}.`],
  connect: ["no connection", (u) => `The connection to the upstream ${u} failed: nothing was sent.`],
  timeout: ["timeout", (u) => `The upstream ${u} did not answer in time.`],
  reset: ["connection broken", (u) => `The connection to the upstream ${u} broke after the request was sent.`],
  malformed: ["invalid response", (u) => `The response of the upstream ${u} violates the protocol.`],
  refused: ["not accepted", (u) => `The upstream ${u} stated that it did not process the request.`],
  unread: ["closed connection", (u) => `The upstream ${u} had closed the connection before it could read the request.`],
  truncated: ["incomplete stream", (u) => `The stream of the upstream ${u} ended before its answer was complete.`],
  busy: ["too many requests", (u) => `Nothing was sent: the limit of concurrent requests to the upstream ${u} is reached.`],
  circuit_open: ["circuit open", (u) => `Nothing was sent: the circuit of the upstream ${u} is open, because it failed too often recently.`],
};

/** Limits that end a turn: name, and a sentence. */
export const LIMITS = {
  static_feedback: ["rounds of feedback about faults", "The model repeated faulty calls until the limit of feedback rounds was reached (limits.static_feedback)."],
  dynamic_feedback: ["rounds of feedback about failures", "Calls failed until the limit of rounds with explanations was reached (limits.dynamic_feedback)."],
  upstream_requests: ["requests to the model", "The limit of requests to the model was reached (limits.upstream_requests)."],
  tokens: ["tokens", "The limit of tokens of a turn was reached (limits.tokens)."],
  seconds: ["time", "The time limit of a turn was reached (limits.seconds)."],
  upstream: ["failed repetition", "A further request to the model failed, so that the turn ended with what it had."],
  judgement: ["time of validation", "The time limit for the validation of one answer was reached."],
};

/** Verdicts: tone, and a sentence. */
export const VERDICTS = {
  text: ["soft", "The answer is text without a call."],
  clean: ["good", "All calls were without a fault as the model made them, and left unchanged."],
  repaired: ["good", "The answer was changed without the model: calls were repaired, got another id or were left out."],
  corrected: ["good", "The model corrected its calls after feedback."],
  faulty: ["bad", "Faulty calls were passed on, or a limit was reached."],
  refused: ["bad", "A call was not sent: a rule or a person refused it."],
  failed: ["bad", "A call was sent and failed, or the provider failed."],
  unguarded: ["warn", "The turn was not judged: the mode is off, the request was passed through, the answer took too long to validate, or the schema of a called tool is not usable."],
};

/** Verdicts in the order of charts. */
export const VERDICT_ORDER = ["text", "clean", "repaired", "corrected", "unguarded", "refused", "failed", "faulty"];

/** Purposes of requests to the model. */
export const PURPOSES = {
  first: "Request to the model", static_feedback: "Feedback: faults of the call", dynamic_feedback: "Feedback: explanation of the failure",
  tool_results: "Results of the calls", closing: "Request for a final answer", plan: "Generation of a plan", procedure: "Generation of an outline",
};

/** Kinds of repair. */
export const REPAIRS = {
  rescued: "call found in text", residue_removed: "marks beside the call removed", arguments_mended: "invalid JSON completed", form_changed: "call in the form of the tool's kind", tool_renamed: "tool renamed", parameter_renamed: "parameter renamed", default_filled: "default filled in",
  parameter_dropped: "unknown parameter removed", type_coerced: "type converted", null_dropped: "null removed", enum_normalised: "spelling of an allowed value corrected",
  empty_dropped: "empty value removed", arguments_regrouped: "arguments moved by one level", parameter_separated: "parameter taken out of a string",
  format_normalised: "notation converted", form_completed: "form of the call completed",
};

/** What the client got: a sentence. */
export const GOT = {
  text: "The client got text.", call: "The client got valid calls.", faulty_call: "The client got a faulty answer.",
  no_call: "The client got no call: the model gave up after feedback, or a limit ended the turn.", refused: "The last call of a tool was refused.",
  failed: "The last call of a tool failed.", upstream_failed: "The client got the provider's error.", unjudged: "The client got an answer that was not judged.",
  unanswered: "The client disconnected first.",
};

/** Reasons why an answer was not judged. */
export const UNJUDGED = {
  calls_time: "The validation of its calls took too long.", text_time: "The search for calls in its text took too long.",
  size: "The answer is larger than the limit of answers that are judged.",
  calls_values: "Its arguments hold numbers or texts that a parser does not keep.",
  schema: "The schema of a called tool, or the part of it for these values, could not be compiled.", mode_off: "The mode is off.",
};

const known = (table, name) => (Object.hasOwn(table, name) ? table[name] : undefined);

const literal = (value) => (typeof value === "string" ? value : JSON.stringify(value));

/** Returns one side of a repair: a name, a value if it is recorded, or its type. */
export function repairSide(repair, side) {
  const [value, type] = [repair[side], repair[`${side}_type`]];
  if (value !== null && value !== undefined) return type === undefined ? literal(value) : JSON.stringify(value);
  return type;
}

/** Returns the tool that a repaired call is for. */
export function repairedTool(repair, attempt) {
  const renamed = attempt.repairs.find((other) => other.call === repair.call && other.kind === "tool_renamed");
  return renamed?.to ?? attempt.calls[repair.call]?.name ?? "the tool";
}

/** Returns the sentence of a repair. */
export function repairSentence(repair, attempt) {
  const [from, to] = ["from", "to"].map((side) => repairSide(repair, side));
  const change = from === undefined && to === undefined ? "" : `: ${from ?? "nothing"} → ${to ?? "nothing"}`;
  const tool = repairedTool(repair, attempt);
  return `The call of ${tool} was repaired${repair.path ? ` at ${repair.path}` : ""} (${known(REPAIRS, repair.kind) ?? repair.kind})${change}.`;
}

/** Returns the tone of a verdict. */
export function tone(verdict) {
  return (VERDICTS[verdict] ?? ["warn"])[0];
}

/** Returns the name of a finding of a list or an overview. */
export function findingName({ kind, name }) {
  const word = known({ fault: FAULTS, execution: OUTCOMES, refusal: REFUSALS, upstream: UPSTREAM, limit: LIMITS }[kind] ?? {}, name)?.[0];
  if (kind === "fault") return word ? `${name} ${word}` : name;
  if (kind === "limit") return `limit: ${word ?? name}`;
  if (kind === "client_tool") return `failed client tool (${name})`;
  if (kind === "repair") return `repaired: ${known(REPAIRS, name) ?? name}`;
  if (kind === "shadow_repair") return `to repair: ${known(REPAIRS, name) ?? name}`;
  if (kind === "upstream") return `upstream: ${word ?? name}`;
  return word ?? name;
}

/** Returns the sentence of a fault: that of its code, or the message of the check. */
export function faultSentence(diagnosis, call) {
  const sentence = known(FAULTS, diagnosis.code)?.[1];
  const place = diagnosis.path || "the whole call";
  return sentence ? sentence(call?.name || "the tool", place.replace(/^\//, ""), diagnosis.facts) : `Fault ${diagnosis.code} at ${place}${diagnosis.message ? `: ${diagnosis.message}` : ""}.`;
}

/** Returns the label of the reason why a call was not sent, if there is one. */
export function refusalReason(execution) {
  if (execution.reason ?? execution.refusal) return execution.reason ?? execution.refusal;
  const status = execution.outcome === "unapproved" ? execution.approval?.status : undefined;
  if (status && status !== "approved") return `approval_${status}`;
  return execution.credential ? `credential_${execution.credential}` : undefined;
}

/** Returns the sentence of a call that the proxy executed without success. */
export function outcomeSentence(execution) {
  const [tool, outcome] = [execution.call.name, known(OUTCOMES, execution.outcome)];
  const text = outcome ? outcome[1](tool, execution.status) : `The call of ${tool} ended with ${execution.outcome}.`;
  const reason = refusalReason(execution);
  return reason ? `${text} ${known(REFUSALS, reason)?.[1] ?? `Reason: ${reason}.`}` : text;
}

/** Returns the sentence of a request to a model without success. */
export function upstreamSentence(attempt) {
  return known(UPSTREAM, attempt.outcome)?.[1](attempt.upstream, attempt.status) ?? `The request to ${attempt.upstream} ended with ${attempt.outcome}.`;
}

/** Returns the sentence of a limit. */
export function limitSentence(name) {
  return known(LIMITS, name)?.[1] ?? `A limit ended the turn: ${name}.`;
}

/** Returns the sentence of a tool of the client that failed. */
export function observationSentence({ call, rule }) {
  return `The application's tool ${call.name} reported a failure, recognised by ${rule}.`;
}

/** Returns the tone of a finding. */
export function findingTone({ kind }) {
  return kind === "repair" || kind === "shadow_repair" ? "good" : "bad";
}
