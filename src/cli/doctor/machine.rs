//! The machine: its clock, the listeners' addresses and certificates, ONNX Runtime, and how many files a process may open.

use std::io::ErrorKind;
use std::net::SocketAddr;

use jiff::{SignedDuration, Timestamp};
use tokio::net::TcpListener;

use super::finding::Finding;
use crate::app::{self, CertificateState};
use crate::config::Loaded;
use callwright_search::embedding::{self, Kind};

/// Tokens of APIs are refused by clocks that differ by more.
const CLOCK_TOLERANCE: SignedDuration = SignedDuration::from_secs(60);

/// Below this many days whoever renews a certificate should have done so; `dashboards/prometheus/alerts.yml` has the same number.
const EXPIRES_SOON_DAYS: i64 = 14;

/// Where Linux tells the limits of a process (proc(5)).
const LIMITS: &str = "/proc/self/limits";
const OPEN_FILES: &str = "Max open files";

/// A turn holds a connection of the client, one to the model, and at times one to an API. Fewer files than this serve some hundred turns at once.
const FEW_FILES: u64 = 4_096;
/// The store, the listeners and what libraries hold open take about this much before the first turn.
const TOO_FEW_FILES: u64 = 256;

/// Judges how far our clock is ahead of a provider's.
pub(super) fn clock(ahead: Option<SignedDuration>) -> Finding {
    match ahead {
        None => Finding::warn("clock", "no upstream told its time", "make one reachable and ask again"),
        Some(ahead) if ahead.abs() <= CLOCK_TOLERANCE => Finding::ok("clock", "it agrees with an upstream's"),
        Some(ahead) => {
            let by = ahead.abs().as_secs();
            let way = if ahead.is_negative() { "behind" } else { "ahead of" };
            let message =
                format!("it is {by} s {way} an upstream's: tokens may be refused, and traces tell wrong times");
            Finding::warn("clock", message, "let the machine keep its time by NTP")
        }
    }
}

pub(super) async fn examine(loaded: &Loaded) -> Vec<Finding> {
    let server = &loaded.settings.server;
    let mut findings = Vec::new();
    for (name, address) in [("server.listen", server.listen), ("server.operator_listen", server.operator_listen)] {
        findings.push(listener(name, address).await);
    }
    let now = Timestamp::now();
    findings.extend(app::certificates(server, now).into_iter().map(|state| certificate(state, now)));
    findings.push(onnx_runtime(loaded));
    findings.extend(std::fs::read_to_string(LIMITS).ok().and_then(|text| open_files(&text)));
    findings
}

async fn listener(name: &str, address: SocketAddr) -> Finding {
    match TcpListener::bind(address).await {
        Ok(_) => Finding::ok(name, format!("{address} is free")),
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            let fix = format!("nothing, if that is the proxy; else give `{name}` another port");
            Finding::warn(name, format!("something listens on {address} already"), fix)
        }
        Err(error) => {
            Finding::fail(name, format!("{address}: {error}"), format!("give `{name}` an address of this machine"))
        }
    }
}

/// Judges the certificate of a listener.
fn certificate(state: CertificateState, now: Timestamp) -> Finding {
    const RENEW: &str = "renew it; the proxy takes the new one from the same files, without a restart";
    let CertificateState { table, found } = state;
    match found {
        Err(error) => {
            Finding::fail(table, error.to_string(), "correct what is named; the proxy does not start with it")
        }
        Ok((_, Some(fault))) => Finding::fail(table, format!("{fault}: clients refuse it"), RENEW),
        Ok((expires, None)) => {
            let days = expires.duration_since(now).as_hours() / 24;
            let message = format!("the certificate expires at {expires}, in {days} days");
            if days < EXPIRES_SOON_DAYS { Finding::warn(table, message, RENEW) } else { Finding::ok(table, message) }
        }
    }
}

fn onnx_runtime(loaded: &Loaded) -> Finding {
    const CHECK: &str = "ONNX Runtime";
    let settings = &loaded.settings.embedding;
    if settings.kind != Kind::Fastembed {
        return Finding::ok(CHECK, "it is not needed: no model of meaning runs in this process");
    }
    match embedding::find_onnx_runtime(&settings.fastembed, &loaded.base_dir) {
        Ok(()) => Finding::ok(CHECK, "it is found"),
        Err(absent) => {
            let fix = "install it, or set `embedding.kind = \"static\"`; until then tools and lessons are found by words alone";
            Finding::warn(CHECK, absent.to_string(), fix)
        }
    }
}

/// Judges the soft limit in the text that Linux gives; nothing where it says nothing.
fn open_files(limits: &str) -> Option<Finding> {
    const CHECK: &str = "open files";
    let line = limits.lines().find_map(|line| line.strip_prefix(OPEN_FILES))?;
    let limit = line.split_whitespace().next()?;
    let Ok(files) = limit.parse::<u64>() else {
        return (limit == "unlimited").then(|| Finding::ok(CHECK, "there is no limit"));
    };
    let message = format!("a process may open {files}, and each turn under way takes 2 to 3");
    let fix = "raise it: `LimitNOFILE=` of a systemd unit, `ulimits` of a container, `ulimit -n` of a shell";
    Some(match files {
        0..TOO_FEW_FILES => Finding::fail(CHECK, message, fix),
        TOO_FEW_FILES..FEW_FILES => Finding::warn(CHECK, message, fix),
        _ => Finding::ok(CHECK, message),
    })
}

#[cfg(test)]
mod tests {
    use super::super::finding::Status;
    use super::*;

    fn limits(soft: &str) -> String {
        format!(
            "Limit  Soft Limit  Hard Limit  Units\nMax cpu time  unlimited  unlimited  seconds\nMax open files  {soft}  524288  files\n"
        )
    }

    #[test]
    fn the_soft_limit_of_open_files_is_judged() {
        let status = |soft: &str| open_files(&limits(soft)).map(|finding| finding.status);
        assert_eq!(status("unlimited"), Some(Status::Ok));
        assert_eq!(status("4096"), Some(Status::Ok));
        assert_eq!(status("1024"), Some(Status::Warn));
        assert_eq!(status("255"), Some(Status::Fail));
        assert_eq!(status("many"), None);
        assert_eq!(open_files(""), None);
    }

    #[test]
    fn a_clock_may_differ_by_a_minute() {
        let status = |seconds| clock(Some(SignedDuration::from_secs(seconds))).status;
        assert_eq!(
            (status(60), status(-60), status(61), status(-61)),
            (Status::Ok, Status::Ok, Status::Warn, Status::Warn)
        );
        assert!(clock(Some(SignedDuration::from_secs(-90))).message.contains("90 s behind"));
        assert_eq!(clock(None).status, Status::Warn);
    }

    #[test]
    fn a_certificate_is_good_until_it_expires_and_soon_is_worth_a_word() {
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let judged = |expires: &str, fault: Option<&str>| {
            let found = Ok((expires.parse().unwrap(), fault.map(str::to_owned)));
            certificate(CertificateState { table: "server.tls", found }, now)
        };
        let good = judged("2026-01-15T00:00:00Z", None);
        assert_eq!((good.status, good.check.as_str()), (Status::Ok, "server.tls"));
        assert!(good.message.ends_with("in 14 days"), "{}", good.message);
        assert_eq!(judged("2026-01-14T23:59:59Z", None).status, Status::Warn);
        assert_eq!(judged("2025-12-31T00:00:00Z", Some("it expired")).status, Status::Fail);
    }

    #[tokio::test]
    async fn an_address_that_is_taken_or_not_ours_is_named() {
        let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
        assert_eq!(listener("x", taken.local_addr().unwrap()).await.status, Status::Warn);
        assert_eq!(listener("x", "127.0.0.1:0".parse().unwrap()).await.status, Status::Ok);
        // An address of documentation (RFC 5737) is nobody's.
        assert_eq!(listener("x", "192.0.2.1:0".parse().unwrap()).await.status, Status::Fail);
    }
}
