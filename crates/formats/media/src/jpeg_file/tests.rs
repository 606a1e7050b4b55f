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
        (0xf7, 8, "lossless"),
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
fn a_picture_whose_height_follows_its_scan_is_told_by_its_name() {
    let file = landscape().to_jpeg(80).expect("a picture");
    let at = frame(&file);
    let end = file.len() - 2;
    let height = [file[at + 5], file[at + 6]];
    let lines = |height: [u8; 2]| {
        let segment = [&[0xff, 0xdc, 0, 4][..], &height].concat();
        [&file[..end], &segment, &file[end..]].concat()
    };
    let mut without = file.clone();
    without[at + 5..at + 7].fill(0);
    let mut later = lines(height);
    later[at + 5..at + 7].fill(0);
    for other in [without, later, lines([0, 8])] {
        let error =
            Picture::read(&other).map(drop).expect_err("its height is not told").to_string();
        assert!(error.contains("DNL") && !error.contains("broken"), "{error}");
    }
    // One that says the same again takes nothing from the picture.
    assert!(check(&lines(height)).is_ok());
}

#[test]
fn a_hierarchical_picture_is_told_by_the_segment_that_begins_it() {
    let file = landscape().to_jpeg(80).expect("a picture");
    let at = frame(&file);
    let header = file[at + 2..at + 2 + usize::from(file[at + 3])].to_vec();
    for segment in [[&[0xff, 0xde][..], &header].concat(), vec![0xff, 0xdf, 0, 3, 0x11]] {
        let other = [&file[..at], &segment, &file[at..]].concat();
        let error = Picture::read(&other).map(drop).expect_err("it cannot be decoded").to_string();
        assert!(error.contains("hierarchical"), "{error}");
    }
}

/// The file with an EXIF header that holds the orientation as a number of this type.
fn with_orientation(file: &[u8], is_big: bool, kind: u16, orientation: u32, count: u32) -> Vec<u8> {
    let two = |value: u16| if is_big { value.to_be_bytes() } else { value.to_le_bytes() };
    let four = |value: u32| if is_big { value.to_be_bytes() } else { value.to_le_bytes() };
    let value = match kind {
        1 | 6 => [orientation as u8, 0, 0, 0],
        3 | 8 => [two(orientation as u16), [0, 0]].concat().try_into().expect("four"),
        _ => four(orientation),
    };
    let mut exif = b"Exif\0\0".to_vec();
    exif.extend(if is_big { *b"MM" } else { *b"II" });
    exif.extend([&two(42)[..], &four(8), &two(2)].concat());
    exif.extend([&two(0x10f)[..], &two(2), &four(4), b"cam\0"].concat());
    exif.extend([&two(0x112)[..], &two(kind), &four(count), &value, &four(0)].concat());
    let length = (exif.len() as u16 + 2).to_be_bytes();
    [&file[..2], &[0xff, APP1], &length, &exif, &file[2..]].concat()
}

#[test]
fn an_orientation_is_read_whatever_the_type_of_its_number_is() {
    let file = landscape().to_jpeg(80).expect("a picture");
    let read = |file: &[u8]| Picture::read(file).expect("a picture").viewing().orientation;
    for orientation in 1..=8_u8 {
        let expected = Orientation::from_exif(orientation).expect("1 to 8");
        for (is_big, kind) in
            [false, true].into_iter().flat_map(|it| [1, 3, 4, 6, 8, 9].map(|kind| (it, kind)))
        {
            let turned = with_orientation(&file, is_big, kind, orientation.into(), 1);
            assert_eq!(read(&turned), expected, "{is_big} {kind}");
        }
    }
    // What is none leaves the picture as it is.
    for (kind, orientation, count) in
        [(4, 0x0001_0006, 1), (4, 9, 1), (3, 0, 1), (2, 6, 1), (4, 6, 2)]
    {
        let plain = with_orientation(&file, false, kind, orientation, count);
        assert_eq!(read(&plain), Orientation::NoTransforms, "{kind} {orientation} {count}");
    }
}

#[test]
fn the_first_of_several_exif_headers_counts() {
    let file = landscape().to_jpeg(80).expect("a picture");
    let second = with_orientation(&file, false, 3, 3, 1);
    let both = with_orientation(&second, true, 3, 6, 1);
    let picture = Picture::read(&both).expect("a picture");
    assert_eq!(picture.viewing().orientation, Orientation::Rotate90);
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
    let width = landscape().width();
    let height = landscape().height();
    let upright = Picture::read(&viewed(6, 500).to_ppm()).expect("a pixmap");
    assert_eq!((upright.width(), upright.height()), (height, width));
    // Turned to the right: the lower left corner comes to the upper left.
    assert_eq!(upright.color(0, 0), landscape().color(0, height - 1));
}
