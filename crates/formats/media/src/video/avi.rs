//! AVI files of one stream of video, in which pictures may be missing.
//!
//! An elementary stream of H.263 or H.264 has no place for pictures that did not arrive. A decoder
//! that reads it from this container keeps the time of the others.

use super::VideoFormat;

/// The code of a format of video in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FourCc {
    /// H.263 and H.263+.
    H263,
    /// H.264 with start codes.
    H264,
    /// H.265 with start codes.
    H265,
}

impl FourCc {
    const fn bytes(self) -> &'static [u8; 4] {
        match self {
            Self::H263 => b"H263",
            Self::H264 => b"H264",
            Self::H265 => b"HEVC",
        }
    }
}

/// A clip of coded pictures.
#[derive(Clone, Debug)]
pub struct AviClip<'a> {
    /// The size of the pictures and their rate.
    pub format: VideoFormat,
    /// The coding of the pictures.
    pub codec: FourCc,
    /// The coded pictures; one that is missing has no bytes.
    pub pictures: &'a [Vec<u8>],
}

impl AviClip<'_> {
    /// Encodes the file.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut movie = b"movi".to_vec();
        let mut index = Vec::new();
        for picture in self.pictures {
            let at = movie.len() as u32;
            // Every picture may be damaged: none is promised to be a key picture.
            index.extend(b"00dc");
            for word in [0x10, at, picture.len() as u32] {
                index.extend(word.to_le_bytes());
            }
            chunk(&mut movie, *b"00dc", picture);
        }
        let mut body = b"AVI ".to_vec();
        chunk(&mut body, *b"LIST", &self.headers());
        chunk(&mut body, *b"LIST", &movie);
        chunk(&mut body, *b"idx1", &index);
        let mut out = Vec::new();
        chunk(&mut out, *b"RIFF", &body);
        out
    }

    fn headers(&self) -> Vec<u8> {
        let VideoFormat { width, height, rate } = self.format;
        let count = self.pictures.len() as u32;
        let micros = (1e6 / rate) as u32;
        let mut main = Vec::new();
        for word in [micros, 0, 0, 0x10, count, 0, 1, 0, width, height, 0, 0, 0, 0] {
            main.extend(word.to_le_bytes());
        }
        let mut stream = b"vids".to_vec();
        stream.extend(self.codec.bytes());
        let rate = (rate * 1_000.0).round() as u32;
        for word in [0, 0, 0, 1_000, rate, 0, count, 0, u32::MAX, 0, 0, 0] {
            stream.extend(word.to_le_bytes());
        }
        let mut format = Vec::new();
        for word in [40, width, height, 1 | 24 << 16] {
            format.extend(word.to_le_bytes());
        }
        format.extend(self.codec.bytes());
        for word in [width * height * 3, 0, 0, 0, 0] {
            format.extend(word.to_le_bytes());
        }
        let mut list = b"strl".to_vec();
        chunk(&mut list, *b"strh", &stream);
        chunk(&mut list, *b"strf", &format);
        let mut headers = b"hdrl".to_vec();
        chunk(&mut headers, *b"avih", &main);
        chunk(&mut headers, *b"LIST", &list);
        headers
    }
}

/// Appends a chunk, filled up to an even length.
fn chunk(out: &mut Vec<u8>, name: [u8; 4], data: &[u8]) {
    out.extend(name);
    out.extend((data.len() as u32).to_le_bytes());
    out.extend(data);
    if data.len() % 2 == 1 {
        out.push(0);
    }
}
