//! Memory for request bodies: the cost of a body, and the memory that the process may use, which is that of the machine, or
//! less in a container.

use std::fs::read_to_string;
use std::path::Path;

/// Memory in bytes that a turn takes for each byte of its body at most: the body itself, its parsed form, the request to
/// the upstream, its tools, the trace, and buffers of its connection. 1,000 connections with bodies of 200 kB took 1,097 MB
/// when 134 MB of bodies were held at a time (`bench/attack`, scenario `large-bodies`).
const BODY_COST: usize = 8;

/// Returns the memory that the turn of a body of this size may take.
pub(super) fn cost(bytes: usize) -> usize {
    bytes.saturating_mul(BODY_COST)
}

/// Returns the memory in bytes: the minimum of physical memory and of the limits of the process's control groups (version
/// 2 `memory.max`, version 1 `memory.limit_in_bytes`). `None` if the system reports none, as other systems than Linux.
pub(super) fn usable_memory() -> Option<u64> {
    usable_below(Path::new("/"))
}

fn usable_below(root: &Path) -> Option<u64> {
    let physical = read_to_string(root.join("proc/meminfo")).ok().as_deref().and_then(physical);
    let groups = read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    physical.into_iter().chain(groups.lines().filter_map(|group| limit_of(root, group))).min()
}

fn physical(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
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
    let limits = groups.filter_map(|group| read_to_string(root.join(mount).join(group).join(file)).ok());
    limits.filter_map(|limit| limit.trim().parse().ok()).min()
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
