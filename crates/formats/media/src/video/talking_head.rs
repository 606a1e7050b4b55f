//! A clip of the project's own: a head that talks before a plain wall, with little motion.

use core::f64::consts::TAU;

use super::{VideoFormat, YuvPicture};
use crate::picture::Picture;

/// The name and version of the clip; another version has other pictures.
pub const TALKING_HEAD: &str = "talking-head-1";

type Color = [f64; 3];

const SKIN: Color = [222.0, 176.0, 148.0];
const HAIR: Color = [74.0, 50.0, 36.0];
const WALL: Color = [146.0, 162.0, 176.0];
const SHIRT: Color = [58.0, 84.0, 128.0];
const LIPS: Color = [168.0, 72.0, 70.0];

/// The posture at one instant.
struct Pose {
    /// The shift of the head, in pixels.
    sway: f64,
    nod: f64,
    /// The opening of the mouth, 0 to 1.
    mouth: f64,
    /// The opening of the eyes, 0 to 1.
    eyes: f64,
}

impl Pose {
    fn at(seconds: f64) -> Self {
        // Syllables come and go in phrases of two seconds.
        let phrase = (TAU * seconds / 4.0).sin().max(0.0).sqrt();
        let syllable = 0.5 - 0.5 * (TAU * seconds * 1.7).cos();
        let blink = (seconds % 3.1 - 2.9).abs() < 0.11;
        Self {
            sway: 1.5 * (TAU * seconds / 9.0).sin(),
            nod: 1.0 * (TAU * seconds / 7.0).sin(),
            mouth: phrase * syllable,
            eyes: if blink { 0.1 } else { 1.0 },
        }
    }
}

//= S1.63
/// Draws picture `number` of the clip: QCIF, ten pictures a second, without an end. The same number
/// gives the same bytes on every host.
///
/// # Panics
/// Never: its size is valid.
#[must_use]
pub fn talking_head(number: u32) -> YuvPicture {
    let VideoFormat { width, height, rate } = VideoFormat::QCIF;
    let pose = Pose::at(f64::from(number) / rate);
    let picture = Picture::draw(width, height, |x, y| {
        let color = color(f64::from(x) + 0.5, f64::from(y) + 0.5, &pose);
        color.map(|part| part.clamp(0.0, 255.0).round() as u8)
    });
    let picture = picture.expect("QCIF is a size of pictures");
    YuvPicture::from_picture(&picture).expect("QCIF is a size of video")
}

fn mix(a: Color, b: Color, share: f64) -> Color {
    let share = share.clamp(0.0, 1.0);
    [0, 1, 2].map(|i| a[i] + (b[i] - a[i]) * share)
}

/// Lays `top` over `below` where a point lies inside of an ellipse; the edge is two pixels soft.
fn ellipse(
    below: Color,
    top: Color,
    at: (f64, f64),
    center: (f64, f64),
    radii: (f64, f64),
) -> Color {
    let dx = (at.0 - center.0) / radii.0;
    let dy = (at.1 - center.1) / radii.1;
    let outside = (dx.hypot(dy) - 1.0) * radii.0.min(radii.1);
    mix(top, below, outside / 2.0 + 0.5)
}

fn color(x: f64, y: f64, pose: &Pose) -> Color {
    let wall = mix(WALL, [104.0, 118.0, 132.0], (x / 176.0 + y / 144.0) / 2.0);
    let shirt = ellipse(wall, SHIRT, (x, y), (88.0, 152.0), (66.0, 36.0));
    let neck = ellipse(shirt, mix(SKIN, HAIR, 0.2), (x, y), (88.0, 112.0), (15.0, 20.0));
    // The rest moves with the head.
    let x = x - pose.sway;
    let y = y - pose.nod;
    let hair = ellipse(neck, HAIR, (x, y), (88.0, 60.0), (37.0, 45.0));
    let light = mix(SKIN, mix(SKIN, HAIR, 0.35), (x - 76.0).abs() / 60.0);
    let face = ellipse(hair, light, (x, y), (88.0, 72.0), (29.0, 38.0));
    features(face, x, y, pose)
}

fn features(face: Color, x: f64, y: f64, pose: &Pose) -> Color {
    let mut color = face;
    for side in [-12.0, 12.0] {
        let center = (88.0 + side, 64.0);
        color = ellipse(color, HAIR, (x, y), (center.0, 55.0), (7.0, 1.6));
        color = ellipse(color, [238.0; 3], (x, y), center, (5.5, 3.2 * pose.eyes));
        color = ellipse(color, [40.0; 3], (x, y), center, (2.4, 2.6 * pose.eyes));
    }
    color = ellipse(color, mix(SKIN, HAIR, 0.4), (x, y), (88.0, 81.0), (4.0, 2.0));
    let open = 1.0 + 4.5 * pose.mouth;
    color = ellipse(color, LIPS, (x, y), (88.0, 93.0), (11.0, 2.2 + open));
    ellipse(color, [60.0, 22.0, 26.0], (x, y), (88.0, 93.0), (8.0, open))
}
