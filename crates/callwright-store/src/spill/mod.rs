//! Disk buffer for traces during a store outage: JSON Lines in segments, written to the store in order afterwards.
//!
//! Owns the files of the spill folder. Must not write to the store. A segment is one file, locked by the process that
//! writes or reads it. The next process that uses the folder adopts the segments of ended processes. A segment is
//! removed when all its rows are in the store. After a crash its rows are written again, which changes nothing.

mod line;
mod segment;

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::path::PathBuf;

use segment::{SealedSegment, SegmentReader, SegmentWriter};
pub(super) use segment::{TraceChunk, held_in};

use super::TraceRow;

/// Size in bytes at which a segment is full. It bounds neither memory nor time, because lines are read one by one. It
/// bounds the data that is on disk and in the store at once, because segments are removed as a whole.
const SEGMENT_BYTES: u64 = 4 * 1024 * 1024;

/// Permissions of the folder: the traces may contain user data.
const FOLDER_MODE: u32 = 0o700;

/// Traces on disk.
#[derive(Debug)]
pub(super) struct Spill {
    folder: PathBuf,
    most_bytes: u64,
    /// Sealed segments, oldest first.
    sealed: VecDeque<SealedSegment>,
    writing: Option<SegmentWriter>,
    reading: Option<SegmentReader>,
}

impl Spill {
    /// Adopts the segments of ended processes. A missing folder is created on the first write.
    pub(super) fn open(folder: PathBuf, most_bytes: u64) -> Self {
        let sealed = segment::left_in(&folder);
        Self { folder, most_bytes, sealed, writing: None, reading: None }
    }

    /// Whether all rows are in the store.
    pub(super) fn is_empty(&self) -> bool {
        self.sealed.is_empty() && self.writing.is_none() && self.reading.is_none()
    }

    /// Returns the used size in bytes.
    pub(super) fn bytes(&self) -> u64 {
        let sealed: u64 = self.sealed.iter().map(SealedSegment::bytes).sum();
        sealed
            + self.writing.as_ref().map_or(0, SegmentWriter::bytes)
            + self.reading.as_ref().map_or(0, SegmentReader::bytes)
    }

    /// Appends rows. They are on disk when this returns.
    ///
    /// # Errors
    /// If the folder cannot be written, or the size limit is reached; none of the rows count as written then.
    pub(super) fn push(&mut self, rows: &[TraceRow]) -> io::Result<()> {
        let lines = line::lines(rows)?;
        if self.bytes() + lines.len() as u64 > self.most_bytes {
            return Err(io::Error::new(io::ErrorKind::StorageFull, "the limit `[store] spill_bytes` is reached"));
        }
        let mut writing = match self.writing.take() {
            Some(writing) => writing,
            None => {
                self.make_folder()?;
                SegmentWriter::new(&self.folder)?
            }
        };
        let written = writing.append(&lines);
        // After an error the end of the file is undefined.
        if written.is_err() || writing.bytes() >= SEGMENT_BYTES {
            self.sealed.push_back(writing.seal());
        } else {
            self.writing = Some(writing);
        }
        written
    }

    /// Returns at most `most` of the oldest rows; an empty chunk at the end. The same rows are returned until
    /// [`Spill::settle`].
    ///
    /// # Errors
    /// If a segment cannot be read. It remains on disk for inspection, and this process does not retry it.
    pub(super) fn oldest(&mut self, most: usize) -> io::Result<TraceChunk> {
        loop {
            let mut reading = match self.reading.take() {
                Some(reading) => reading,
                None => {
                    let sealed = self.sealed.pop_front();
                    let Some(sealed) = sealed.or_else(|| self.writing.take().map(SegmentWriter::seal)) else {
                        return Ok(TraceChunk::default());
                    };
                    SegmentReader::new(sealed)?
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

    /// Confirms that the last chunk from [`Spill::oldest`] is in the store.
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
