//! Checks of the machine: clock, listener addresses, certificates, ONNX Runtime, and the limit of open files.

use std::io::ErrorKind;
use std::net::SocketAddr;

use jiff::{SignedDuration, Timestamp};
use tokio::net::TcpListener;

use super::finding::{DoctorFinding, fail, ok, warn};
use crate::app::{self, CertificateState};
use crate::config::LoadedConfig;
use callwright_search::embedding::{self, Kind};

/// APIs refuse tokens from clocks that differ by more than this.
const CLOCK_TOLERANCE: SignedDuration = SignedDuration::from_secs(60);

/// Warning threshold for expiring certificates, in days; `dashboards/prometheus/alerts.yml` uses the same number.
const EXPIRES_SOON_DAYS: i64 = 14;

/// Warning threshold. A turn holds a client connection, an upstream connection and at times an API connection. Fewer
/// files than this serve only some hundred turns at once.
const FEW_FILES: usize = 4_096;
/// Failure threshold. The store, the listeners and libraries open about this many files before the first turn.
const TOO_FEW_FILES: usize = 256;

/// Checks the clock offset against a provider's clock.
pub(super) fn clock(ahead: Option<SignedDuration>) -> DoctorFinding {
    match ahead {
        None => warn("clock", "no upstream sent a `Date` field", "make an upstream reachable and run `doctor` again"),
        Some(ahead) if ahead.abs() <= CLOCK_TOLERANCE => ok("clock", "matches an upstream's clock"),
        Some(ahead) => {
            let by = ahead.abs().as_secs();
            let way = if ahead.is_negative() { "behind" } else { "ahead of" };
            let message =
                format!("{by} s {way} an upstream's clock: APIs may refuse tokens, and traces have wrong times");
            warn("clock", message, "synchronise the clock with NTP")
        }
    }
}

pub(super) async fn examine(loaded: &LoadedConfig) -> Vec<DoctorFinding> {
    let server = &loaded.settings.server;
    let mut findings = Vec::new();
    for (name, address) in [("server.listen", server.listen), ("server.operator_listen", server.operator_listen)] {
        findings.push(listener(name, address).await);
    }
    let now = Timestamp::now();
    findings.extend(app::certificates(server, now).into_iter().map(|state| certificate(state, now)));
    findings.push(onnx_runtime(loaded));
    findings.extend(app::limit_of_open_files().map(open_files));
    findings
}

async fn listener(name: &str, address: SocketAddr) -> DoctorFinding {
    match TcpListener::bind(address).await {
        Ok(_) => ok(name, format!("{address} is free")),
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            let fix = format!("ignore this if it is the proxy itself; otherwise set another port in `{name}`");
            warn(name, format!("{address} is already in use"), fix)
        }
        Err(error) => fail(name, format!("{address}: {error}"), format!("set an address of this machine in `{name}`")),
    }
}

/// Checks the certificate of a listener.
fn certificate(state: CertificateState, now: Timestamp) -> DoctorFinding {
    const RENEW: &str = "renew it; the proxy reloads the files without a restart";
    let CertificateState { table, found } = state;
    match found {
        Err(error) => {
            fail(table, error.to_string(), "correct the files or keys named; otherwise the proxy does not start")
        }
        Ok((_, Some(fault))) => fail(table, format!("{fault}: clients refuse it"), RENEW),
        Ok((expires, None)) => {
            let days = expires.duration_since(now).as_hours() / 24;
            let message = format!("the certificate expires at {expires}, in {days} days");
            if days < EXPIRES_SOON_DAYS { warn(table, message, RENEW) } else { ok(table, message) }
        }
    }
}

fn onnx_runtime(loaded: &LoadedConfig) -> DoctorFinding {
    const CHECK: &str = "ONNX Runtime";
    let settings = &loaded.settings.embedding;
    if settings.kind != Kind::Fastembed {
        return ok(CHECK, "not needed: no local embedding model is configured");
    }
    match embedding::find_onnx_runtime(&settings.fastembed, &loaded.base_dir) {
        Ok(()) => ok(CHECK, "found"),
        Err(absent) => {
            let fix =
                "install it, or set `embedding.kind = \"static\"`; until then the built-in embedding model is used";
            warn(CHECK, absent.to_string(), fix)
        }
    }
}

/// Checks the soft limit of open files.
fn open_files(limit: usize) -> DoctorFinding {
    const CHECK: &str = "open files";
    let message = format!("the limit is {limit}, and each turn in flight uses 2 to 3");
    let fix = "raise it: `LimitNOFILE=` of a systemd unit, `ulimits` of a container, `ulimit -n` of a shell";
    match limit {
        0..TOO_FEW_FILES => fail(CHECK, message, fix),
        TOO_FEW_FILES..FEW_FILES => warn(CHECK, message, fix),
        usize::MAX => ok(CHECK, "unlimited"),
        _ => ok(CHECK, message),
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::CheckStatus;
    use super::*;

    #[test]
    fn the_soft_limit_of_open_files_is_judged() {
        let status = |limit| open_files(limit).status;
        assert_eq!((status(usize::MAX), status(4096)), (CheckStatus::Ok, CheckStatus::Ok));
        assert_eq!((status(1024), status(255)), (CheckStatus::Warn, CheckStatus::Fail));
        assert_eq!(open_files(usize::MAX).message, "unlimited");
    }

    #[test]
    fn a_clock_may_differ_by_a_minute() {
        let status = |seconds| clock(Some(SignedDuration::from_secs(seconds))).status;
        assert_eq!(
            (status(60), status(-60), status(61), status(-61)),
            (CheckStatus::Ok, CheckStatus::Ok, CheckStatus::Warn, CheckStatus::Warn)
        );
        assert!(clock(Some(SignedDuration::from_secs(-90))).message.contains("90 s behind"));
        assert_eq!(clock(None).status, CheckStatus::Warn);
    }

    #[test]
    fn a_certificate_is_good_until_expiry_and_warned_about_before() {
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let judged = |expires: &str, fault: Option<&str>| {
            let found = Ok((expires.parse().unwrap(), fault.map(str::to_owned)));
            certificate(CertificateState { table: "server.tls", found }, now)
        };
        let good = judged("2026-01-15T00:00:00Z", None);
        assert_eq!((good.status, good.check.as_str()), (CheckStatus::Ok, "server.tls"));
        assert!(good.message.ends_with("in 14 days"), "{}", good.message);
        assert_eq!(judged("2026-01-14T23:59:59Z", None).status, CheckStatus::Warn);
        assert_eq!(judged("2025-12-31T00:00:00Z", Some("it expired")).status, CheckStatus::Fail);
    }

    #[tokio::test]
    async fn an_address_that_is_taken_or_not_ours_is_named() {
        let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
        assert_eq!(listener("x", taken.local_addr().unwrap()).await.status, CheckStatus::Warn);
        assert_eq!(listener("x", "127.0.0.1:0".parse().unwrap()).await.status, CheckStatus::Ok);
        // Addresses for documentation (RFC 5737) are assigned to no machine.
        assert_eq!(listener("x", "192.0.2.1:0".parse().unwrap()).await.status, CheckStatus::Fail);
    }
}
