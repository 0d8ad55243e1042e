//! A private PostgreSQL server, run from the distribution's binaries. The unit tests of the store use this file too.
//!
//! It listens on a free loopback port and has its own data folder. A shell holds it and stops it when its standard
//! input is closed, so it ends with the process that started it in every case.

#![allow(dead_code, reason = "each test binary uses its own part of this")]

use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Folder of Debian's binaries, by release.
const DEBIAN: &str = "/usr/lib/postgresql";

/// Users for the server if the tests run as root, which the server refuses.
const USERS: [&str; 2] = ["postgres", "nobody"];

/// User and password of the database. The password must not leak.
pub(crate) const USER: &str = "callwright";
pub(crate) const PASSWORD: &str = "pg-canary";

/// Timeout after which a server counts as hanging.
const GUARD: Duration = Duration::from_secs(60);

const POLL: Duration = Duration::from_millis(20);

/// Number of attempts to start. A free port may be taken by another process before the server binds it.
const TRIES: usize = 5;

/// Runs the server until standard input has a line or ends. The line names the signal.
const SUPERVISE: &str = r#"
folder=$1; remove=$2; shift 2
"$@" >>"$folder/log" 2>&1 &
pid=$!
read -r signal
kill -s "${signal:-INT}" "$pid"
wait "$pid"
[ "$remove" = yes ] && rm -rf "$folder"
"#;

/// A private server. Dropping it stops it.
pub(crate) struct Postgres {
    binaries: PathBuf,
    folder: TempDir,
    port: u16,
    /// Whether it syncs commits to disk.
    is_durable: bool,
    /// Whether the shell removes the folder, which is necessary if the server ends with the process.
    is_shared: bool,
    running: Option<Child>,
}

/// Returns the URL of a new database in the server that the tests of this process share.
pub(crate) fn database() -> String {
    static SHARED: OnceLock<Postgres> = OnceLock::new();
    SHARED.get_or_init(|| Postgres::new(false, true)).database()
}

impl Postgres {
    /// Starts a durable private server.
    pub(crate) fn start() -> Self {
        Self::new(true, false)
    }

    fn new(is_durable: bool, is_shared: bool) -> Self {
        let binaries = binaries().expect("install PostgreSQL (Debian package `postgresql`)");
        let folder = tempfile::Builder::new().prefix("callwright-postgres-").tempdir().unwrap();
        std::fs::write(folder.path().join("password"), PASSWORD).unwrap();
        if let Some((user, group)) = other_user() {
            for path in [folder.path(), &folder.path().join("password")] {
                chown(path, Some(user), Some(group)).unwrap();
            }
        }
        let mut server = Self { binaries, folder, port: 0, is_durable, is_shared, running: None };
        let initialised = server
            .command("initdb")
            .args(["--username", USER, "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync"])
            .arg("--pwfile")
            .arg(server.path("password"))
            .arg("--pgdata")
            .arg(server.path("data"))
            .output()
            .unwrap();
        assert!(initialised.status.success(), "{}", String::from_utf8_lossy(&initialised.stderr));
        for _ in 0..TRIES {
            server.port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
            if server.run() {
                return server;
            }
        }
        panic!("the server does not start: {}", server.log());
    }

    /// Creates an empty database.
    pub(crate) fn database(&self) -> String {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let name = format!("db{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        let made = self.client("createdb").arg(&name).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        self.url(&name)
    }

    /// Returns the URL of the database with this name.
    pub(crate) fn url(&self, database: &str) -> String {
        format!("postgres://{USER}:{PASSWORD}@127.0.0.1:{}/{database}", self.port)
    }

    /// Stops the server as its service does: running statements are aborted.
    pub(crate) fn stop(&mut self) {
        self.end("INT");
    }

    /// Stops the server without time to write, as a crash would.
    pub(crate) fn crash(&mut self) {
        self.end("QUIT");
    }

    /// Restarts the server on the same port with the same data.
    pub(crate) fn start_again(&mut self) {
        assert!(self.running.is_none(), "it still runs");
        assert!(self.run(), "the server does not start again: {}", self.log());
    }

    /// Returns a command for a PostgreSQL client program, such as `psql`, as the database's user.
    pub(crate) fn client(&self, program: &str) -> Command {
        let mut command = Command::new(self.binaries.join(program));
        command.env("PGHOST", "127.0.0.1").env("PGPORT", self.port.to_string());
        command.env("PGUSER", USER).env("PGPASSWORD", PASSWORD);
        command
    }

    /// Returns the undecorated output of `psql` for a statement.
    pub(crate) fn ask(&self, database: &str, statement: &str) -> String {
        let told = self.client("psql").args(["-XAtq", "-d", database, "-c", statement]).output().unwrap();
        assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
        String::from_utf8(told.stdout).unwrap().trim().to_owned()
    }

    /// Returns the log of the server.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.path("log")).unwrap_or_default()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns a command for a program of the server, as a user that it accepts.
    fn command(&self, program: &str) -> Command {
        let mut command = unprivileged(self.folder.path());
        command.arg(self.binaries.join(program));
        command
    }

    /// Runs the server until it accepts connections. Returns `false` if it ends instead.
    fn run(&mut self) -> bool {
        let mut command = unprivileged(self.folder.path());
        command.args(["sh", "-c", SUPERVISE, "sh"]).arg(self.folder.path());
        command.arg(if self.is_shared { "yes" } else { "no" });
        command.arg(self.binaries.join("postgres")).arg("-D").arg(self.path("data"));
        command.args(["-p", &self.port.to_string(), "-c", "listen_addresses=127.0.0.1"]);
        command.args(["-c", "unix_socket_directories=", "-c", "max_connections=300"]);
        command.args(["-c", if self.is_durable { "fsync=on" } else { "fsync=off" }]);
        let logged = self.log().len();
        let child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let begun = Instant::now();
        while begun.elapsed() < GUARD {
            if self.client("pg_isready").stdout(Stdio::null()).status().unwrap().success() {
                self.running = Some(child);
                return true;
            }
            // Log lines from before the stop do not count.
            if self.log().get(logged..).is_some_and(|log| log.contains("FATAL:  could not create")) {
                break;
            }
            std::thread::sleep(POLL);
        }
        self.running = Some(child);
        self.end("QUIT");
        false
    }

    fn end(&mut self, signal: &str) {
        let Some(mut child) = self.running.take() else { return };
        if let Some(mut input) = child.stdin.take() {
            let _ = writeln!(input, "{signal}");
        }
        let _ = child.wait();
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.end("QUIT");
    }
}

/// Returns the folder of the newest server's binaries.
fn binaries() -> Option<PathBuf> {
    let releases = std::fs::read_dir(DEBIAN).into_iter().flatten().flatten();
    let mut found: Vec<(u32, PathBuf)> = releases
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
        .filter(|(_, folder)| is_complete(folder))
        .collect();
    found.sort();
    let of_path = std::env::var_os("PATH").unwrap_or_default();
    found.pop().map(|(_, folder)| folder).or_else(|| std::env::split_paths(&of_path).find(|folder| is_complete(folder)))
}

fn is_complete(folder: &Path) -> bool {
    ["initdb", "postgres", "pg_isready", "createdb", "psql"].iter().all(|program| folder.join(program).is_file())
}

/// Returns the beginning of a command that does not run as root.
fn unprivileged(folder: &Path) -> Command {
    let mut command = match other_user() {
        None => Command::new("env"),
        Some((user, group)) => {
            let mut command = Command::new("setpriv");
            command.arg(format!("--reuid={user}")).arg(format!("--regid={group}")).arg("--clear-groups");
            command
        }
    };
    command.current_dir(folder).env("LC_ALL", "C").env_remove("PGDATA");
    command
}

/// Returns the user of the server if the tests run as root.
fn other_user() -> Option<(u32, u32)> {
    static OTHER: OnceLock<Option<(u32, u32)>> = OnceLock::new();
    *OTHER.get_or_init(|| {
        let id = |arguments: &[&str]| -> Option<u32> {
            let told = Command::new("id").args(arguments).stderr(Stdio::null()).output().ok()?;
            String::from_utf8(told.stdout).ok()?.trim().parse().ok()
        };
        if id(&["-u"]) != Some(0) {
            return None;
        }
        USERS.iter().find_map(|user| Some((id(&["-u", user])?, id(&["-g", user])?)))
    })
}
