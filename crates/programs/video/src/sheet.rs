//! A contact sheet: several clips side by side at equal instants.

use windfall_media::{PictureError, VideoFormat, YuvPicture};
use windfall_report::ContactSheet;

/// Columns of a sheet.
const INSTANTS: usize = 5;
/// Quality of its pictures.
const QUALITY: u8 = 90;

//= S1.35
/// Draws a row for each clip, with the same instants of all of them, as SVG.
///
/// # Errors
/// If a picture cannot be drawn.
pub fn clip_sheet(
    title: &str,
    format: VideoFormat,
    clips: &[(String, &[YuvPicture])],
) -> Result<String, PictureError> {
    let count = clips.iter().map(|(_, clip)| clip.len()).max().unwrap_or(0);
    let instants: Vec<usize> =
        (1..=INSTANTS).map(|it| (it * count / INSTANTS).saturating_sub(1)).collect();
    let mut rows = Vec::new();
    for (name, clip) in clips {
        let chosen = instants.iter().filter_map(|at| clip.get(*at));
        let jpegs = chosen.map(|picture| picture.to_picture().to_jpeg(QUALITY));
        rows.push((name.clone(), jpegs.collect::<Result<Vec<_>, _>>()?));
    }
    let columns: Vec<String> =
        instants.iter().map(|at| format!("{:.1} s", *at as f64 / format.rate)).collect();
    let size = (f64::from(format.width), f64::from(format.height));
    Ok(ContactSheet { title, size, columns: &columns, rows: &rows }.to_svg())
}
