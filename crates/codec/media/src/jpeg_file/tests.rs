use image::metadata::Orientation;

use super::*;
use crate::{Arrived, Jpeg, Layout, Picture, landscape};

/// The place of the frame's marker in a JPEG.
fn frame(bytes: &[u8]) -> usize {
    bytes.windows(2).position(|it| it == [0xff, 0xc0]).expect("a frame")
}

#[test]
fn what_cannot_be_decoded_is_told_by_its_name() {
    let file = landscape().to_jpeg(80).expect("a picture");
    assert!(check(&file).is_ok());
    for (marker, precision, name) in [
        (0xc9, 8, "arithmetic-coded"),
        (0xca, 8, "arithmetic-coded"),
        (0xc3, 8, "lossless"),
        (0xc5, 8, "hierarchical"),
        (0xc1, 12, "12-bit"),
        (0xc2, 12, "12-bit"),
    ] {
        let mut other = file.clone();
        let at = frame(&other);
        other[at + 1] = marker;
        other[at + 4] = precision;
        let error = Picture::read(&other).expect_err("it cannot be decoded").to_string();
        assert!(error.contains(name), "{error}");
    }
}

#[test]
fn a_file_that_ends_too_early_is_called_cut_off_wherever_that_is() {
    let file = landscape().to_jpeg(80).expect("a picture");
    for end in (2..file.len() - 1).step_by(97).chain([file.len() - 2, file.len() - 1]) {
        let error = Picture::read(&file[..end]).expect_err("it is cut off").to_string();
        assert!(error.contains("cut off"), "{end}: {error}");
    }
    // What cameras put behind a picture is no matter of the picture.
    assert!(Picture::read(&[&file[..], b"preview"].concat()).is_ok());
}

/// A picture with this orientation and a profile of `profile` bytes.
fn viewed(orientation: u8, profile: usize) -> Picture {
    let mut icc = vec![7; profile];
    icc[16..20].copy_from_slice(b"RGB ");
    let orientation = Orientation::from_exif(orientation).expect("1 to 8");
    landscape().viewed(Viewing { orientation, profile: Some(icc) })
}

#[test]
fn orientation_and_colour_profile_arrive() {
    for orientation in 1..=8 {
        // One segment, and three.
        for profile in [500, 150_000] {
            let picture = viewed(orientation, profile);
            let jpeg = Jpeg::encode(&picture, 90).expect("a picture");
            let layout = Layout::from_bytes(&jpeg.layout().to_bytes()).expect("a layout");
            let mut arrived = Arrived::new(layout.scan_len());
            arrived.put(0, jpeg.scan());
            let file = Picture::read(&layout.to_file(&arrived)).expect("a picture");
            assert_eq!(file.viewing(), picture.viewing(), "{orientation}");
            let decoded = layout.decode(&arrived).expect("a picture").picture;
            assert_eq!(decoded.viewing(), picture.viewing(), "{orientation}");
        }
    }
}

#[test]
fn a_profile_of_other_colours_is_left_out() {
    let mut picture = viewed(6, 500);
    let mut viewing = picture.viewing().clone();
    viewing.profile.as_mut().expect("a profile")[16..20].copy_from_slice(b"CMYK");
    picture = picture.viewed(viewing);
    let file = Jpeg::encode(&picture, 90).expect("a picture").to_bytes();
    let read = Picture::read(&file).expect("a picture");
    assert_eq!(read.viewing().profile, None);
    assert_eq!(read.viewing().orientation, Orientation::Rotate90);
}

#[test]
fn a_pixmap_is_turned_as_it_is_viewed() {
    let (width, height) = (landscape().width(), landscape().height());
    let upright = Picture::read(&viewed(6, 500).to_ppm()).expect("a pixmap");
    assert_eq!((upright.width(), upright.height()), (height, width));
    // Turned to the right: the lower left corner comes to the upper left.
    assert_eq!(upright.color(0, 0), landscape().color(0, height - 1));
}
