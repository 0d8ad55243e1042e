//! File format of the table, as `distil/table.py` writes it.

use callwright_common::digest::hex;

/// First bytes of the file.
const MAGIC: &[u8] = b"CWTABLE1";

/// Length in bytes of the hash that identifies the table.
const HASH: usize = 8;

/// Vectors of tokens.
#[derive(Debug)]
pub(super) struct TableRows {
    pub(super) hash: String,
    /// Number of components of a vector.
    pub(super) dimensions: usize,
    scales: Vec<f32>,
    /// Rows of signed 8-bit numbers.
    numbers: &'static [u8],
}

impl TableRows {
    pub(super) fn add(&self, row: u32, sum: &mut [f32]) {
        let start = row as usize * self.dimensions;
        let numbers = self.numbers.get(start..start + self.dimensions);
        let (Some(numbers), Some(scale)) = (numbers, self.scales.get(row as usize)) else { return };
        for (component, number) in sum.iter_mut().zip(numbers) {
            *component += f32::from(number.cast_signed()) * scale;
        }
    }
}

/// Parses a file: its rows and their words, in order. `None` if it is invalid.
pub(super) fn parse(file: &'static [u8]) -> Option<(TableRows, Vec<&'static str>)> {
    let file = file.strip_prefix(MAGIC)?;
    let (hash, file) = file.split_at_checked(HASH)?;
    let (rows, file) = number(file)?;
    let (dimensions, file) = number(file)?;
    let (scales, file) = file.split_at_checked(rows.checked_mul(4)?)?;
    let (numbers, words) = file.split_at_checked(rows.checked_mul(dimensions)?)?;
    let scales: Vec<f32> = scales.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
    let words: Vec<&str> = std::str::from_utf8(words).ok()?.lines().collect();
    let fits = words.len() == rows && dimensions > 0 && scales.iter().all(|scale| scale.is_finite());
    fits.then(|| (TableRows { hash: hex(hash), dimensions, scales, numbers }, words))
}

/// Returns a little-endian 32-bit number, and the rest.
fn number(file: &'static [u8]) -> Option<(usize, &'static [u8])> {
    let (bytes, rest) = file.split_first_chunk::<4>()?;
    Some((usize::try_from(u32::from_le_bytes(*bytes)).ok()?, rest))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A table of two rows with two components.
    pub(in crate::embedding::table) const SMALL: &[u8] =
        b"CWTABLE1\x01\x02\x03\x04\x05\x06\x07\x08\x02\0\0\0\x02\0\0\0\0\0\x80\x3f\0\0\0\x3f\x01\xff\x02\x00list\nget\n";

    #[test]
    fn rows_are_numbers_times_their_scale() {
        let (rows, words) = parse(SMALL).unwrap();
        assert_eq!((words, rows.hash.as_str(), rows.dimensions), (vec!["list", "get"], "0102030405060708", 2));
        let mut sum = [0.0; 2];
        for row in [0, 1, 1, 7] {
            rows.add(row, &mut sum);
        }
        assert_eq!(sum, [1.0 + 1.0 + 1.0, -1.0]);
    }

    #[test]
    fn a_truncated_or_damaged_table_is_rejected() {
        for end in 0..SMALL.len() - 4 {
            assert!(parse(&SMALL[..end]).is_none(), "{end}");
        }
        assert!(parse(&[SMALL, b"more\n"].concat().leak()[..]).is_none());
        assert!(parse(b"CWTABLE1\0\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff").is_none());
    }
}
