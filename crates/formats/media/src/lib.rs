//! Pictures that tolerate damage: the exact part of a JPEG, and the quality of a damaged one.
//!
//! - [`Picture`]: rows of colours, compared by [`psnr`](Picture::psnr) and [`ssim`](Picture::ssim).
//! - [`landscape()`]: a sample picture, the same on every host.
//! - [`Jpeg`]: a picture as a header and entropy-coded segments between restart markers; [`Layout`]
//!   is the exact part, [`Arrived`] the received data.
//! - [`exact_ranges`], [`intolerable`], [`is_entropy_coded`]: the structure of files as they are,
//!   by their first bytes.
//! - [`protect`], [`ProtectedArrival`]: files in parts of which the front must be exact.
//! - [`h264_output_places`]: the order in which the pictures of a stream are shown.
//! - [`YuvPicture`]: a picture of video; [`PictureQuality`] and [`ClipQuality`] compare as ffmpeg
//!   does.
//! - [`talking_head`]: a clip of little motion, the same on every host.
//!
//! It knows no time and no protocol; other crates transfer the bytes.

mod error;
mod jpeg;
mod jpeg_file;
mod landscape;
mod numpy;
mod picture;
mod protected;
mod structure;
mod video;

pub use error::PictureError;
pub use jpeg::{Arrived, Decoded, Jpeg, Layout};
pub use landscape::landscape;
pub use picture::Picture;
pub use protected::{
    H264Protector, LONGEST_PART, PROTECTED_HEADER_LEN, ProtectError, ProtectedArrival,
    ProtectedKind, ProtectedPart, RestoredFile, SHORTEST_PART, h264_output_places, protect,
};
pub use structure::{exact_ranges, intolerable, is_entropy_coded, join_closest, restore_checks};
pub use video::{
    AviClip, ClipQuality, FourCc, PictureQuality, TALKING_HEAD, VideoFormat, YuvPicture,
    talking_head,
};
