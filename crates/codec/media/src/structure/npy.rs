//! The array files of NumPy: a header in text, and the numbers; perhaps several arrays.

use core::ops::Range;

use crate::numpy::arrays;

/// Returns the headers, and what stands behind the arrays or has no known length, such as objects.
pub(super) fn exact(bytes: &[u8]) -> Vec<Range<usize>> {
    let (arrays, rest) = arrays(bytes);
    let headers = arrays.into_iter().map(|array| array.header);
    headers.chain(core::iter::once(rest..bytes.len())).collect()
}
