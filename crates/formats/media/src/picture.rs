//! Pictures and their similarity.

use std::io::Cursor;

use image::codecs::jpeg::JpegEncoder;
use image::metadata::Orientation;
use image::{
    DynamicImage, ExtendedColorType, ImageDecoder, ImageFormat, ImageReader, Limits, RgbImage,
};
use windfall_base::MemoryBudget;

use crate::error::PictureError;
use crate::jpeg_file::{self, Viewing};
use crate::structure::oversized_sample;

/// The maximum width and height in pixels.
const LONGEST: u32 = 16_384;
/// The memory for decoding a picture as a multiple of its size: coefficients or samples of 16 bits,
/// and the result.
const DECODING: usize = 3;
/// The window size of [`Picture::ssim`], and the step between windows.
const WINDOW: (usize, usize) = (8, 4);

/// Rows of colours from the top; red, green and blue of 8 bits each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    width: u32,
    height: u32,
    rgb: Vec<u8>,
    viewing: Viewing,
}

impl Picture {
    /// Creates a picture whose pixel at column `x` of row `y` is `color(x, y)`.
    ///
    /// # Errors
    /// If a side is 0 or more than 16384.
    pub fn draw(
        width: u32,
        height: u32,
        mut color: impl FnMut(u32, u32) -> [u8; 3],
    ) -> Result<Self, PictureError> {
        if !(1..=LONGEST).contains(&width) || !(1..=LONGEST).contains(&height) {
            return Err(PictureError::Size(width, height));
        }
        let places = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
        let rgb = places.flat_map(|(x, y)| color(x, y)).collect();
        Ok(Self { width, height, rgb, viewing: Viewing::default() })
    }

    /// Creates a picture of one colour.
    ///
    /// # Errors
    /// As [`draw`](Self::draw).
    pub fn plain(width: u32, height: u32, color: [u8; 3]) -> Result<Self, PictureError> {
        Self::draw(width, height, |_, _| color)
    }

    /// Decodes a JPEG or a portable pixmap with the default memory budget.
    ///
    /// # Errors
    /// As [`read_within`](Self::read_within).
    pub fn read(bytes: &[u8]) -> Result<Self, PictureError> {
        Self::read_within(bytes, &mut MemoryBudget::default())
    }

    /// Decodes a JPEG or a portable pixmap, and takes the memory that it keeps from `budget`.
    ///
    /// # Errors
    /// If it is in another format or too large.
    pub fn read_within(bytes: &[u8], budget: &mut MemoryBudget) -> Result<Self, PictureError> {
        Self::read_checked(bytes, budget, false)
    }

    /// Decodes a picture as [`read_within`](Self::read_within) that has not crossed a bad link: a
    /// JPEG whose scans end before their pictures is cut off, even if an end of image follows.
    ///
    /// # Errors
    /// As [`read_within`](Self::read_within), and if blocks are missing.
    pub fn read_whole_within(
        bytes: &[u8],
        budget: &mut MemoryBudget,
    ) -> Result<Self, PictureError> {
        Self::read_checked(bytes, budget, true)
    }

    fn read_checked(
        bytes: &[u8],
        budget: &mut MemoryBudget,
        is_whole: bool,
    ) -> Result<Self, PictureError> {
        let is_jpeg = bytes.starts_with(&[0xff, 0xd8]);
        let is_pnm = matches!(bytes, [b'P', b'1'..=b'7', ..]);
        if !is_jpeg && !is_pnm {
            return Err(PictureError::Foreign);
        }
        if is_jpeg {
            jpeg_file::check(bytes)?;
        }
        let format = if is_jpeg { ImageFormat::Jpeg } else { ImageFormat::Pnm };
        let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
        let mut limits = Limits::default();
        limits.max_alloc = Some(budget.left() as u64);
        reader.limits(limits);
        let mut decoder = reader.into_decoder()?;
        let (width, height) = decoder.dimensions();
        if !(1..=LONGEST).contains(&width) || !(1..=LONGEST).contains(&height) {
            return Err(PictureError::Size(width, height));
        }
        let kept = rgb_len(width, height);
        budget.check(kept * DECODING)?;
        if let Some((sample, most)) = oversized_sample(bytes) {
            return Err(PictureError::Sample(sample, most));
        }
        if is_jpeg && is_whole && jpeg_file::lacks_blocks(bytes) {
            return Err(PictureError::Cut(bytes.len()));
        }
        let viewing = Viewing::of(&mut decoder, bytes);
        let image = DynamicImage::from_decoder(decoder)?.into_rgb8();
        budget.take(kept)?;
        Ok(Self { width, height, rgb: image.into_raw(), viewing })
    }

    /// Encodes the picture as a portable pixmap, turned as it is to be viewed.
    #[must_use]
    pub fn to_ppm(&self) -> Vec<u8> {
        let mut size = (self.width, self.height);
        let mut rgb = self.rgb.clone();
        if self.viewing.orientation != Orientation::NoTransforms
            && let Some(image) = RgbImage::from_raw(self.width, self.height, rgb.clone())
        {
            let mut image = DynamicImage::from(image);
            image.apply_orientation(self.viewing.orientation);
            size = (image.width(), image.height());
            rgb = image.into_rgb8().into_raw();
        }
        let mut out = format!("P6\n{} {}\n255\n", size.0, size.1).into_bytes();
        out.extend(rgb);
        out
    }

    /// Returns what a viewer must know.
    pub(crate) const fn viewing(&self) -> &Viewing {
        &self.viewing
    }

    /// Returns what the header of a JPEG tells a viewer.
    pub(crate) fn viewing_of(bytes: &[u8]) -> Viewing {
        let reader = ImageReader::with_format(Cursor::new(bytes), ImageFormat::Jpeg);
        let decoder = reader.into_decoder();
        decoder.map_or_else(|_| Viewing::default(), |mut it| Viewing::of(&mut it, bytes))
    }

    /// Returns the picture to be viewed in another way.
    pub(crate) fn viewed(self, viewing: Viewing) -> Self {
        Self { viewing, ..self }
    }

    /// Encodes the picture as a plain JPEG of `quality`, 1 to 100.
    ///
    /// # Errors
    /// It never fails for a picture of this type.
    pub fn to_jpeg(&self, quality: u8) -> Result<Vec<u8>, PictureError> {
        let mut out = Vec::new();
        let mut encoder = JpegEncoder::new_with_quality(&mut out, quality.clamp(1, 100));
        encoder.encode(&self.rgb, self.width, self.height, ExtendedColorType::Rgb8)?;
        Ok(out)
    }

    /// Returns the width in pixels.
    #[must_use]
    pub const fn width(&self) -> u32 {
        self.width
    }

    /// Returns the height in pixels.
    #[must_use]
    pub const fn height(&self) -> u32 {
        self.height
    }

    /// Returns the red, green and blue of a pixel.
    pub(crate) fn color(&self, x: u32, y: u32) -> [u8; 3] {
        let at = self.place(x, y);
        [self.rgb[at], self.rgb[at + 1], self.rgb[at + 2]]
    }

    fn place(&self, x: u32, y: u32) -> usize {
        3 * (y as usize * self.width as usize + x as usize)
    }

    /// Returns the part of a picture in an area, which is clipped at the edges.
    pub(crate) fn cut(&self, area: Area) -> Self {
        let width = area.width.min(self.width - area.x);
        let height = area.height.min(self.height - area.y);
        let rows = (area.y..area.y + height).map(|row| self.place(area.x, row));
        let rgb = rows.flat_map(|at| &self.rgb[at..at + 3 * width as usize]).copied().collect();
        Self { width, height, rgb, viewing: Viewing::default() }
    }

    /// Copies `part` to the position `x`, `y`, clipped at the edges.
    pub(crate) fn paste(&mut self, x: u32, y: u32, part: &Self) {
        let width = part.width.min(self.width.saturating_sub(x)) as usize;
        for row in 0..part.height.min(self.height.saturating_sub(y)) {
            let to = self.place(x, y + row);
            let from = part.place(0, row);
            self.rgb[to..to + 3 * width].copy_from_slice(&part.rgb[from..from + 3 * width]);
        }
    }

    //= S0.38
    /// Returns the peak signal-to-noise ratio against `other` in dB over all colours; infinite for
    /// equal pictures, `None` if the sizes differ.
    #[must_use]
    pub fn psnr(&self, other: &Self) -> Option<f64> {
        if (self.width, self.height) != (other.width, other.height) {
            return None;
        }
        let squares =
            self.rgb.iter().zip(&other.rgb).map(|(a, b)| u64::from(a.abs_diff(*b)).pow(2));
        let mean = squares.sum::<u64>() as f64 / self.rgb.len() as f64;
        Some(10.0 * (255.0 * 255.0 / mean).log10())
    }

    //= S0.38
    /// Returns the structural similarity to `other`: the mean over windows of 8 × 8 pixels, every 4
    /// pixels, of the brightness (Wang et al. 2004); 1 for equal pictures, `None` if the sizes
    /// differ or the picture is smaller than a window.
    #[must_use]
    pub fn ssim(&self, other: &Self) -> Option<f64> {
        let (side, step) = WINDOW;
        let width = self.width as usize;
        let height = self.height as usize;
        let same = (self.width, self.height) == (other.width, other.height);
        if !same || width.min(height) < side {
            return None;
        }
        let ours = self.brightness();
        let theirs = other.brightness();
        let mut sum = 0.0;
        let mut count = 0.0;
        for y in (0..=height - side).step_by(step) {
            for x in (0..=width - side).step_by(step) {
                let places = (0..side * side).map(|i| (y + i / side) * width + x + i % side);
                sum += similarity(places.map(|at| (ours[at], theirs[at])));
                count += 1.0;
            }
        }
        Some(sum / count)
    }

    /// Returns the brightness of each pixel (BT.601).
    fn brightness(&self) -> Vec<f64> {
        let weigh = |rgb: &[u8]| {
            0.299 * f64::from(rgb[0]) + 0.587 * f64::from(rgb[1]) + 0.114 * f64::from(rgb[2])
        };
        self.rgb.chunks_exact(3).map(weigh).collect()
    }
}

/// A rectangle of pixels in a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Area {
    /// The column of the upper left corner.
    pub(crate) x: u32,
    /// The row of the upper left corner.
    pub(crate) y: u32,
    pub(crate) width: u32,
    pub(crate) height: u32,
}

/// Returns the size of the colours in bytes.
pub(crate) const fn rgb_len(width: u32, height: u32) -> usize {
    3 * width as usize * height as usize
}

/// Returns the structural similarity of one window.
fn similarity(pairs: impl Iterator<Item = (f64, f64)>) -> f64 {
    let c1 = (0.01_f64 * 255.0).powi(2);
    let c2 = (0.03_f64 * 255.0).powi(2);
    let mut sums = [0.0; 5];
    let mut count = 0.0;
    for (a, b) in pairs {
        for (sum, value) in sums.iter_mut().zip([a, b, a * a, b * b, a * b]) {
            *sum += value;
        }
        count += 1.0;
    }
    let [a, b, aa, bb, ab] = sums.map(|sum| sum / count);
    let variances = aa - a * a + bb - b * b;
    let covariance = ab - a * b;
    (2.0 * a * b + c1) * (2.0 * covariance + c2) / ((a * a + b * b + c1) * (variances + c2))
}

#[cfg(test)]
mod tests;
