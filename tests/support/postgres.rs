//! A private PostgreSQL server, run from the distribution's binaries: the unit tests of the store have it from here too.
//!
//! It listens on a free port of the loopback interface, its data is in a folder of its own, and it ends with the process that started it,
//! however that ends: a shell holds it, and stops it when its standard input is closed.

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

/// Set where a missing server shall be a failure, as `.ci/run` does.
const REQUIRED: &str = "CALLWRIGHT_REQUIRE_POSTGRES";

/// Where Debian puts the binaries of each release.
const DEBIAN: &str = "/usr/lib/postgresql";

/// Users that the server may run as where the tests run as root, which it refuses.
const USERS: [&str; 2] = ["postgres", "nobody"];

/// The database's own user, and its password, which must be found nowhere.
pub(crate) const USER: &str = "callwright";
pub(crate) const PASSWORD: &str = "pg-canary";

/// After this time a server is taken to hang.
const GUARD: Duration = Duration::from_secs(60);

const POLL: Duration = Duration::from_millis(20);

/// Ports are free when they are chosen; another process may take one before the server does.
const TRIES: usize = 5;

/// Runs the server until a line, or the end, of standard input; the line names the signal.
const SUPERVISE: &str = r#"
folder=$1; remove=$2; shift 2
"$@" >>"$folder/log" 2>&1 &
pid=$!
read -r signal
kill -s "${signal:-INT}" "$pid"
wait "$pid"
[ "$remove" = yes ] && rm -rf "$folder"
"#;

/// A server of one's own. Ends when it is dropped.
pub(crate) struct Postgres {
    binaries: PathBuf,
    folder: TempDir,
    port: u16,
    /// Does it sync what it commits to the disk?
    is_durable: bool,
    /// Does the shell remove the folder? Nobody else does where the server ends with the process.
    is_shared: bool,
    running: Option<Child>,
}

/// The URL of a new database in the server that the tests of this process share; `None`, with a message, where there is no PostgreSQL.
pub(crate) fn database() -> Option<String> {
    static SHARED: OnceLock<Option<Postgres>> = OnceLock::new();
    let shared = SHARED.get_or_init(|| Postgres::new(false, true));
    shared.as_ref().map(Postgres::database)
}

impl Postgres {
    /// A durable server of the caller's own; `None`, with a message, where there is no PostgreSQL.
    pub(crate) fn start() -> Option<Self> {
        Self::new(true, false)
    }

    fn new(is_durable: bool, is_shared: bool) -> Option<Self> {
        let Some(binaries) = binaries() else {
            let message = "no PostgreSQL server: install the package `postgresql`";
            assert!(std::env::var(REQUIRED).is_err(), "{message}");
            anstream::eprintln!("skipped: {message}");
            return None;
        };
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
                return Some(server);
            }
        }
        panic!("the server does not start: {}", server.log());
    }

    /// Makes an empty database.
    pub(crate) fn database(&self) -> String {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let name = format!("db{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        let made = self.client("createdb").arg(&name).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        self.url(&name)
    }

    /// The URL of a database of this name.
    pub(crate) fn url(&self, database: &str) -> String {
        format!("postgres://{USER}:{PASSWORD}@127.0.0.1:{}/{database}", self.port)
    }

    /// Stops the server as its service does: running statements are broken off.
    pub(crate) fn stop(&mut self) {
        self.end("INT");
    }

    /// Ends the server without giving it time to write anything, as a crash would.
    pub(crate) fn crash(&mut self) {
        self.end("QUIT");
    }

    /// Starts the server again, on the same port with the same data.
    pub(crate) fn start_again(&mut self) {
        assert!(self.running.is_none(), "it still runs");
        assert!(self.run(), "the server does not start again: {}", self.log());
    }

    /// A client program of PostgreSQL, such as `psql`, as the database's user.
    pub(crate) fn client(&self, program: &str) -> Command {
        let mut command = Command::new(self.binaries.join(program));
        command.env("PGHOST", "127.0.0.1").env("PGPORT", self.port.to_string());
        command.env("PGUSER", USER).env("PGPASSWORD", PASSWORD);
        command
    }

    /// What `psql` prints for a statement, without any decoration.
    pub(crate) fn ask(&self, database: &str, statement: &str) -> String {
        let told = self.client("psql").args(["-XAtq", "-d", database, "-c", statement]).output().unwrap();
        assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
        String::from_utf8(told.stdout).unwrap().trim().to_owned()
    }

    /// What the server logged.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.path("log")).unwrap_or_default()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A program of the server, as a user that it runs for.
    fn command(&self, program: &str) -> Command {
        let mut command = unprivileged(self.folder.path());
        command.arg(self.binaries.join(program));
        command
    }

    /// Runs the server until it answers. `false` where it ends instead.
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
            // What it logged before it was stopped does not count.
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

/// The folder of the newest server's binaries.
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

/// The beginning of a command that does not run as root.
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

/// Whom the server runs as where the tests run as root.
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
