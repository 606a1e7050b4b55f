//! PSNR and SSIM of raw pictures, as ffmpeg's filters of these names compute them.

use super::YuvPicture;

/// Constants of SSIM (Wang et al. 2004) for sums over 64 pixels, rounded as ffmpeg does.
const C1: f64 = 416.0;
const C2: f64 = 235_963.0;

//= S1.35
/// The similarity of a picture to its original.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PictureQuality {
    /// The peak signal-to-noise ratio over all planes in dB; infinite for equal pictures.
    pub psnr: f64,
    /// The structural similarity over all planes; 1 for equal pictures.
    pub ssim: f64,
}

impl PictureQuality {
    /// Compares two pictures; `None` if their sizes differ or are below 8 pixels.
    #[must_use]
    pub fn of(picture: &YuvPicture, original: &YuvPicture) -> Option<Self> {
        let is_same = (picture.width, picture.height) == (original.width, original.height);
        if !is_same || picture.width.min(picture.height) < 16 {
            return None;
        }
        let pairs = picture.data.iter().zip(&original.data);
        let squares: u64 = pairs.map(|(a, b)| u64::from(a.abs_diff(*b)).pow(2)).sum();
        // Every plane has the weight of its pixels.
        let mean = squares as f64 / picture.data.len() as f64;
        let mut ssim = 0.0;
        for (ours, theirs) in picture.planes().into_iter().zip(original.planes()) {
            let (plane, width, height) = ours;
            let weight = plane.len() as f64 / picture.data.len() as f64;
            ssim += weight * plane_ssim(plane, theirs.0, width, height);
        }
        Some(Self { psnr: 10.0 * (255.0 * 255.0 / mean).log10(), ssim })
    }
}

/// The sums over a square of 4 × 4 pixels: of both pictures, of all squares, of products.
type Sums = [u32; 4];

fn square(ours: &[u8], theirs: &[u8], width: usize, at: usize) -> Sums {
    let mut sums = [0; 4];
    for row in 0..4 {
        let from = at + row * width;
        for (a, b) in ours[from..from + 4].iter().zip(&theirs[from..from + 4]) {
            let a = u32::from(*a);
            let b = u32::from(*b);
            sums[0] += a;
            sums[1] += b;
            sums[2] += a * a + b * b;
            sums[3] += a * b;
        }
    }
    sums
}

/// The mean over windows of 8 × 8 pixels, every four pixels.
fn plane_ssim(ours: &[u8], theirs: &[u8], width: usize, height: usize) -> f64 {
    let columns = width / 4;
    let rows = height / 4;
    let row = |y: usize| -> Vec<Sums> {
        (0..columns).map(|x| square(ours, theirs, width, 4 * (y * width + x))).collect()
    };
    let mut above = row(0);
    let mut sum = 0.0;
    for y in 1..rows {
        let below = row(y);
        for (above, below) in above.windows(2).zip(below.windows(2)) {
            let window = [0, 1, 2, 3]
                .map(|i| f64::from(above[0][i] + above[1][i] + below[0][i] + below[1][i]));
            sum += similarity(window);
        }
        above = below;
    }
    sum / ((columns - 1) * (rows - 1)) as f64
}

/// Returns the similarity of a window from its sums: of both pictures' pixels, of all their
/// squares, and of the products of both.
fn similarity(sums: [f64; 4]) -> f64 {
    let [a, b, squares, products] = sums;
    let variances = squares * 64.0 - a * a - b * b;
    let covariance = products * 64.0 - a * b;
    (2.0 * a * b + C1) * (2.0 * covariance + C2) / ((a * a + b * b + C1) * (variances + C2))
}

//= S1.35
/// The quality of a clip, picture by picture.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClipQuality {
    /// The quality of each picture, in order.
    pub pictures: Vec<PictureQuality>,
    /// The pictures that repeat the one before although the original moves.
    pub frozen: Vec<usize>,
}

impl ClipQuality {
    /// Compares a clip with its original, picture by picture, as far as both go.
    #[must_use]
    pub fn of(clip: &[YuvPicture], original: &[YuvPicture]) -> Self {
        let pairs = || clip.iter().zip(original);
        let pictures = pairs().filter_map(|(a, b)| PictureQuality::of(a, b)).collect();
        let is_frozen = |(at, before, now): &(usize, _, _)| -> bool {
            let (before, now): (&(&YuvPicture, &YuvPicture), &(&YuvPicture, &YuvPicture)) =
                (before, now);
            *at > 0 && before.0 == now.0 && before.1 != now.1
        };
        let steps = pairs().zip(pairs().skip(1)).enumerate();
        let frozen = steps.map(|(at, (before, now))| (at + 1, before, now)).filter(is_frozen);
        Self { pictures, frozen: frozen.map(|(at, ..)| at).collect() }
    }

    /// Returns the mean PSNR in dB; equal pictures count as 100 dB. `None` without pictures.
    #[must_use]
    pub fn mean_psnr(&self) -> Option<f64> {
        self.mean(|it| it.psnr.min(100.0))
    }

    /// Returns the mean SSIM; `None` without pictures.
    #[must_use]
    pub fn mean_ssim(&self) -> Option<f64> {
        self.mean(|it| it.ssim)
    }

    fn mean(&self, value: impl Fn(&PictureQuality) -> f64) -> Option<f64> {
        let count = self.pictures.len();
        (count > 0).then(|| self.pictures.iter().map(value).sum::<f64>() / count as f64)
    }

    /// Returns the longest run of frozen pictures.
    #[must_use]
    pub fn longest_freeze(&self) -> usize {
        let runs = self.frozen.chunk_by(|a, b| a + 1 == *b);
        runs.map(<[usize]>::len).max().unwrap_or(0)
    }
}
