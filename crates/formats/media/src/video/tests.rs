use super::*;

fn noisy(picture: &YuvPicture, amount: u8) -> YuvPicture {
    let mut word = 12_345_u32;
    let mut data = picture.bytes().to_vec();
    for byte in &mut data {
        word = word.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *byte = byte.saturating_add((word >> 24) as u8 % amount);
    }
    YuvPicture::new(VideoFormat::QCIF, data).unwrap()
}

//= S1.35
#[test]
fn equal_pictures_have_ssim_1_and_noise_lowers_both() {
    let original = talking_head(3);
    let same = PictureQuality::of(&original, &original).unwrap();
    assert!(same.psnr.is_infinite());
    assert!((same.ssim - 1.0).abs() < 1e-12);
    let [little, much] =
        [4, 60].map(|amount| PictureQuality::of(&noisy(&original, amount), &original).unwrap());
    assert!(little.psnr > much.psnr + 15.0, "{little:?} {much:?}");
    assert!(little.ssim > much.ssim + 0.2, "{little:?} {much:?}");
}

#[test]
fn one_error_of_255_in_a_picture_has_the_psnr_of_its_size() {
    let black = YuvPicture::new(VideoFormat::QCIF, vec![0; 38_016]).unwrap();
    let mut data = vec![0; 38_016];
    data[0] = 255;
    let other = YuvPicture::new(VideoFormat::QCIF, data).unwrap();
    let quality = PictureQuality::of(&other, &black).unwrap();
    assert!((quality.psnr - 10.0 * 38_016_f64.log10()).abs() < 1e-9);
}

#[test]
fn a_picture_that_repeats_where_the_original_moves_is_frozen() {
    let original: Vec<_> = (0..8).map(|number| talking_head(2 * number)).collect();
    let mut clip = original.clone();
    for at in [2, 3, 6] {
        clip[at] = clip[at - 1].clone();
    }
    let quality = ClipQuality::of(&clip, &original);
    assert_eq!(quality.frozen, [2, 3, 6]);
    assert_eq!(quality.longest_freeze(), 2);
    assert_eq!(ClipQuality::of(&original, &original).frozen, []);
    assert_eq!(ClipQuality::of(&original, &original).mean_psnr(), Some(100.0));
}

//= S1.63
/// S1.63: the clip is the same on every host, as its version promises.
#[test]
fn the_talking_head_has_the_same_pictures_everywhere() {
    let sum = |number| {
        let bytes = talking_head(number);
        bytes.bytes().iter().fold(0_u32, |sum, byte| sum.rotate_left(3) ^ u32::from(*byte))
    };
    assert_eq!([0, 7, 31].map(sum), [2_746_266_587, 658_784_188, 2_981_004_465]);
}

#[test]
fn colours_survive_the_conversion() {
    let picture = Picture::draw(16, 16, |x, _| [200, 40 + 8 * (x / 2) as u8, 90]).unwrap();
    let again = YuvPicture::from_picture(&picture).unwrap().to_picture();
    assert!(again.psnr(&picture).unwrap() > 40.0);
    assert!(YuvPicture::from_picture(&Picture::plain(15, 16, [0; 3]).unwrap()).is_err());
}
