//! Raw pictures of video in YUV 4:2:0, their similarity, and a clip of the project's own.

mod avi;
mod quality;
mod talking_head;

pub use avi::{AviClip, FourCc};
pub use quality::{ClipQuality, PictureQuality};
pub use talking_head::{TALKING_HEAD, talking_head};

use crate::error::PictureError;
use crate::picture::Picture;

/// The largest width and height of video.
const LONGEST: u32 = 4_096;

/// The size of the pictures of a clip, and how many there are in a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VideoFormat {
    /// The width in pixels, even.
    pub width: u32,
    /// The height in pixels, even.
    pub height: u32,
    /// Pictures in a second.
    pub rate: f64,
}

impl VideoFormat {
    /// QCIF at ten pictures a second, as in paper 001.
    pub const QCIF: Self = Self { width: 176, height: 144, rate: 10.0 };

    /// Checks the size.
    ///
    /// # Errors
    /// If a side is odd, 0 or above 4096.
    pub fn check(self) -> Result<Self, PictureError> {
        if is_valid_side(self.width) && is_valid_side(self.height) {
            Ok(self)
        } else {
            Err(PictureError::VideoSize(self.width, self.height))
        }
    }

    /// Returns the number of bytes of a raw picture.
    #[must_use]
    pub const fn picture_len(self) -> usize {
        self.width as usize * self.height as usize * 3 / 2
    }

    /// Returns the widths and heights of the three planes.
    const fn planes(self) -> [(usize, usize); 3] {
        let width = self.width as usize;
        let height = self.height as usize;
        [(width, height), (width / 2, height / 2), (width / 2, height / 2)]
    }
}

/// Returns whether a picture may have a side of that length.
fn is_valid_side(side: u32) -> bool {
    side.is_multiple_of(2) && (2..=LONGEST).contains(&side)
}

/// One raw picture: the planes Y, U and V, the latter at half the width and height.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct YuvPicture {
    width: u32,
    height: u32,
    data: Vec<u8>,
}

impl YuvPicture {
    /// Creates a picture from its planes in a row.
    ///
    /// # Errors
    /// If the length is not that of the format, or the size is none of video.
    pub fn new(format: VideoFormat, data: Vec<u8>) -> Result<Self, PictureError> {
        let format = format.check()?;
        if data.len() != format.picture_len() {
            return Err(PictureError::Layout("it has not the length of a picture of its size"));
        }
        Ok(Self { width: format.width, height: format.height, data })
    }

    /// Creates a grey picture.
    ///
    /// # Errors
    /// If the size is none of video.
    pub fn grey(format: VideoFormat) -> Result<Self, PictureError> {
        Self::new(format, vec![128; format.check()?.picture_len()])
    }

    /// Converts a picture; colours are averaged over squares of four pixels (BT.601, video range).
    ///
    /// # Errors
    /// If a side is odd or above 4096.
    pub fn from_picture(picture: &Picture) -> Result<Self, PictureError> {
        let width = picture.width();
        let height = picture.height();
        VideoFormat { width, height, rate: 1.0 }.check()?;
        let at = |x: u32, y: u32| picture.color(x, y).map(f64::from);
        let mut data = Vec::new();
        for (x, y) in places(width, height) {
            let [r, g, b] = at(x, y);
            data.push((16.0 + (65.481 * r + 128.553 * g + 24.966 * b) / 255.0).round() as u8);
        }
        for weights in [[-37.797, -74.203, 112.0], [112.0, -93.786, -18.214]] {
            for (x, y) in places(width / 2, height / 2) {
                let square =
                    [(0, 0), (1, 0), (0, 1), (1, 1)].map(|(i, j)| at(2 * x + i, 2 * y + j));
                let mean =
                    [0, 1, 2].map(|part| square.iter().map(|it| it[part]).sum::<f64>() / 4.0);
                let value: f64 = mean.iter().zip(weights).map(|(part, weight)| part * weight).sum();
                data.push((128.0 + value / 255.0).round() as u8);
            }
        }
        Ok(Self { width, height, data })
    }

    /// Converts to colours.
    #[must_use]
    pub fn to_picture(&self) -> Picture {
        let width = self.width as usize;
        let height = self.height as usize;
        let u = width * height;
        let v = width * height * 5 / 4;
        let color = |x: u32, y: u32| {
            let x = x as usize;
            let y = y as usize;
            let square = y / 2 * (width / 2) + x / 2;
            let luma = 1.164_383 * (f64::from(self.data[y * width + x]) - 16.0);
            let [u, v] = [u, v].map(|plane| f64::from(self.data[plane + square]) - 128.0);
            let rgb =
                [luma + 1.596_027 * v, luma - 0.391_762 * u - 0.812_968 * v, luma + 2.017_232 * u];
            rgb.map(|part| part.round().clamp(0.0, 255.0) as u8)
        };
        Picture::draw(self.width, self.height, color).expect("video is smaller than pictures")
    }

    /// Returns the planes in a row.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.data
    }

    /// Returns the size; the rate of a single picture is 1.
    const fn format(&self) -> VideoFormat {
        VideoFormat { width: self.width, height: self.height, rate: 1.0 }
    }

    /// Returns the planes with their widths and heights.
    fn planes(&self) -> [(&[u8], usize, usize); 3] {
        let mut rest = &self.data[..];
        self.format().planes().map(|(width, height)| {
            let (plane, after) = rest.split_at(width * height);
            rest = after;
            (plane, width, height)
        })
    }
}

fn places(width: u32, height: u32) -> impl Iterator<Item = (u32, u32)> {
    (0..height).flat_map(move |y| (0..width).map(move |x| (x, y)))
}

#[cfg(test)]
mod tests;
