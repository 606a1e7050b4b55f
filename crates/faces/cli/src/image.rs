//! `windfall image`: a picture whose head arrives exactly and whose data may arrive damaged.

use std::path::{Path, PathBuf};

use windfall_base::Duration;
use windfall_media::{Arrived, Jpeg, Layout, Picture, landscape};
use windfall_video::streams::ImageReport;

use crate::exchange::{DestinationOptions, End, ListenOptions, Output, completed};
use crate::exit::{CliError, Completion, Result};
use crate::input::{self, cannot_read};
use crate::json;
use crate::times::with_unit;
use crate::usage::whole;

/// Send a picture that may arrive damaged, and rate it
///
/// The header and the tables of the picture arrive exactly. The rest may arrive damaged, and the
/// receiver measures the quality.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    end: End<Send, Receive>,
}

/// Send a picture
#[derive(Debug, clap::Args)]
struct Send {
    #[command(flatten)]
    to: DestinationOptions,
    /// JPEG or portable pixmap to send. It is encoded again [default: a landscape of 384 × 192
    /// pixels]
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// JPEG quality, 1 to 100
    #[arg(long, default_value_t = 85, value_name = "1..100", value_parser = whole(1..=100_u8))]
    quality: u8,
    /// Size of each datagram in bytes, 1 to 60000
    #[arg(long, default_value_t = 1024, value_name = "BYTES", value_parser = whole(1..=60_000_u32))]
    size: u32,
    /// Time between datagrams
    #[arg(long, default_value = "1ms", value_name = "TIME", value_parser = with_unit)]
    interval: Duration,
}

/// Receive one picture, and write it as it arrived
#[derive(Debug, clap::Args)]
struct Receive {
    #[command(flatten)]
    on: ListenOptions,
    /// Write the picture to this file: a pixmap if the name ends in .ppm, otherwise the JPEG as it
    /// arrived
    #[arg(long, value_name = "FILE", value_parser = picture_name)]
    out: Option<PathBuf>,
    /// Picture to compare with [default: the built-in landscape]
    #[arg(long, value_name = "FILE")]
    compare: Option<PathBuf>,
}

/// A name that says no other format than one that is written.
fn picture_name(text: &str) -> std::result::Result<PathBuf, String> {
    let path = PathBuf::from(text);
    let ending = path.extension().map(|it| it.to_string_lossy().to_ascii_lowercase());
    match ending.as_deref() {
        None | Some("jpg" | "jpeg" | "ppm") => Ok(path),
        Some(_) => Err("the picture is written as JPEG or PPM: end it in .jpg or .ppm".to_owned()),
    }
}

/// The plan: the length of the layout and that of a datagram's data, 4 bytes each.
const PLAN: usize = 8;
/// The longest layout that is believed: that of the largest picture.
const MAX_LAYOUT: u32 = 16 << 20;

pub(crate) fn run(args: &Args) -> Result {
    match &args.end {
        End::Send(args) => args.run(),
        End::Receive(args) => args.run(),
    }
}

impl Send {
    //= S0.27
    fn run(&self) -> Result {
        let jpeg = Jpeg::encode(&read(self.file.as_deref())?, self.quality)
            .map_err(|error| CliError::from(error).into_usage())?;
        let layout = jpeg.layout().to_bytes();
        let mut sender = self.to.connect()?;
        sender.plan(&[(layout.len() as u32).to_be_bytes(), self.size.to_be_bytes()].concat())?;
        sender.plan(&layout)?;
        let size = self.size as usize;
        let count = jpeg.scan().len().div_ceil(size) as u32;
        // Every record has the same length, so that a stream can be cut into them.
        let record = |number: u32| {
            let at = number as usize * size;
            let mut record = jpeg.scan()[at..jpeg.scan().len().min(at + size)].to_vec();
            record.resize(size, 0);
            record
        };
        sender.records(count, self.interval, 0, record)?;
        sender.close()?;
        Ok(Completion::Success)
    }
}

impl Receive {
    fn run(&self) -> Result {
        let original = read(self.compare.as_deref())?;
        let output = self.out.as_deref().map(Output::open).transpose()?;
        let (plan, mut receiver) = self.on.accept(PLAN)?;
        let (length, size) = plan
            .split_first_chunk::<4>()
            .and_then(|(a, b)| {
                Some((u32::from_be_bytes(*a), u32::from_be_bytes(b.try_into().ok()?)))
            })
            .filter(|(length, size)| *length <= MAX_LAYOUT && (1..=60_000).contains(size))
            .ok_or_else(|| {
                CliError::new("the sender is not `windfall image send`: start that command there")
            })?;
        let layout = Layout::from_bytes(&receiver.plan(length as usize)?)?;
        // The sender is not to choose how much memory this takes.
        input::budget()?.take(layout.memory())?;
        let mut arrived = Arrived::new(layout.scan_len());
        let size = size as usize;
        let of = layout.scan_len().div_ceil(size);
        let mut datagrams = 0;
        receiver.expect_records()?;
        while let Some((number, data)) = receiver.next(size)? {
            datagrams += usize::from((number as usize) < of);
            arrived.put((number as usize).saturating_mul(size), &data);
        }
        let decoded = layout.decode(&arrived)?;
        if let Some((path, output)) = self.out.as_deref().zip(output) {
            let is_pixmap =
                path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("ppm"));
            let bytes = if is_pixmap { decoded.picture.to_ppm() } else { layout.to_file(&arrived) };
            output.write(&bytes)?;
        }
        let picture = &decoded.picture;
        //= S0.38
        let report = ImageReport {
            size: (picture.width(), picture.height()),
            datagrams: (of, datagrams),
            segments: (layout.segments(), decoded.unreadable),
            quality: (picture.psnr(&original), picture.ssim(&original)),
        };
        json::print(self.on.json, json::IMAGE, report.to_json(), &report.to_text())?;
        receiver.close();
        Ok(completed(Completion::Success))
    }
}

/// The picture in a file, or the one that is built in.
fn read(path: Option<&Path>) -> Result<Picture> {
    let Some(path) = path else { return Ok(landscape()) };
    let mut budget = input::budget()?;
    let bytes = input::read(path, &mut budget);
    let bytes = bytes.map_err(|error| cannot_read(path, &error))?;
    let picture = Picture::read_whole_within(&bytes, &mut budget);
    picture.map_err(|error| cannot_read(path, &error))
}
