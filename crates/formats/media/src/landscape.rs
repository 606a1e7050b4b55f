//! The sample picture: windfall under a tree.

use crate::picture::Picture;

const WIDTH: u32 = 384;
const HEIGHT: u32 = 192;
/// The positions and sizes of the apples.
const APPLES: [(f64, f64, f64); 9] = [
    (60.0, 150.0, 9.0),
    (96.0, 171.0, 11.0),
    (142.0, 156.0, 8.0),
    (175.0, 178.0, 11.0),
    (214.0, 160.0, 9.0),
    (258.0, 174.0, 12.0),
    (322.0, 162.0, 9.0),
    (264.0, 62.0, 7.0),
    (300.0, 48.0, 7.0),
];

type Color = [f64; 3];

/// Draws the sample picture of 384 × 192 pixels: sky, hills, a meadow with texture, a tree, apples.
///
/// # Panics
/// Never: its size is valid.
#[must_use]
pub fn landscape() -> Picture {
    Picture::draw(WIDTH, HEIGHT, |x, y| {
        let color = color(f64::from(x), f64::from(y), grain(x, y));
        color.map(|part| part.clamp(0.0, 255.0) as u8)
    })
    .expect("the size is one that pictures may have")
}

/// Returns a pseudorandom number between -1 and 1 for the texture of leaves and grass.
fn grain(x: u32, y: u32) -> f64 {
    let mut word = x.wrapping_mul(0x9e37_79b9) ^ y.wrapping_mul(0x85eb_ca6b);
    word = (word ^ word >> 15).wrapping_mul(0x2c1b_3c6d);
    word = (word ^ word >> 12).wrapping_mul(0x297a_2d39);
    f64::from(word >> 16) / 32_768.0 - 1.0
}

fn mix(a: Color, b: Color, share: f64) -> Color {
    let share = share.clamp(0.0, 1.0);
    [0, 1, 2].map(|i| a[i] + (b[i] - a[i]) * share)
}

fn color(x: f64, y: f64, grain: f64) -> Color {
    let apple = APPLES.iter().find(|(ax, ay, r)| (x - ax).hypot(y - ay) < *r);
    if let Some((ax, ay, r)) = apple {
        let shine = 1.0 - (x - ax + r / 3.0).hypot(y - ay + r / 3.0) / r;
        return mix([120.0, 18.0, 22.0], [250.0, 120.0, 80.0], shine);
    }
    let crown = (((x - 282.0) / 78.0).powi(2) + ((y - 52.0) / 46.0).powi(2)).sqrt();
    let ragged = 1.0 + 0.06 * (x / 5.0).sin() + 0.06 * (y / 4.0).cos();
    if crown < ragged {
        return mix([44.0, 104.0, 40.0], [120.0, 168.0, 60.0], 0.5 + 0.4 * grain - crown / 3.0);
    }
    if (x - 282.0).abs() < 8.0 + (y - 130.0).max(0.0) / 10.0 && (60.0..158.0).contains(&y) {
        let bark = 12.0 * (x * 1.3 + (y / 9.0).sin()).sin();
        return [96.0 + bark, 70.0 + bark, 48.0 + bark];
    }
    let meadow = 128.0 + 7.0 * (x / 70.0).sin();
    if y > meadow {
        let depth = (y - meadow) / 64.0;
        let green = mix([150.0, 186.0, 92.0], [62.0, 120.0, 44.0], depth);
        return green.map(|part| part + 16.0 * grain * (0.3 + depth));
    }
    let hills = 92.0 + 22.0 * (x / 46.0 + 1.0).sin() + 9.0 * (x / 17.0).sin();
    if y > hills {
        return mix([104.0, 128.0, 168.0], [148.0, 172.0, 160.0], (y - hills) / 50.0);
    }
    let sun = (x - 78.0).hypot(y - 44.0);
    let sky = mix([92.0, 150.0, 222.0], [226.0, 232.0, 236.0], y / 110.0);
    mix([255.0, 246.0, 196.0], sky, (sun - 18.0) / 22.0)
}
