//! Traces on disk while the store is down: JSON Lines in segments, written back in their order when it is up again.
//!
//! A segment is one file, locked by the process that writes or reads it. What a process leaves behind, however it ended, the next one
//! that is given the folder takes up. A segment is removed when all of it is in the store; after a crash in between it is written again,
//! which changes nothing.

mod line;
mod segment;

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::path::PathBuf;

pub(super) use segment::held_in;
use segment::{Reading, Sealed, Writing};

use super::TraceRow;

/// Bytes after which a segment is full. A segment is removed as a whole, and its lines are read one after the other, so that this bounds
/// neither memory nor time: it is what the disk has twice at the most.
const SEGMENT_BYTES: u64 = 4 * 1024 * 1024;

/// The folder's permissions, and a segment's: they may hold what users wrote.
const FOLDER_MODE: u32 = 0o700;

/// Traces on disk.
#[derive(Debug)]
pub(super) struct Spill {
    folder: PathBuf,
    most_bytes: u64,
    /// Oldest first.
    sealed: VecDeque<Sealed>,
    writing: Option<Writing>,
    reading: Option<Reading>,
}

/// What is read back.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    /// In the order in which they were written.
    pub(super) rows: Vec<TraceRow>,
    /// Lines that could not be read: a disk that was full, a process that was killed while it wrote.
    pub(super) lost: usize,
}

impl Spill {
    /// Takes up what is in the folder and belongs to no living process. A folder that is not there is made when it is needed.
    pub(super) fn open(folder: PathBuf, most_bytes: u64) -> Self {
        let sealed = segment::left_in(&folder);
        Self { folder, most_bytes, sealed, writing: None, reading: None }
    }

    /// Is there nothing that the store does not have?
    pub(super) fn is_empty(&self) -> bool {
        self.sealed.is_empty() && self.writing.is_none() && self.reading.is_none()
    }

    /// Bytes on disk.
    pub(super) fn bytes(&self) -> u64 {
        let sealed: u64 = self.sealed.iter().map(Sealed::bytes).sum();
        sealed + self.writing.as_ref().map_or(0, Writing::bytes) + self.reading.as_ref().map_or(0, Reading::bytes)
    }

    /// Writes rows behind those that are there. They are on disk when this returns.
    ///
    /// # Errors
    /// When the folder cannot be written, or there is no room left in what it may take; nothing of the rows counts as written then.
    pub(super) fn push(&mut self, rows: &[TraceRow]) -> io::Result<()> {
        let lines = line::lines(rows)?;
        if self.bytes() + lines.len() as u64 > self.most_bytes {
            return Err(io::Error::new(io::ErrorKind::StorageFull, "`[store] spill_bytes` are taken"));
        }
        let mut writing = match self.writing.take() {
            Some(writing) => writing,
            None => {
                self.make_folder()?;
                Writing::new(&self.folder)?
            }
        };
        let written = writing.append(&lines);
        // After an error nobody knows where the file ends.
        if written.is_err() || writing.bytes() >= SEGMENT_BYTES {
            self.sealed.push_back(writing.seal());
        } else {
            self.writing = Some(writing);
        }
        written
    }

    /// The oldest rows, at most `most`; nothing where there are none. They come again until [`Spill::settle`].
    ///
    /// # Errors
    /// When a segment cannot be read; it is left on disk, for people to look at, and not tried again by this process.
    pub(super) fn oldest(&mut self, most: usize) -> io::Result<Chunk> {
        loop {
            let mut reading = match self.reading.take() {
                Some(reading) => reading,
                None => {
                    let writing = || self.writing.take().map(Writing::seal);
                    let Some(sealed) = self.sealed.pop_front().or_else(writing) else { return Ok(Chunk::default()) };
                    Reading::new(sealed)?
                }
            };
            let chunk = reading.chunk(most)?;
            if chunk.rows.is_empty() && chunk.lost == 0 {
                reading.remove();
                continue;
            }
            self.reading = Some(reading);
            return Ok(chunk);
        }
    }

    /// What [`Spill::oldest`] gave last is in the store.
    pub(super) fn settle(&mut self) {
        if let Some(reading) = &mut self.reading {
            reading.settle();
        }
    }

    fn make_folder(&self) -> io::Result<()> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, FOLDER_MODE);
        builder.create(&self.folder)
    }
}

#[cfg(test)]
mod tests;
