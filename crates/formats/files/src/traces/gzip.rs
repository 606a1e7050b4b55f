//! Files that are compressed by gzip.

use std::borrow::Cow;
use std::io::{self, Read as _};

use flate2::read::MultiGzDecoder;
use windfall_base::MemoryBudget;

/// The part of the memory that is left which a file may take after decompression.
const PART: usize = 4;

/// Returns the bytes of a file, decompressed if gzip has compressed them, and takes from `budget`
/// the memory of the decompressed ones.
///
/// # Errors
/// If the compressed bytes are damaged, or the memory does not suffice.
pub fn gunzip_within<'a>(bytes: &'a [u8], budget: &mut MemoryBudget) -> io::Result<Cow<'a, [u8]>> {
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return Ok(Cow::Borrowed(bytes));
    }
    let most = budget.left() / PART;
    let mut plain = Vec::new();
    let mut decoder = MultiGzDecoder::new(bytes).take(most as u64 + 1);
    if let Err(error) = decoder.read_to_end(&mut plain) {
        let text = format!("the compressed file is damaged after {} bytes: {error}", plain.len());
        return Err(io::Error::new(error.kind(), text));
    }
    budget.check(plain.len().saturating_mul(PART)).map_err(io::Error::other)?;
    budget.take(plain.len()).map_err(io::Error::other)?;
    Ok(Cow::Owned(plain))
}
