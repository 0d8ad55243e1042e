//! One file of the spill: written, sealed, read, removed.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::line;
use crate::TraceRow;

/// Permissions of a segment.
const FILE_MODE: u32 = 0o600;

/// File name suffix of segments.
const SUFFIX: &str = ".jsonl";

/// Rows read from disk.
#[derive(Debug, Default)]
pub(crate) struct TraceChunk {
    /// Rows in the order of writing.
    pub(crate) rows: Vec<TraceRow>,
    /// Number of unreadable lines, from a full disk or a process killed during a write.
    pub(crate) lost: usize,
}

/// Segment that is written.
#[derive(Debug)]
pub(super) struct SegmentWriter {
    path: PathBuf,
    file: File,
    bytes: u64,
}

impl SegmentWriter {
    /// Creates a segment. File names sort by time.
    pub(super) fn new(folder: &Path) -> io::Result<Self> {
        let name = format!("{:020}-{:016x}{SUFFIX}", Timestamp::now().as_nanosecond(), fastrand::u64(..));
        let path = folder.join(name);
        let mut open = OpenOptions::new();
        open.read(true).append(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut open, FILE_MODE);
        let file = open.open(&path)?;
        file.lock()?;
        // The directory entry, too, must survive a power failure.
        File::open(folder)?.sync_all()?;
        Ok(Self { path, file, bytes: 0 })
    }

    /// Appends lines; they are on disk when this returns. After an error the file is truncated to its former size if
    /// possible.
    pub(super) fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        let written = self.file.write_all(lines).and_then(|()| self.file.sync_data());
        match written {
            Ok(()) => self.bytes += lines.len() as u64,
            Err(_) => drop(self.file.set_len(self.bytes)),
        }
        written
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn seal(self) -> SealedSegment {
        let Self { path, file, bytes } = self;
        SealedSegment { path, file, bytes }
    }
}

/// Complete segment. Its lock is held.
#[derive(Debug)]
pub(super) struct SealedSegment {
    path: PathBuf,
    file: File,
    bytes: u64,
}

impl SealedSegment {
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// Locks and returns the segments of a folder that no running process holds, oldest first.
pub(super) fn left_in(folder: &Path) -> VecDeque<SealedSegment> {
    paths_in(folder).into_iter().filter_map(adopt).collect()
}

/// Locks a segment; returns `None` if a running process holds it.
fn adopt(path: PathBuf) -> Option<SealedSegment> {
    let file = OpenOptions::new().read(true).append(true).open(&path).ok()?;
    file.try_lock().ok()?;
    let bytes = file.metadata().ok()?.len();
    Some(SealedSegment { path, file, bytes })
}

/// Returns the number of segments of a folder that running processes hold.
pub(crate) fn held_in(folder: &Path) -> u64 {
    paths_in(folder).iter().filter(|path| is_held(path)).count() as u64
}

fn is_held(path: &Path) -> bool {
    let file = OpenOptions::new().read(true).append(true).open(path);
    file.is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
}

/// Returns the paths of the segments of a folder, oldest first.
fn paths_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut paths: Vec<PathBuf> = entries.filter(|path| path.to_string_lossy().ends_with(SUFFIX)).collect();
    paths.sort();
    paths
}

#[derive(Debug)]
pub(super) struct SegmentReader {
    path: PathBuf,
    lines: BufReader<File>,
    bytes: u64,
    /// Offset after the confirmed lines.
    settled: u64,
    /// Offset after the lines read last.
    read: u64,
}

impl SegmentReader {
    pub(super) fn new(sealed: SealedSegment) -> io::Result<Self> {
        let SealedSegment { path, mut file, bytes } = sealed;
        file.seek(SeekFrom::Start(0))?;
        Ok(Self { path, lines: BufReader::new(file), bytes, settled: 0, read: 0 })
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the next rows, which repeat until they are confirmed; an empty chunk at the end.
    pub(super) fn chunk(&mut self, most: usize) -> io::Result<TraceChunk> {
        self.lines.seek(SeekFrom::Start(self.settled))?;
        self.read = self.settled;
        let (mut chunk, mut line) = (TraceChunk::default(), Vec::new());
        while chunk.rows.len() < most {
            line.clear();
            let length = self.lines.read_until(b'\n', &mut line)?;
            if length == 0 {
                break;
            }
            self.read += length as u64;
            match line::row(&line) {
                Some(row) => chunk.rows.push(row),
                None => {
                    tracing::warn!(file = %self.path.display(), byte = self.read, "skipping an unreadable spilled trace");
                    chunk.lost += 1;
                }
            }
        }
        Ok(chunk)
    }

    /// Confirms the rows read last.
    pub(super) fn settle(&mut self) {
        self.settled = self.read;
    }

    /// Removes the file, after all its rows are in the store.
    pub(super) fn remove(self) {
        if let Err(error) = fs::remove_file(&self.path) {
            tracing::warn!(file = %self.path.display(), %error, "cannot remove the file of stored traces");
        }
    }
}
