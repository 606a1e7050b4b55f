//! What needs the program itself.

use std::process::Command;

use windfall_media::{ClipQuality, PictureQuality, VideoFormat, YuvPicture, talking_head};
use windfall_rtp::VideoCodec;
use windfall_video::ffmpeg::{EncodeConfig, FfmpegError, decode, encode, read_clip};

fn has_ffmpeg() -> bool {
    Command::new("ffmpeg").arg("-version").output().is_ok()
}

fn clip(pictures: u32) -> Vec<YuvPicture> {
    // Five pictures a second of a clip of ten.
    (0..pictures).map(|number| talking_head(2 * number)).collect()
}

fn file(name: &str, clip: &[YuvPicture]) -> std::path::PathBuf {
    let path = std::env::temp_dir().join(format!("windfall-ffmpeg-{name}-{}", std::process::id()));
    let raw: Vec<u8> = clip.iter().flat_map(YuvPicture::bytes).copied().collect();
    std::fs::write(&path, raw).expect("a file can be written");
    path
}

/// Returns what ffmpeg's filter prints of each picture: the value behind `key`.
fn filter(name: &str, key: &str, files: [&std::path::Path; 2]) -> Vec<f64> {
    let stats = std::env::temp_dir().join(format!("windfall-{name}-{}", std::process::id()));
    let mut command = Command::new("ffmpeg");
    // Without vector instructions, with which its SSIM counts a window at the right edge of
    // planes of 88 pixels otherwise.
    command.args(["-cpuflags", "0"]);
    command.args(["-hide_banner", "-loglevel", "error", "-nostdin", "-y"]);
    for file in files {
        command.args(["-f", "rawvideo", "-pix_fmt", "yuv420p", "-video_size", "176x144", "-i"]);
        command.arg(file);
    }
    command.args(["-lavfi", &format!("{name}=stats_file={}", stats.display()), "-f", "null", "-"]);
    assert!(command.status().expect("ffmpeg runs").success());
    let text = std::fs::read_to_string(&stats).expect("it has written");
    std::fs::remove_file(&stats).expect("it is there");
    let value = |line: &str| line.split(' ').find_map(|word| word.strip_prefix(key)?.parse().ok());
    text.lines().filter_map(value).collect()
}

//= S1.35
/// S1.35: within the digits that ffmpeg prints.
#[test]
fn psnr_and_ssim_are_those_of_ffmpegs_filters() {
    if !has_ffmpeg() {
        windfall_testkit::skip!("ffmpeg is not installed");
    }
    let original = clip(12);
    let coded = encode(&EncodeConfig::NARROW, &original).expect("ffmpeg encodes");
    let format = EncodeConfig::NARROW.format;
    let decoded = decode(VideoCodec::H263Plus, format, &coded).expect("ffmpeg decodes");
    let [ours, theirs] = [file("decoded", &decoded), file("original", &original)];
    let psnr = filter("psnr", "psnr_avg:", [&ours, &theirs]);
    let ssim = filter("ssim", "All:", [&ours, &theirs]);
    for file in [ours, theirs] {
        std::fs::remove_file(file).expect("it is there");
    }
    assert_eq!((psnr.len(), ssim.len()), (12, 12));
    for (number, picture) in decoded.iter().enumerate() {
        let quality = PictureQuality::of(picture, &original[number]).expect("the sizes are equal");
        assert!((quality.psnr - psnr[number]).abs() < 0.0051, "{quality:?} {}", psnr[number]);
        assert!((quality.ssim - ssim[number]).abs() < 0.000_051, "{quality:?} {}", ssim[number]);
    }
}

//= S1.3
//= S1.63
/// S1.3, S1.63: the clip of the project's own at the paper's size fits a line of 9.6 kb/s with its
/// headers. A packet takes 49 bytes of headers, flags and payload header, a byte ten bits.
#[test]
fn the_talking_head_fits_the_line_with_its_headers() {
    if !has_ffmpeg() {
        windfall_testkit::skip!("ffmpeg is not installed");
    }
    let original = clip(150);
    let config = EncodeConfig::NARROW;
    let coded = encode(&config, &original).expect("ffmpeg encodes");
    assert_eq!(coded.len(), 150);
    let packets: usize =
        coded.iter().map(|it| windfall_rtp::packetize(config.codec, it, 242, false).len()).sum();
    let bytes = coded.iter().map(Vec::len).sum::<usize>() + 51 * packets;
    let load = bytes as f64 * 10.0 / 30.0;
    println!("{load:.0} b/s on the line, {packets} packets");
    assert!(load < 0.9 * 9_600.0, "{load} b/s on the line, {packets} packets");
    let decoded = decode(config.codec, config.format, &coded).expect("ffmpeg decodes");
    let quality = ClipQuality::of(&decoded, &original);
    println!("PSNR {:?} SSIM {:?}", quality.mean_psnr(), quality.mean_ssim());
    assert!(quality.mean_psnr().expect("there are pictures") > 30.0);
}

//= S1.3
/// S1.3: the paper's setting, which with its headers is more than the line has.
#[test]
fn the_paper_s_setting_has_its_rate() {
    if !has_ffmpeg() {
        windfall_testkit::skip!("ffmpeg is not installed");
    }
    const SECONDS: f64 = 30.0;
    let format = VideoFormat { rate: 10.0, ..EncodeConfig::NARROW.format };
    let config =
        EncodeConfig { format, bit_rate: 10_000, key_interval: 100, ..EncodeConfig::NARROW };
    let coded = encode(&config, &clip(300)).expect("ffmpeg encodes");
    assert_eq!((coded.len(), format.width, format.height), (300, 176, 144));
    let rate = 8.0 * coded.iter().map(Vec::len).sum::<usize>() as f64 / SECONDS;
    println!("{rate:.0} b/s");
    // The encoder aims at the mean over all of its past; the first picture is the longest.
    assert!((9_000.0..11_000.0).contains(&rate), "{rate} b/s");
}

//= S1.1
//= S1.2
/// S1.2: what is missing is the picture before, and what is damaged is decoded as far as it can be.
#[test]
fn a_clip_keeps_its_pace_without_some_pictures() {
    if !has_ffmpeg() {
        windfall_testkit::skip!("ffmpeg is not installed");
    }
    for codec in [VideoCodec::H263Plus, VideoCodec::H264] {
        let config = EncodeConfig { codec, bit_rate: 60_000, ..EncodeConfig::NARROW };
        let original = clip(20);
        let mut coded = match encode(&config, &original) {
            Ok(coded) => coded,
            Err(FfmpegError::Encoder(name)) => {
                windfall_testkit::skip!("this ffmpeg has no encoder {name}")
            }
            Err(error) => panic!("{error}"),
        };
        assert_eq!(coded.len(), 20);
        let whole = decode(codec, config.format, &coded).expect("ffmpeg decodes");
        for missing in [5, 6, 19] {
            coded[missing].clear();
        }
        let middle = coded[10].len() / 2;
        coded[10][middle] ^= 0x5a;
        let decoded = decode(codec, config.format, &coded).expect("ffmpeg decodes");
        assert_eq!(decoded.len(), 20);
        assert_eq!(decoded[..5], whole[..5]);
        assert!(decoded[5] == whole[4] && decoded[6] == whole[4] && decoded[19] == decoded[18]);
        let quality = ClipQuality::of(&decoded, &original);
        assert!(quality.mean_psnr() < ClipQuality::of(&whole, &original).mean_psnr());
    }
}

#[test]
fn what_is_no_video_is_an_error_with_a_reason() {
    if !has_ffmpeg() {
        windfall_testkit::skip!("ffmpeg is not installed");
    }
    let path = file("noise", &[]);
    std::fs::write(&path, b"this is no video").expect("a file can be written");
    let error = read_clip(&path, VideoFormat::QCIF, 5).expect_err("it is none");
    std::fs::remove_file(&path).expect("it is there");
    assert!(matches!(error, FfmpegError::Failed(_)), "{error}");
    let missing = read_clip(std::path::Path::new("/no/such/clip"), VideoFormat::QCIF, 5);
    assert!(missing.expect_err("it is missing").to_string().contains("No such file"));
}

//= S1.2
/// S1.2: where nothing can be decoded, the clip is grey.
#[test]
fn pictures_without_any_sense_decode_to_grey() {
    if !has_ffmpeg() {
        windfall_testkit::skip!("ffmpeg is not installed");
    }
    let format = EncodeConfig::NARROW.format;
    let noise = |seed: u8| (0..200_u8).map(|i| i.wrapping_mul(97) ^ seed).collect::<Vec<u8>>();
    for codec in [VideoCodec::H263Plus, VideoCodec::H264] {
        let clip = decode(codec, format, &[noise(3), noise(7)]).expect("damage is no failure");
        assert_eq!(clip, vec![YuvPicture::grey(format).expect("a size"); 2]);
    }
}

/// Writes a second of ffmpeg's test source to a file of this name.
fn recorded(folder: &windfall_testkit::folder::Folder, name: &str, options: &str) -> String {
    let file = folder.file(name);
    let mut command = Command::new("ffmpeg");
    command.args(["-loglevel", "error", "-nostdin", "-y", "-f", "lavfi"]);
    let status = command.args(options.split(' ')).arg(&file).status();
    assert!(status.expect("ffmpeg runs").success(), "{name}");
    file
}

//= S1.2
#[test]
fn containers_are_read_and_what_has_no_video_or_no_decoder_is_named() {
    if !has_ffmpeg() {
        windfall_testkit::skip!("ffmpeg is not installed");
    }
    let folder = windfall_testkit::folder::Folder::new("containers");
    let format = VideoFormat { width: 64, height: 48, rate: 5.0 };
    let read = |file: &str| read_clip(file.as_ref(), format, 100);
    let source = "-i testsrc2=size=64x48:rate=5:duration=1";
    let mut clips = Vec::new();
    for (name, codec) in [("a.mp4", "libx264"), ("a.mkv", "libx264"), ("a.avi", "mpeg4")] {
        let file = recorded(&folder, name, &format!("{source} -c:v {codec} -threads 1"));
        clips.push(read(&file).expect(name));
        assert_eq!(clips.last().map(Vec::len), Some(5), "{name}");
    }
    assert_eq!(clips[0], clips[1], "the same stream in two containers");
    let sound = recorded(&folder, "a.wav", "-i sine=duration=1");
    assert!(matches!(read(&sound), Err(FfmpegError::NoVideo)));
    // A codec that there is not.
    let known = std::fs::read(folder.file("a.avi")).expect("it was written");
    let mut unknown = known.clone();
    for at in 0..known.len() - 4 {
        if known[at..at + 4] == *b"FMP4" {
            unknown[at..at + 4].copy_from_slice(b"QZQZ");
        }
    }
    assert_ne!(unknown, known);
    std::fs::write(folder.file("b.avi"), unknown).expect("a file can be written");
    assert!(matches!(read(&folder.file("b.avi")), Err(FfmpegError::Decoder)));
    std::fs::write(folder.file("cut.mp4"), &known[..20]).expect("a file can be written");
    assert!(matches!(read(&folder.file("cut.mp4")), Err(FfmpegError::Failed(_))));
}
