use windfall_base::OverBudget;

use super::*;
use crate::landscape;

#[test]
fn a_picture_equals_itself() {
    let picture = landscape();
    assert_eq!(picture.psnr(&picture), Some(f64::INFINITY));
    assert!((picture.ssim(&picture).unwrap() - 1.0).abs() < 1e-12);
    let ppm = Picture::read(&picture.to_ppm()).unwrap();
    assert_eq!(ppm, picture);
}

#[test]
fn a_known_difference_has_its_ratio() {
    let grey = Picture::plain(16, 16, [100; 3]).unwrap();
    let lighter = Picture::plain(16, 16, [110; 3]).unwrap();
    // 10 everywhere: 20 log10(255 / 10).
    let expected = 20.0 * 25.5_f64.log10();
    assert!((grey.psnr(&lighter).unwrap() - expected).abs() < 1e-9);
    // No structure, so that only the term of the means remains.
    let means = (2.0 * 100.0 * 110.0 + 6.5025) / (100.0_f64.powi(2) + 110.0_f64.powi(2) + 6.5025);
    assert!((grey.ssim(&lighter).unwrap() - means).abs() < 1e-9);
}

#[test]
fn pictures_of_other_sizes_are_not_compared() {
    let small = Picture::plain(8, 9, [0; 3]).unwrap();
    let large = Picture::plain(9, 8, [0; 3]).unwrap();
    assert_eq!((small.psnr(&large), small.ssim(&large)), (None, None));
    assert!(Picture::plain(7, 7, [0; 3]).unwrap().ssim(&small).is_none());
    assert!(matches!(Picture::plain(0, 5, [0; 3]), Err(PictureError::Size(0, 5))));
}

#[test]
fn other_formats_are_rejected() {
    let refused = |bytes: &[u8]| Picture::read(bytes).expect_err("no picture").to_string();
    for foreign in [b"no picture".as_slice(), b"", b"P", b"Pnm is a format", b"\x89PNG"] {
        let error = refused(foreign);
        assert_eq!(error, "it is not a picture that Windfall reads (JPEG or PNM)");
    }
    let cut = refused(&[0xff, 0xd8, 0xff]);
    assert_eq!(cut, "the JPEG is cut off: it ends after 3 bytes, in the middle of the picture");
    for broken in [b"P6\n2 2\n255\n".as_slice(), b"P6 x", b"P1"] {
        let error = refused(broken);
        assert_eq!(error, "the picture cannot be decoded: it is broken or cut off", "{broken:?}");
    }
}

#[test]
fn a_sample_in_text_above_the_greatest_is_refused() {
    for (picture, said) in [
        ("P3\n1 1\n100\n100 101 7", "a sample of 101 lies above 100"),
        ("P2 2 1 255 255\t999", "a sample of 999 lies above 255"),
    ] {
        let error = Picture::read(picture.as_bytes()).expect_err(picture).to_string();
        assert!(error.contains(said), "{error}");
    }
    // What follows the picture is none of its samples.
    Picture::read(b"P3\n1 1\n100\n100 0 100 101").expect("a picture");
}

#[test]
fn decoding_takes_bounded_memory() {
    // A header of a few bytes announces 800 MB.
    let huge = b"P6 16384 16384 255\n";
    let limit = MemoryBudget::default().left();
    let refused =
        |error| matches!(error, PictureError::Memory(OverBudget { limit: l }) if l == limit);
    assert!(refused(Picture::read(huge).expect_err("it is too large")));
    let picture = landscape();
    let file = picture.to_ppm();
    let kept = 3 * 384 * 192;
    let mut budget = MemoryBudget::new(4 * kept);
    assert_eq!(Picture::read_within(&file, &mut budget).expect("it fits"), picture);
    assert_eq!(budget.left(), 3 * kept);
    assert!(Picture::read_within(&file, &mut MemoryBudget::new(2 * kept)).is_err());
    let jpeg = picture.to_jpeg(85).expect("a picture");
    assert!(Picture::read_within(&jpeg, &mut MemoryBudget::new(2 * kept)).is_err());
}
