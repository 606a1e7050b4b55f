//! The pictures of a drone's camera: a flight over fields and roads, drawn by the program itself.

use windfall_video::{VideoError, VideoFormat, YuvPicture};

/// The size and rate of the pictures.
pub(super) const FORMAT: VideoFormat = VideoFormat { width: 640, height: 360, rate: 30.0 };
/// The side of the ground in pixels; it repeats.
const SIDE: usize = 1_024;

/// The ground: brightness and the two colours of each pixel.
struct Ground(Vec<[f32; 3]>);

/// Draws the first pictures of the flight.
pub(super) fn pictures(count: usize) -> Result<Vec<YuvPicture>, VideoError> {
    let ground = Ground::draw();
    (0..count).map(|number| ground.seen(number as f64 / FORMAT.rate)).collect()
}

/// Returns a pseudorandom number from 0 to 1 for a place.
fn grain(x: usize, y: usize, kind: u32) -> f32 {
    let mut word = (x as u32).wrapping_mul(0x9e37_79b9)
        ^ (y as u32).wrapping_mul(0x85eb_ca6b)
        ^ kind.wrapping_mul(0xc2b2_ae35);
    word = (word ^ word >> 15).wrapping_mul(0x2c1b_3c6d);
    word = (word ^ word >> 12).wrapping_mul(0x297a_2d39);
    (word >> 16) as f32 / 65_535.0
}

impl Ground {
    fn draw() -> Self {
        let at = |place: usize| {
            let x = place % SIDE;
            let y = place / SIDE;
            let field = (x / 128, y / 64);
            let tone = |kind| grain(field.0, field.1, kind);
            // Furrows, bushes, and the grain of the soil.
            let furrow = if (x / 4 + y / 16).is_multiple_of(2) { 9.0 } else { -9.0 };
            let bush = if grain(x / 8, y / 8, 1) > 0.93 { -45.0 } else { 0.0 };
            let soil = 20.0 * (grain(x, y, 2) - 0.5) + 24.0 * (grain(x / 3, y / 3, 3) - 0.5);
            let mut luma = 90.0 + 70.0 * tone(4) + furrow * tone(5) + bush + soil;
            let mut colours = [128.0 - 30.0 * tone(6), 128.0 + 24.0 * (tone(7) - 0.5)];
            if x % 256 < 10 || y % 192 < 8 {
                luma = if (x / 24 + y / 24).is_multiple_of(2) { 150.0 } else { 138.0 };
                colours = [128.0; 2];
            }
            [luma.clamp(16.0, 235.0), colours[0], colours[1]]
        };
        Self((0..SIDE * SIDE).map(at).collect())
    }

    /// Returns the brightness and colours between four pixels.
    fn sample(&self, x: f64, y: f64) -> [f32; 3] {
        let left = x.floor();
        let top = y.floor();
        let right = (x - left) as f32;
        let below = (y - top) as f32;
        let wrap = |value: f64| (value as i64).rem_euclid(SIDE as i64) as usize;
        let pixel = |i: f64, j: f64| self.0[wrap(top + j) * SIDE + wrap(left + i)];
        let corners = [pixel(0.0, 0.0), pixel(1.0, 0.0), pixel(0.0, 1.0), pixel(1.0, 1.0)];
        [0, 1, 2].map(|part| {
            let [a, b, c, d] = corners.map(|corner| corner[part]);
            let upper = a + (b - a) * right;
            let lower = c + (d - c) * right;
            upper + (lower - upper) * below
        })
    }

    /// Returns what the camera sees at a time in seconds.
    fn seen(&self, time: f64) -> Result<YuvPicture, VideoError> {
        let width = FORMAT.width as usize;
        let height = FORMAT.height as usize;
        let centre = (90.0 * time, 300.0 + 80.0 * (0.7 * time).sin());
        let scale = 0.8 + 0.25 * (0.5 * time).sin();
        let (sine, cosine) = (0.2 * (0.9 * time).sin()).sin_cos();
        let place = |x: usize, y: usize| {
            let x = x as f64 - width as f64 / 2.0;
            let y = y as f64 - height as f64 / 2.0;
            let [x, y] = [x * cosine - y * sine, x * sine + y * cosine];
            (centre.0 + scale * x, centre.1 + scale * y)
        };
        let plane = |part: usize, step: usize| {
            let pixels =
                (0..height / step).flat_map(move |y| (0..width / step).map(move |x| (x, y)));
            pixels.map(move |(x, y)| {
                let (x, y) = place(x * step, y * step);
                self.sample(x, y)[part].round() as u8
            })
        };
        let data = plane(0, 1).chain(plane(1, 2)).chain(plane(2, 2)).collect();
        Ok(YuvPicture::new(FORMAT, data).map_err(windfall_video::ffmpeg::FfmpegError::from)?)
    }
}
