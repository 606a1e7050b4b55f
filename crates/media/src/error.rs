//! Why a picture cannot be used.

use windfall_base::OverBudget;

/// Why a picture cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is neither a JPEG nor a portable pixmap, or it is broken.
    #[error("no picture (JPEG or PPM): {0}")]
    Picture(#[from] image::ImageError),
    /// It has no pixels, or more than a JPEG or this program takes.
    #[error("a picture of {0} × {1} pixels cannot be sent; 1 to 16384 each way are possible")]
    Size(u32, u32),
    /// It takes more memory than it may.
    #[error(transparent)]
    Memory(#[from] OverBudget),
    /// What should describe a picture does not.
    #[error("the description of the picture makes no sense: {0}")]
    Layout(&'static str),
}
