//! The array files of NumPy: a header in text, and the numbers; perhaps several arrays.

use super::Ranges;
use crate::numpy::arrays;

/// Finds the headers, and what stands behind the arrays or has no known length, such as objects.
pub(super) fn exact(bytes: &[u8], found: &mut Ranges) {
    let (arrays, rest) = arrays(bytes);
    arrays.into_iter().for_each(|array| found.push(array.header));
    found.push(rest..bytes.len());
}
