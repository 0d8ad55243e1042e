//! Spill files after a full disk or a killed process.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use serde_json::json;
use tempfile::{TempDir, tempdir};

use super::*;
use crate::samples::{rows, trace, trace_calling};
use callwright_types::Trace;

const ROOM: u64 = 1 << 30;

fn open(directory: &TempDir) -> Spill {
    Spill::open(directory.path().join("spill"), ROOM)
}

fn some(ids: impl IntoIterator<Item = usize>) -> Vec<TraceRow> {
    rows(ids.into_iter().map(|id| trace_calling(&format!("{id:05}"), 1, &["f", "g"])))
}

/// Returns everything in the spill, read as the writer does.
fn drained(spill: &mut Spill) -> (Vec<TraceRow>, usize) {
    let (mut all, mut lost) = (Vec::new(), 0);
    loop {
        let chunk = spill.oldest(7).unwrap();
        if chunk.rows.is_empty() && chunk.lost == 0 {
            assert!(spill.is_empty() && spill.bytes() == 0);
            return (all, lost);
        }
        all.extend(chunk.rows);
        lost += chunk.lost;
        spill.settle();
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn rows_are_returned_unchanged_in_order_and_leave_nothing() {
    let directory = tempdir().unwrap();
    let mut spill = open(&directory);
    assert!(spill.is_empty() && !directory.path().join("spill").exists());
    let deep = (0..500).fold(json!("line\nbreak \u{0}"), |inner, _| json!([inner]));
    let odd = rows([Trace { request: Some(deep), session: Some("s\n".to_owned()), ..trace("odd", 1) }]);
    let all: Vec<TraceRow> = [some(0..20), odd, some(20..30)].concat();
    for batch in all.chunks(6) {
        spill.push(batch).unwrap();
    }
    assert_eq!(drained(&mut spill), (all, 0));
    assert!(files(&directory.path().join("spill")).is_empty());
}

#[test]
fn rows_are_returned_until_they_are_settled() {
    let directory = tempdir().unwrap();
    let mut spill = open(&directory);
    spill.push(&some(0..10)).unwrap();
    assert_eq!(spill.oldest(4).unwrap().rows, some(0..4));
    assert_eq!(spill.oldest(4).unwrap().rows, some(0..4));
    spill.settle();
    spill.push(&some(10..12)).unwrap();
    assert_eq!(drained(&mut spill).0, some(4..12));
    spill.push(&some(12..13)).unwrap();
    assert_eq!(drained(&mut spill).0, some(12..13));
}

#[test]
fn only_files_of_ended_processes_are_recovered() {
    let directory = tempdir().unwrap();
    let mut first = open(&directory);
    first.push(&some(0..3)).unwrap();
    let mut second = open(&directory);
    assert!(second.is_empty(), "the first one lives");
    second.push(&some(3..5)).unwrap();
    drop(first);
    let mut third = open(&directory);
    assert_eq!(drained(&mut third).0, some(0..3));
    assert_eq!(drained(&mut second).0, some(3..5));
}

#[test]
fn a_partly_read_file_is_recovered_completely() {
    let directory = tempdir().unwrap();
    let mut before = open(&directory);
    before.push(&some(0..9)).unwrap();
    before.oldest(4).unwrap();
    before.settle();
    drop(before);
    assert_eq!(drained(&mut open(&directory)).0, some(0..9));
}

#[test]
fn lines_that_are_broken_are_counted_and_the_others_read() {
    let directory = tempdir().unwrap();
    let mut spill = open(&directory);
    spill.push(&some(0..2)).unwrap();
    drop(spill);
    let path = files(&directory.path().join("spill")).remove(0);
    let whole = fs::read(&path).unwrap();
    let mut file = OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(b"\xff\xfe\n{}\n\n").unwrap();
    file.write_all(&whole).unwrap();
    // Killed in the middle of a line.
    file.write_all(&whole[..whole.len() / 3]).unwrap();
    drop(file);
    let (rows, lost) = drained(&mut open(&directory));
    assert_eq!((rows, lost), ([some(0..2), some(0..2)].concat(), 4));
    // The process may be killed after any byte.
    for length in 0..whole.len() {
        fs::write(&path, &whole[..length]).unwrap();
        let (rows, lost) = drained(&mut open(&directory));
        let expected = some(0..2).into_iter().take(rows.len()).collect::<Vec<_>>();
        assert!(rows == expected && lost <= 1, "{length}: {} rows, {lost} lost", rows.len());
    }
}

#[test]
fn segments_are_bounded_and_so_is_the_whole() {
    let directory = tempdir().unwrap();
    let folder = directory.path().join("spill");
    let mut spill = Spill::open(folder.clone(), 3 * SEGMENT_BYTES);
    let large =
        |id: usize| rows([Trace { request: Some(json!("x".repeat(1 << 20))), ..trace(&format!("{id:05}"), 1) }]);
    let mut kept = 0;
    while spill.push(&large(kept)).is_ok() {
        kept += 1;
        assert!(spill.bytes() <= 3 * SEGMENT_BYTES);
    }
    assert!(kept >= 10 && files(&folder).len() >= 2, "{kept} in {} files", files(&folder).len());
    assert_eq!(spill.push(&large(0)).unwrap_err().kind(), io::ErrorKind::StorageFull);
    spill.push(&some(0..1)).unwrap();
    let (rows, lost) = drained(&mut spill);
    assert_eq!((rows.len(), lost), (kept + 1, 0));
    spill.push(&large(0)).unwrap();
}

#[test]
fn a_folder_that_cannot_be_created_is_an_error_until_it_can() {
    let directory = tempdir().unwrap();
    fs::write(directory.path().join("spill"), "").unwrap();
    let mut spill = open(&directory);
    assert!(spill.push(&some(0..1)).is_err() && spill.is_empty());
    fs::remove_file(directory.path().join("spill")).unwrap();
    spill.push(&some(0..1)).unwrap();
    assert_eq!(drained(&mut spill).0, some(0..1));
}

#[cfg(unix)]
#[test]
fn the_files_are_their_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempdir().unwrap();
    let mut spill = open(&directory);
    spill.push(&some(0..1)).unwrap();
    let folder = directory.path().join("spill");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&folder), mode(&files(&folder)[0])), (FOLDER_MODE, 0o600));
}
