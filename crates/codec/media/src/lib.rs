//! Pictures that travel damaged: what of a JPEG must be exact, and how good the rest arrives.
//!
//! - [`Picture`]: colours in rows, with [`psnr`](Picture::psnr) and [`ssim`](Picture::ssim) against
//!   another.
//! - [`landscape`]: a picture of the project's own, the same everywhere.
//! - [`Jpeg`]: a picture as a head and entropy-coded segments between restart markers;
//!   [`Layout`] is the part that must arrive exactly, [`Arrived`] what came of the rest.
//!
//! No time and no protocol: faces and experiments send the bytes.

mod error;
mod jpeg;
mod landscape;
mod picture;

pub use error::PictureError;
pub use jpeg::{Arrived, Decoded, Jpeg, Layout};
pub use landscape::landscape;
pub use picture::Picture;
