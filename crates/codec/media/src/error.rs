//! Why a picture cannot be used.

use windfall_base::OverBudget;

/// Why a picture cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PictureError {
    /// It is neither a JPEG nor a portable pixmap.
    #[error("it is not a picture that Windfall reads (JPEG or PNM)")]
    Foreign,
    /// It is broken, or needs something of its format that is not there.
    #[error("the picture cannot be decoded: {}", reason(.0))]
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

/// Why a picture cannot be decoded; what decoders say of wrong bytes helps nobody.
fn reason(error: &image::ImageError) -> String {
    match error {
        image::ImageError::Decoding(_) | image::ImageError::IoError(_) => {
            "it is broken or cut off".to_owned()
        }
        other => other.to_string(),
    }
}
