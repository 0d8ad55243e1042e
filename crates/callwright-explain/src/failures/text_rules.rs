//! Recognises failures in texts, by rules as data, the most certain first.
//!
//! Patterns are anchored at the beginning of the first line if possible, because texts about errors mention them later.

use std::sync::LazyLock;

use regex::Regex;

use super::body_words::reason_of;
use super::markup::markup_failure;
use super::verdict::FailureEvidence::{Form, Words};
use super::verdict::{FailureEvidence, Finding};
use callwright_common::limits::SHORT_BODY_BYTES;
use callwright_common::text::beginning_bytes;

/// Maximum number of characters of a report in words; longer texts have other content.
const MAX_SENTENCE_CHARS: usize = 300;

/// Maximum number of bytes of the first line that are examined.
const MAX_LINE_BYTES: usize = 600;

/// Returns the rule that recognises a failure in a text.
pub(crate) fn text_failure(text: &str) -> Option<Finding> {
    let text = text.trim();
    if text.starts_with('<') {
        return markup_failure(text);
    }
    let input = rule_input(text)?;
    TEXT_RULES
        .iter()
        .find(|(_, evidence, holds)| (*evidence == Form || input.short) && holds(&input))
        .map(|(rule, evidence, _)| (*rule, *evidence))
}

fn rule_input(text: &str) -> Option<TextRuleInput<'_>> {
    let text = beginning_bytes(text, SHORT_BODY_BYTES);
    let line = text.lines().find(|line| !line.trim().is_empty())?;
    let line = beginning_bytes(line, MAX_LINE_BYTES);
    let line = line.trim_matches(|letter: char| letter.is_whitespace() || DECORATION.contains(&letter));
    // Truncated JSON is the beginning of a result and not a message.
    let short = !text.starts_with(['{', '['])
        && text.chars().nth(MAX_SENTENCE_CHARS).is_none()
        && !text.trim().contains("\n\n");
    (!line.is_empty()).then_some(TextRuleInput { text, line, short })
}

/// Decoration before or around a first line.
const DECORATION: [char; 14] = ['*', '_', '`', '❌', '✗', '✘', '⚠', '\u{fe0f}', '🚫', '⛔', '❗', '🔴', '>', '"'];

/// Text as input of the rules.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TextRuleInput<'a> {
    /// Beginning of the text, trimmed.
    text: &'a str,
    /// First line without decoration.
    line: &'a str,
    /// Whether the text is short enough to be only a report: one paragraph.
    short: bool,
}

/// Name of a rule in traces, its evidence, and whether a text reports a failure by it. Rules based on wording apply only to
/// short texts.
pub(crate) type TextRule = (&'static str, FailureEvidence, fn(&TextRuleInput<'_>) -> bool);

/// Rules in order of evaluation.
pub(crate) const TEXT_RULES: &[TextRule] = &[
    ("traceback", Form, |input| TRACEBACK.is_match(input.text) && RAISED.is_match(input.text)),
    ("status_line", Form, |input| status_line(input.line)),
    ("status_told", Form, |input| STATUS_REPORTED.is_match(input.line)),
    ("exception", Form, |input| EXCEPTION.is_match(input.line) && !EXPLAINS.is_match(input.line)),
    ("error_word", Form, |input| error_word(input.line) && !is_log(input)),
    ("error_while", Form, |input| ERROR_WHILE.is_match(input.line) && !EXPLAINS.is_match(input.line)),
    ("error_occurred", Form, |input| OCCURRED.is_match(input.line)),
    ("call_failed", Form, |input| CALL_FAILED.is_match(input.line) && !REPORTS_RESULT.is_match(input.line)),
    ("transport", Words, |input| TRANSPORT.is_match(input.line) && !REPORTS_RESULT.is_match(input.line)),
    ("unable", Words, |input| UNABLE.is_match(input.line) && !input.text.contains('?')),
    ("refusal", Words, |input| {
        REFUSAL.is_match(input.text)
            && !REPORTS_RESULT.is_match(input.line)
            && !EXPLAINS.is_match(input.line)
            && !input.text.contains('?')
            && input.text.lines().count() <= 2
    }),
];

fn expression(text: &str) -> Regex {
    // Not input: the patterns are constants below that the tests compile.
    Regex::new(text).expect("the expressions of the rules are valid")
}

macro_rules! expressions {
    ($($name:ident: $text:expr;)*) => { $(static $name: LazyLock<Regex> = LazyLock::new(|| expression($text));)* };
}

expressions! {
    TRACEBACK: r"(?i)^(?:[^\n]{0,80}:\s*)?traceback \(most recent call last\)|^(?:exception in thread|unhandled exception|caused by:)[^\n]*\n\s+at ";
    RAISED: r"(?m)^(?:[A-Za-z_][\w.]*\.)?[A-Za-z_]\w*(?::|$)|^\s+at ";
    STATUS_LINE: r"(?i)^(?:error:?\s*)?(?:http(?:/[0-9.]+)?\s*)?\(?([45][0-9]{2})\)?(?:\s+(client error|server error|error)\b|[\s:,-]+([a-z' -]+?)\s*(?:$|[:.,({\[\n<-]|for url)|\s*$)";
    STATUS_REPORTED: r#"(?i)^(?:\w+error:?\s*|error:?\s*)?(?:(?:the )?(?:\w+ )?(?:request|call|api|server|service|tool)\b[^.:]{0,60}?\b(?:failed|returned|responded|answered|replied)\b[^.:]{0,30}?(?:with |an? )?(?:http )?(?:error )?(?:status )?(?:code )?:?|http[ -]?(?:error|status)!?(?: status| code)?[:=( ]*(?:status[:= ]*)?|(?:error|status) code:|received (?:http )?(?:status )?(?:code )?|unexpected (?:http )?status(?: code)?:?|\w*(?:http\w*|api|status)(?:error|exception)\()\s*["'(]?[45][0-9]{2}\b(?:[^a-z]|$|[ ]?[-:,.(])"#;
    EXCEPTION: r"^(?:[Ee]rror:\s*)?(?:[A-Za-z_][\w.]*[.:])?[A-Z]\w*(?:Error|Exception|Timeout|Failure|Fault|Interrupt|Exit|NotFound|Denied)(?:\s*$|:\s|\(|:$|\s+\[)";
    EXPLAINS: r"(?i)\b(?:(?:is |are )?(?:raised|thrown|returned|given|used) (?:when|if|where|by|for)|occurs (?:when|if)|means|explained|how to|a (?:guide|survey|review)|is an? )\b";
    ERROR_WORD: ERROR_WORDS;
    BRACKETED: r"(?i)^\[(?:errors?|err|fatal|critical|fail(?:ed|ure)?)\]\s+(.*)$";
    ERROR_WHILE: r"(?i)^(?:\w+ )?(?:error|exception|failure|problem)\s+(?:while|when|executing|invoking|calling|running|during|from|processing|fetching|getting|creating|updating|deleting|loading|reading|writing|parsing|sending|searching|connecting|retrieving|accessing|querying|opening|validating|code)\b.{0,200}(?:[:.(]|$)|^(?:fehler (?:beim|bei|in)|erreur (?:lors|de)|erro (?:ao|na|no)|errore (?:durante|nel|di)|fout bij)\b";
    OCCURRED: r"(?i)^(?:sorry,? |oops[!,.]? |uh oh[!,.]? )?(?:(?:there (?:was|has been) |i(?:'ve| have)? encountered |encountered |got |we encountered )(?:an? )?(?:\w+ ){0,2}(?:error|exception|problem|issue)\b|an? (?:\w+ ){0,3}(?:error|exception) (?:has )?(?:occurred|happened|was (?:raised|thrown|encountered))|(?:error|exception) (?:occurred|happened|raised)|something went wrong|es ist ein fehler|une erreur|se produjo un error|ocurri[oó] un error|ocorreu um erro|si [eè] verificato un errore|произошла ошибка|wystąpił błąd|er is een fout|bir hata oluştu|発生しました)";
    CALL_FAILED: r"(?i)^(?:the |your |this )?(?:\S+ ){0,2}?(?:tool|function|api|request|call|action|operation|command|query|execution|step|task|login|authentication|authorization|validation|connection|upload|download|payment|booking|transaction|invocation|lookup|search|update|deletion|creation)\s+(?:\S+ ){0,2}?(?:has |was |is )?(?:failed|errored|failure|timed out|aborted|denied|rejected|refused|unsuccessful|declined)(?:\s*$|\s*[:.!;,(-]|\s+(?:with|because|due to|after|for|on|to|by)\b)";
    TRANSPORT: r"(?i)\b(?:timed out|time[- ]?out(?: (?:after|of|exceeded|waiting|reached|occurred|expired|while)|[:.!]|$)|econn\w+|enotfound|etimedout|eai_again|enoent|eacces|connection (?:refused|reset|aborted|closed|error|lost)|name or service not known|no route to host|host (?:is )?unreachable|network (?:is )?unreachable|deadline exceeded|max retries exceeded|temporary failure in name resolution|certificate verify failed|socket hang up|broken pipe|bad gateway|gateway timeout|service (?:is )?(?:temporarily )?unavailable|circuit breaker is open|no response from|remote end closed)(?:\b|$)";
    UNABLE: r"(?i)^(?:sorry,? |i(?:'m| am|'m sorry,? i)? |we(?:'re| are)? |the \w+ )?(?:(?:failed|unable|not able|was unable|were unable) to\b|(?:could not|couldn['’]t|cannot|can['’]t|can not) (?:be )?\w+)";
    REPORTS_RESULT: r"(?i)^(?:i(?:'ve| have)? (?:told|sent|informed|opened|notified|found|created|booked|updated|added|saved|asked)|done|ok\b|found\b|no errors?\b|0 |booked|created|updated|added|deleted|removed|saved|sent|cancell?ed|refunded|scheduled|moved|returned|imported|retried|here (?:is|are)|results? (?:of|for)|subject:|test result|success|successful|[0-9]+[.)] |#|\||def |class |import |from |function \w*\(|const |- |\w+ successfully)|\bsuccessfully\b|\b[0-9]+ passed\b|\bno (?:\w+ )?(?:errors|problems|issues|failures)\b";
    REFUSAL: REFUSALS;
}

/// Words for an error in many languages, and the text after the colon.
const ERROR_WORDS: &str = r#"(?i)^(?:\[?(?:\w+[ _-])??(?:fatal|critical|unexpected|internal|validation|runtime|system|server|client|network|api|tool|input|database|auth|authentication|permission|parse|syntax)?[ _-]?(?:errors?|err|exception|failure|failed|fail|fatal|fault|denied|aborted|abort)\]?|error message|error detail|reason for failure|fehler(?:meldung)?|erreur|error al \w+|erro|errore|fout|fel|feil|fejl|virhe|błąd|chyba|hiba|hata|eroare|greška|грешка|ошибка|помилка|σφάλμα|خطأ|שגיאה|त्रुटि|lỗi|ข้อผิดพลาด|kesalahan|gagal|错误|錯誤|错误信息|失败|失敗|エラー|오류|에러|실패)\s*(?:\([^)]{0,40}\)|\[[^\]]{0,40}\]|(?:code )?#?[A-Z]?[0-9]{3,6})?\s*(?:[:：!|]|\s[-–—]\s|\.\s|$)\s*(.*)$"#;

/// Phrases of refusals.
const REFUSALS: &str = r"(?ix)
    \b(?: not\x20found | (?:does|do|did)(?:\x20not|n['’]t)\x20\w+ | violat(?:es|ed|ion) | is\x20down | bad\x20\w+
    | not\x20(?:yet\x20)?(?:authori[sz]ed|permitted|allowed|available|supported|valid|enough|authenticated|satisfiable|implemented|acceptable|eligible|sufficient|recogni[sz]ed|unique|possible|configured|enabled|active|accessible|specified|provided|a\x20valid|have\x20permission)
    | unauthori[sz]ed | unauthenticated | (?:is\x20|are\x20|^)forbidden | forbidden[.:!]?$ | (?:access|permission)\x20(?:is\x20)?denied | denied
    | invalid\x20\w+ | (?:is|are|was|were)\x20(?:not\x20)?(?:in)?valid | malformed | missing | (?:is|are|was)\x20(?:required|mandatory|missing|incorrect|wrong|taken|closed|locked|disabled|suspended|full|blocked)
    | must\x20(?:be|have|not|contain|provide|include|match|specify) | cannot | can\x20?not | can['’]t | could\x20?n[o'’]t | couldn['’]t | unable\x20to
    | exceed(?:s|ed|ing)? | too\x20(?:many|large|long|short|big|small|late|early|high|low) | expired | unsupported | insufficient
    | already\x20(?:exists?|in\x20use|been|registered|taken|cancell?ed|used|done) | conflicts? | bad\x20request | no\x20such | no\x20longer
    | rate\x20limit | quota | (?:limit|maximum)\x20(?:has\x20been\x20)?reached | unavailable | internal\x20(?:server\x20)?error | no\x20longer
    | failed(?:[.!:]|$|\x20(?:to|because|due|with|validation|after|at)\b) | (?:error|failure)[.!]?$ | rejected | refused | unknown | unrecogni[sz]ed | unexpected | incorrect | out\x20of\x20(?:range|stock|bounds)
    | (?:requires?|needs?)\x20(?:an?\x20)?(?:authentication|authori[sz]ation|permission|login|approval) | add\x20up | not\x20enough | no\x20permission | not\x20logged\x20in
    | nicht\x20(?:gefunden|verfügbar|erlaubt|möglich|genug|vorhanden) | ungültig\w* | fehlgeschlagen | introuvable | non\x20autorisé | invalide | no\x20(?:encontrado|encontrada|disponible|válido|autorizado) | inválid[oa] | não\x20(?:encontrado|encontrada|disponível|autorizado) | non\x20(?:trovato|valido|autorizzato|disponibile) | niet\x20(?:gevonden|beschikbaar|toegestaan)
    )(?:\b|\s|$)
    | 未找到 | 不存在 | 无效 | 余额不足 | 失败 | 見つかりません | 無効 | できません | 찾을\x20수\x20없 | 없습니다 | не\x20найден | недостаточно | неверн | nie\x20znalezion";

/// Whether the line is an HTTP status line: "404 Not Found", "HTTP/1.1 500", "404 Client Error: ...". The number must
/// be followed by its own reason phrase or by nothing.
fn status_line(line: &str) -> bool {
    let Some(found) = STATUS_LINE.captures(line) else { return false };
    let status = found.get(1).and_then(|status| status.as_str().parse::<u16>().ok());
    let reason = status.and_then(reason_of);
    match found.get(3) {
        // After the protocol name any reason phrase is allowed (RFC 9112 section 4).
        Some(_) if line.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("http/")) => true,
        Some(words) => reason.is_some_and(|reason| starts_with_ignoring_case(words.as_str(), reason)),
        // A bare number is a result; after `HTTP/1.1`, `HTTP` or `Error` it is a status.
        None => found.get(2).is_some() || !line.starts_with(|letter: char| letter.is_ascii_digit()),
    }
}

fn starts_with_ignoring_case(text: &str, beginning: &str) -> bool {
    text.get(..beginning.len()).is_some_and(|start| start.eq_ignore_ascii_case(beginning))
}

/// Whether the line is `Error: ...` or `[ERROR] ...` in any language, followed by a description.
fn error_word(line: &str) -> bool {
    let found = ERROR_WORD.captures(line).or_else(|| BRACKETED.captures(line));
    found.and_then(|found| found.get(1)).is_some_and(|rest| describes_error(rest.as_str()))
}

/// Whether the text after "Error:" describes an error: more than a number or a word for none.
fn describes_error(rest: &str) -> bool {
    let rest = rest.trim().trim_end_matches(['.', ',', ';']);
    let is_number = rest.trim_end_matches('%').parse::<f64>().is_ok();
    let none = [
        "none", "null", "no", "nil", "n/a", "na", "false", "-", "[]", "{}", "\"\"", "''", "ok", "keine", "aucune",
        "ninguno",
    ];
    !is_number && !none.contains(&rest.to_lowercase().as_str()) && !EXPLAINS.is_match(rest)
}

/// Whether the text is a log, which contains more than its errors.
fn is_log(input: &TextRuleInput<'_>) -> bool {
    let marks = ["INFO", "DEBUG", "WARN", "info:", "debug:", "warning:"];
    input.text.lines().skip(1).any(|line| marks.iter().any(|mark| line.contains(mark)))
}
