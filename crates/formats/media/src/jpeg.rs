//! JPEGs whose entropy-coded data may arrive damaged or not at all.
//!
//! The decoder restarts at each restart marker, so a bit error damages one segment only. The
//! header, with sizes and tables, and the positions of the segments must be exact; both form the
//! [`Layout`]. Every segment is then decoded as a separate picture of a few blocks.

mod arrived;
mod markers;

use crate::error::PictureError;
use crate::jpeg_file;
use crate::picture::{Area, Picture, rgb_len};
pub use arrived::Arrived;
use markers::Head;

/// The width and height of a block in pixels; colours are not subsampled, so an MCU is one block.
const BLOCK: u32 = 8;
/// The maximum number of blocks between two restart markers.
const INTERVAL: u32 = 8;

/// A picture as a header and segments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Jpeg {
    layout: Layout,
    scan: Vec<u8>,
}

impl Jpeg {
    //= S0.27
    //= S0.38
    /// Encodes `picture` with `quality`, 1 to 100, with a restart marker after every few blocks.
    ///
    /// # Errors
    /// It never fails for a picture of this type.
    pub fn encode(picture: &Picture, quality: u8) -> Result<Self, PictureError> {
        let whole = Head::parse(&picture.to_jpeg(quality)?)?.0;
        let head = whole.sized(picture.width(), picture.height());
        let head = head.with_interval(interval(picture.width()));
        let head = head.with_segments(&jpeg_file::segments(picture.viewing()));
        let mut scan = Vec::new();
        let mut lengths = Vec::new();
        for tile in Tiles::of(&head) {
            let bytes = picture.cut(tile).to_jpeg(quality)?;
            let segment = Head::parse(&bytes)?.1;
            // The rest is the marker that ends the picture.
            let segment = segment.get(..segment.len().saturating_sub(2)).unwrap_or_default();
            lengths.push(segment.len() as u16);
            scan.extend(segment);
        }
        Ok(Self { layout: Layout { head, lengths }, scan })
    }

    /// Returns the part that must arrive exactly.
    #[must_use]
    pub const fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Returns the entropy-coded data: the segments without markers, concatenated.
    #[must_use]
    pub fn scan(&self) -> &[u8] {
        &self.scan
    }

    /// Returns the file with restart markers, which any decoder reads.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut arrived = Arrived::new(self.scan.len());
        arrived.put(0, &self.scan);
        self.layout.to_file(&arrived)
    }
}

/// The exact part of a JPEG: its header and the length of each segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    head: Head,
    lengths: Vec<u16>,
}

impl Layout {
    /// Encodes the layout: the length of the header (4 bytes), the header, two bytes for each
    /// segment.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let head = self.head.bytes();
        let mut out = (head.len() as u32).to_be_bytes().to_vec();
        out.extend(head);
        out.extend(self.lengths.iter().flat_map(|length| length.to_be_bytes()));
        out
    }

    /// Decodes a layout from its bytes.
    ///
    /// # Errors
    /// If it is malformed.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, PictureError> {
        let (length, rest) =
            bytes.split_first_chunk::<4>().ok_or(PictureError::Layout("it is short"))?;
        let length = u32::from_be_bytes(*length) as usize;
        let (head, lengths) =
            rest.split_at_checked(length).ok_or(PictureError::Layout("it is short"))?;
        let (head, after) = Head::parse(head)?;
        if !after.is_empty() || head.interval() == 0 {
            return Err(PictureError::Layout("its head is not of a picture in segments"));
        }
        // Longer ones would announce a large picture with few bytes.
        if u32::from(head.interval()) > INTERVAL {
            return Err(PictureError::Layout("its segments have more than 8 blocks"));
        }
        let (width, height) = head.size();
        if !(1..=16_384).contains(&width) || !(1..=16_384).contains(&height) {
            return Err(PictureError::Size(width, height));
        }
        let pairs = lengths.chunks_exact(2);
        let is_whole = pairs.remainder().is_empty();
        let lengths: Vec<u16> = pairs.map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect();
        if !is_whole || lengths.len() != Tiles::of(&head).count() {
            return Err(PictureError::Layout("it has another number of segments than its picture"));
        }
        Ok(Self { head, lengths })
    }

    /// Returns the length of the entropy-coded data in bytes.
    #[must_use]
    pub fn scan_len(&self) -> usize {
        self.lengths.iter().map(|length| usize::from(*length)).sum()
    }

    /// Returns the memory in bytes for receiving and decoding the picture: its data, the file and
    /// its colours.
    #[must_use]
    pub fn memory(&self) -> usize {
        let scan = self.scan_len().saturating_mul(3);
        let (width, height) = self.head.size();
        scan.saturating_add(rgb_len(width, height))
    }

    /// Returns the number of segments.
    #[must_use]
    pub fn segments(&self) -> usize {
        self.lengths.len()
    }

    /// Returns the start and the length of each segment.
    fn places(&self) -> impl Iterator<Item = (usize, usize)> {
        self.lengths.iter().scan(0, |at, length| {
            let begin = *at;
            *at += usize::from(*length);
            Some((begin, usize::from(*length)))
        })
    }

    /// Assembles the file from the received data, with markers at their positions despite damage.
    #[must_use]
    pub fn to_file(&self, arrived: &Arrived) -> Vec<u8> {
        let mut out = self.head.bytes().to_vec();
        for (number, (at, length)) in self.places().enumerate() {
            if number > 0 {
                out.extend([0xff, 0xd0 + ((number - 1) % 8) as u8]);
            }
            out.extend(arrived.segment(at, length));
        }
        out.extend([0xff, 0xd9]);
        out
    }

    //= S0.38
    /// Decodes the received data. A segment that cannot be decoded is replaced by the blocks above
    /// it, or is grey at the top.
    ///
    /// # Errors
    /// If the header cannot be decoded.
    pub fn decode(&self, arrived: &Arrived) -> Result<Decoded, PictureError> {
        let (width, height) = self.head.size();
        let mut picture = Picture::plain(width, height, [128; 3])?;
        // A file without data tells how the picture is to be viewed.
        let empty = [self.head.bytes(), &[0, 0xff, 0xd9]].concat();
        let viewing = Picture::viewing_of(&empty);
        let mut unreadable = 0;
        for (tile, (at, length)) in Tiles::of(&self.head).zip(self.places()) {
            let mut bytes =
                self.head.sized(tile.width, tile.height).with_interval(0).bytes().to_vec();
            let data = arrived.segment(at, length);
            bytes.extend(&data);
            bytes.extend([0xff, 0xd9]);
            match Picture::read(&bytes) {
                Ok(part) if !data.is_empty() => picture.paste(tile.x, tile.y, &part),
                _ => {
                    unreadable += 1;
                    if let Some(y) = tile.y.checked_sub(BLOCK) {
                        let above = picture.cut(Area { y, ..tile });
                        picture.paste(tile.x, tile.y, &above);
                    }
                }
            }
        }
        Ok(Decoded { picture: picture.viewed(viewing), unreadable })
    }
}

/// A picture decoded from damaged data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// The decoded picture.
    pub picture: Picture,
    /// The number of segments that are missing or cannot be decoded.
    pub unreadable: usize,
}

/// Returns the number of blocks between two restart markers, which divides a row so that no segment
/// spans two rows.
fn interval(width: u32) -> u16 {
    let row = width.div_ceil(BLOCK);
    let most = INTERVAL.min(row);
    (1..=most).rev().find(|count| row.is_multiple_of(*count)).unwrap_or(1) as u16
}

/// Returns the part of each segment, in order.
struct Tiles {
    /// The size of the picture.
    width: u32,
    height: u32,
    /// The width of a part.
    step: u32,
    /// The upper left corner of the next part.
    x: u32,
    y: u32,
}

impl Tiles {
    fn of(head: &Head) -> Self {
        let (width, height) = head.size();
        let step = u32::from(head.interval()).max(1) * BLOCK;
        Self { width, height, step, x: 0, y: 0 }
    }
}

impl Iterator for Tiles {
    type Item = Area;

    fn next(&mut self) -> Option<Self::Item> {
        if self.y >= self.height {
            return None;
        }
        let width = self.step.min(self.width - self.x);
        let height = BLOCK.min(self.height - self.y);
        let part = Area { x: self.x, y: self.y, width, height };
        self.x += self.step;
        if self.x >= self.width {
            self.x = 0;
            self.y += BLOCK;
        }
        Some(part)
    }
}

#[cfg(test)]
mod tests;
