//! Files that are compressed by gzip.

use std::borrow::Cow;
use std::io::{self, Read as _};

use flate2::bufread::GzDecoder;
use windfall_base::MemoryBudget;

/// The part of the memory that is left which a file may take after decompression.
const PART: usize = 4;

/// The first bytes of what gzip has compressed.
const MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Returns the bytes of a file, decompressed if gzip has compressed them, and takes from `budget`
/// the memory of the decompressed ones.
///
/// # Errors
/// If the compressed bytes are damaged or others follow them, or the memory does not suffice.
pub fn gunzip_within<'a>(bytes: &'a [u8], budget: &mut MemoryBudget) -> io::Result<Cow<'a, [u8]>> {
    if !bytes.starts_with(&MAGIC) {
        return Ok(Cow::Borrowed(bytes));
    }
    let most = budget.left() / PART;
    let mut plain = Vec::new();
    let mut rest = bytes;
    // A file may have several members; as gzip does, zeros behind them are ignored.
    while rest.iter().any(|byte| *byte != 0) && plain.len() <= most {
        if !rest.starts_with(&MAGIC) {
            let length = rest.len();
            let text = format!("{length} bytes follow the end of the compressed data: remove them");
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        let room = most - plain.len() + 1;
        let mut decoder = GzDecoder::new(rest).take(room as u64);
        if let Err(error) = decoder.read_to_end(&mut plain) {
            let length = plain.len();
            let text = format!("the compressed file is damaged after {length} bytes: {error}");
            return Err(io::Error::new(error.kind(), text));
        }
        rest = decoder.into_inner().into_inner();
    }
    budget.check(plain.len().saturating_mul(PART)).map_err(io::Error::other)?;
    budget.take(plain.len()).map_err(io::Error::other)?;
    Ok(Cow::Owned(plain))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).expect("memory");
        encoder.finish().expect("memory")
    }

    fn plain(bytes: &[u8]) -> Result<Vec<u8>, String> {
        let plain = gunzip_within(bytes, &mut MemoryBudget::default());
        plain.map(Cow::into_owned).map_err(|error| error.to_string())
    }

    #[test]
    fn zeros_behind_the_members_are_ignored_and_other_bytes_are_named() {
        let one = gzip(b"one");
        let two = [one.clone(), gzip(b"two")].concat();
        assert_eq!(plain(&two), Ok(b"onetwo".to_vec()));
        assert_eq!(plain(&[&two[..], &[0; 509]].concat()), Ok(b"onetwo".to_vec()));
        for behind in [&b"garbage"[..], &[0, 0, 7], &MAGIC[..1]] {
            let error = plain(&[&one[..], behind].concat()).expect_err("no member");
            let length = behind.len();
            assert!(error.starts_with(&format!("{length} bytes follow the end")), "{error}");
        }
        let cut = plain(&two[..two.len() - 3]).expect_err("it is cut off");
        assert!(cut.starts_with("the compressed file is damaged after 6 bytes"), "{cut}");
    }

    #[test]
    fn members_together_take_no_more_than_the_memory() {
        let mut budget = MemoryBudget::new(4 * 1000);
        let many = gzip(&[1; 400]).repeat(3);
        assert!(gunzip_within(&many, &mut budget).is_err());
        assert!(gunzip_within(&many, &mut MemoryBudget::new(4 * 1200)).is_ok());
    }
}
