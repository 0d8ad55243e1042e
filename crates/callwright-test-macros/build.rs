//! Finds the services that tests use, and passes their names to the attribute.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// Modules of the Python packages in `tests/clients/requirements.txt`.
const PYTHON_MODULES: [&str; 8] =
    ["anthropic", "fastapi", "openai", "openapi_core", "playwright", "regress", "schemathesis", "uvicorn"];

/// Node.js packages in `tests/clients/node/package.json`.
const NODE_PACKAGES: [&str; 5] =
    ["@anthropic-ai/claude-code", "@anthropic-ai/sdk", "@openai/codex", "axe-core", "openai"];

/// Programs that the tests of the store run.
const POSTGRES: [&str; 5] = ["initdb", "postgres", "pg_isready", "createdb", "psql"];

/// File that changes whenever a Debian package is installed or removed.
const PACKAGES: &str = "/var/lib/dpkg/status";

/// Copy of `tests/clients/requirements.txt` that `.ci/run` makes after installing the packages.
const CLIENTS: &str = "target/venv/requirements.txt";

/// Copy of `tests/clients/node/package-lock.json` that `.ci/run` makes for installing the packages.
const NODE_CLIENTS: &str = "target/node/package-lock.json";

/// Folders in which the embedder finds ONNX Runtime.
const ONNX_FOLDERS: [&str; 5] =
    ["/usr/local/lib", "/opt/onnxruntime/lib", "/usr/lib", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu"];

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let python = env::var_os("CALLWRIGHT_PYTHON").map_or_else(|| root.join("target/venv/bin/python"), PathBuf::from);
    let shared = env::var_os("CALLWRIGHT_SHARED_DATA").map_or_else(|| root.join("../shared"), PathBuf::from);
    let services = [
        ("postgres", has_postgres()),
        ("python_clients", has_python_clients(&python)),
        ("node_clients", has_node_clients(&root.join("target/node/node_modules"))),
        ("chromium", has_chromium()),
        ("prometheus", has_programs(&["prometheus", "promtool"])),
        ("faketime", has_faketime()),
        ("mount", can_mount()),
        ("onnx_runtime", has_onnx_runtime()),
    ];
    let available: Vec<&str> = services.into_iter().filter(|(_, found)| *found).map(|(name, _)| name).collect();
    println!("cargo::rustc-env=CALLWRIGHT_TEST_SERVICES={}", available.join(" "));
    println!("cargo::rustc-env=CALLWRIGHT_TEST_DATA={}", shared.display());

    println!("cargo::rerun-if-changed=build.rs");
    for variable in ["CALLWRIGHT_CHROMIUM", "CALLWRIGHT_PYTHON", "CALLWRIGHT_SHARED_DATA", "ORT_DYLIB_PATH"] {
        println!("cargo::rerun-if-env-changed={variable}");
    }
    // Cargo would run the script each time for a file that does not exist.
    let files = [Path::new(PACKAGES), &python, &root.join(CLIENTS), &root.join(NODE_CLIENTS)];
    for file in files.into_iter().filter(|file| file.exists()) {
        println!("cargo::rerun-if-changed={}", file.display());
    }
}

fn has_postgres() -> bool {
    let releases = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut folders = releases.map(|release| release.path().join("bin"));
    folders.any(|folder| POSTGRES.iter().all(|name| folder.join(name).is_file())) || has_programs(&POSTGRES)
}

fn has_programs(names: &[&str]) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    names.iter().all(|name| env::split_paths(&path).any(|folder| folder.join(name).is_file()))
}

fn has_python_clients(python: &Path) -> bool {
    let search = "import sys, importlib.util as util; sys.exit(not all(map(util.find_spec, sys.argv[1:])))";
    succeeds(Command::new(python).args(["-c", search]).args(PYTHON_MODULES))
}

fn has_node_clients(modules: &Path) -> bool {
    has_programs(&["node"]) && NODE_PACKAGES.iter().all(|package| modules.join(package).join("package.json").is_file())
}

fn has_chromium() -> bool {
    let programs = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].map(PathBuf::from);
    env::var_os("CALLWRIGHT_CHROMIUM").map(PathBuf::from).into_iter().chain(programs).any(|path| path.exists())
}

fn has_faketime() -> bool {
    let folders = fs::read_dir("/usr/lib").into_iter().flatten().flatten();
    folders.into_iter().any(|folder| folder.path().join("faketime/libfaketimeMT.so.1").is_file())
}

fn has_onnx_runtime() -> bool {
    let named = env::var_os("ORT_DYLIB_PATH").filter(|path| !path.is_empty());
    named.is_some_and(|path| Path::new(&path).is_file()) || ONNX_FOLDERS.iter().any(|folder| has_onnx_library(folder))
}

fn has_onnx_library(folder: &str) -> bool {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    files.into_iter().any(|file| file.file_name().to_string_lossy().starts_with("libonnxruntime.so"))
}

/// Whether the user may mount a file system, in a user namespace or as root.
fn can_mount() -> bool {
    let mount = ["sh", "-c", "mount -t tmpfs none /mnt"];
    let as_root = ["unshare", "--mount"];
    let as_user = ["unshare", "--user", "--map-root-user", "--mount"];
    [&as_root[..], &as_user[..]].into_iter().any(|unshare| {
        let command: Vec<&str> = unshare.iter().chain(&mount).copied().collect();
        command.split_first().is_some_and(|(program, arguments)| succeeds(Command::new(program).args(arguments)))
    })
}

fn succeeds(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}
