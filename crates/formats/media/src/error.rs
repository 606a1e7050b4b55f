//! Errors of pictures.

use windfall_base::OverBudget;

/// The reason for which a picture cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PictureError {
    /// It is neither a JPEG nor a portable pixmap.
    #[error("it is not a picture that Windfall reads (JPEG or PNM)")]
    Foreign,
    /// It is broken, or needs an unsupported feature of its format.
    #[error("the picture cannot be decoded: {}", reason(.0))]
    Picture(#[from] image::ImageError),
    /// A sample in text above the greatest that the header names.
    #[error("the picture is broken: a sample of {0} lies above {1}, the greatest of its header")]
    Sample(u64, u64),
    /// A JPEG that ends before its picture does.
    #[error("the JPEG is cut off: it ends after {0} bytes, in the middle of the picture")]
    Cut(usize),
    /// A JPEG of a process that cannot be decoded.
    #[error(
        "{0} JPEGs cannot be decoded; convert it to baseline or progressive JPEG of 8 bits first"
    )]
    Process(&'static str),
    /// It has no pixels, or more than a JPEG or this crate permits.
    #[error("a picture of {0} × {1} pixels cannot be sent; 1 to 16384 each way are possible")]
    Size(u32, u32),
    /// Video has an even width and height.
    #[error("video of {0} × {1} pixels is not possible; even numbers from 2 to 4096 are")]
    VideoSize(u32, u32),
    /// It exceeds the memory budget.
    #[error(transparent)]
    Memory(#[from] OverBudget),
    /// The description of a picture is malformed.
    #[error("the description of the picture makes no sense: {0}")]
    Layout(&'static str),
}

/// Returns the reason for a decoder's failure; details of corrupt data are omitted.
fn reason(error: &image::ImageError) -> String {
    match error {
        image::ImageError::Decoding(_) | image::ImageError::IoError(_) => {
            "it is broken or cut off".to_owned()
        }
        other => other.to_string(),
    }
}
