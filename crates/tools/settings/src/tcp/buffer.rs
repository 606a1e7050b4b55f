//! The sizes of buffers, as text.

use windfall_base::ByteCount;
use windfall_tcp::BufferSize;

use super::LARGEST_WINDOW;

/// A number of bytes in the range of buffers.
pub(super) fn size(text: &str) -> Option<usize> {
    let ByteCount(bytes) = text.parse().ok()?;
    usize::try_from(bytes).ok().filter(|it| (1000..=LARGEST_WINDOW).contains(it))
}

pub(super) fn buffer_size(text: &str) -> Option<BufferSize> {
    let (initial, most) = text.split_once(':').unwrap_or((text, text));
    let initial = size(initial)?;
    let most = size(most)?;
    (initial <= most).then_some(BufferSize { initial, most })
}

pub(super) fn buffer_text(BufferSize { initial, most }: BufferSize) -> String {
    let first = ByteCount(initial as u64);
    let greatest = ByteCount(most as u64);
    if initial == most { first.to_string() } else { format!("{first}:{greatest}") }
}
