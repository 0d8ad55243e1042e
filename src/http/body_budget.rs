//! Memory for request bodies: the cost of a body, and the memory that the process may use, which is that of the machine, or
//! less in a container.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Memory in bytes that a turn takes for each byte of its body at most: the body itself, its parsed form, the request to
/// the upstream, its tools, the trace, and buffers of its connection. 1,000 connections with bodies of 200 kB took 1,097 MB
/// when 134 MB of bodies were held at a time (`bench/attack`, scenario `large-bodies`).
const BODY_COST: usize = 8;

/// Returns the memory that the turn of a body of this size may take.
pub(super) fn cost(bytes: usize) -> usize {
    bytes.saturating_mul(BODY_COST)
}

/// Maximum number of bytes to read of a file of the kernel.
const MAX_BYTES: u64 = 64 * 1024;

/// Bytes per `kB` of `/proc/meminfo`.
const KIBIBYTE: u64 = 1024;

/// Returns the memory in bytes: the minimum of physical memory and of the limits of the process's control groups (version
/// 2 `memory.max`, version 1 `memory.limit_in_bytes`). `None` if the system reports none, as other systems than Linux.
pub(super) fn usable_memory() -> Option<u64> {
    usable_below(Path::new("/"))
}

fn usable_below(root: &Path) -> Option<u64> {
    let physical = text(&root.join("proc/meminfo")).as_deref().and_then(physical);
    let groups = text(&root.join("proc/self/cgroup")).unwrap_or_default();
    physical.into_iter().chain(groups.lines().filter_map(|group| limit_of(root, group))).min()
}

fn physical(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(KIBIBYTE)
}

/// Returns the smallest limit of a control group and those around it. A container may not see the path of its group: its
/// own limit is that of the root then.
fn limit_of(root: &Path, group: &str) -> Option<u64> {
    let mut parts = group.splitn(3, ':').skip(1);
    let (controllers, path) = (parts.next()?, parts.next()?.trim_start_matches('/'));
    let (mount, file) = match controllers {
        "" => ("sys/fs/cgroup", "memory.max"),
        _ if controllers.split(',').any(|controller| controller == "memory") => {
            ("sys/fs/cgroup/memory", "memory.limit_in_bytes")
        }
        _ => return None,
    };
    let groups = Path::new(path).ancestors();
    groups.filter_map(|group| text(&root.join(mount).join(group).join(file))?.trim().parse().ok()).min()
}

fn text(path: &Path) -> Option<String> {
    let mut text = String::new();
    File::open(path).ok()?.take(MAX_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn usable(files: &[(&str, &str)]) -> Option<u64> {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        usable_below(root.path())
    }

    #[test]
    fn the_smallest_limit_counts() {
        let memory = ("proc/meminfo", "MemTotal:        2048 kB\nMemFree: 1 kB\n");
        assert_eq!(usable(&[]), None);
        assert_eq!(usable(&[memory]), Some(2_097_152));
        let group = ("proc/self/cgroup", "0::/app/proxy\n");
        let inner = ("sys/fs/cgroup/app/proxy/memory.max", "max\n");
        assert_eq!(usable(&[memory, group, inner]), Some(2_097_152));
        let outer = ("sys/fs/cgroup/app/memory.max", "1000000\n");
        assert_eq!(usable(&[memory, group, inner, outer]), Some(1_000_000));
        let container = [memory, ("proc/self/cgroup", "0::/\n"), ("sys/fs/cgroup/memory.max", "500000\n")];
        assert_eq!(usable(&container), Some(500_000));
    }

    #[test]
    fn limits_of_version_1_count() {
        let memory = ("proc/meminfo", "MemTotal: 2048 kB\n");
        let groups = ("proc/self/cgroup", "9:cpu,cpuacct:/docker/1\n5:memory:/docker/1\n");
        let unlimited = ("sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes", "9223372036854771712\n");
        assert_eq!(usable(&[memory, groups, unlimited]), Some(2_097_152));
        let hidden = ("sys/fs/cgroup/memory/memory.limit_in_bytes", "700000\n");
        assert_eq!(usable(&[memory, groups, hidden]), Some(700_000));
    }
}
