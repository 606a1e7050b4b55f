//! The options of `windfall trace convert` for formats that leave something open.

use core::num::NonZeroU64;

use windfall_base::{Dbm, Rate, Seed};
use windfall_trace::convert::{MediumFrames, SignalFrames};

use crate::exit::{CliError, Result};
use crate::usage::whole;

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Formats of other programs")]
pub(super) struct Foreign {
    /// wmediumd: sender and receiver, by their numbers from 0 or their addresses
    #[arg(long, value_name = "FROM,TO")]
    path: Option<String>,
    /// wmediumd: number of frames to draw
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = whole(1..=9_999_999_u64))]
    frames: u64,
    /// wmediumd, signal: frame length in bytes, for signal-to-noise ratios
    #[arg(long, value_name = "BYTES", default_value_t = 1500, value_parser = whole(1..=65_535_u32))]
    length: u32,
    /// wmediumd, signal: rate of 802.11b/g, for signal-to-noise ratios
    #[arg(long, value_name = "RATE", default_value = "54Mbps")]
    rate: Rate,
    /// sequence: column of the sequence numbers, from 1
    #[arg(long, value_name = "NUMBER", default_value = "1")]
    pub(super) column: NonZeroU64,
    /// sequence: count of numbers before they start again at 0, 4096 for 802.11
    #[arg(long, value_name = "NUMBER")]
    pub(super) modulo: Option<NonZeroU64>,
    /// signal: name or number of the column with each frame's signal power in dBm
    #[arg(long, value_name = "COLUMN", conflicts_with = "snr")]
    signal: Option<String>,
    /// signal: noise power in dBm
    #[arg(long, value_name = "POWER", default_value = "-95dBm", allow_hyphen_values = true)]
    noise: Dbm,
    /// signal: name or number of the column with each frame's signal-to-noise ratio in dB
    #[arg(long, value_name = "COLUMN")]
    snr: Option<String>,
}

impl Foreign {
    pub(super) fn signal(&self, seed: Seed) -> Result<SignalFrames> {
        let noise = self.signal.as_ref().map(|_| self.noise);
        let fix = "name the column: add --signal COLUMN (dBm) or --snr COLUMN (dB)";
        let column = self.signal.as_ref().or(self.snr.as_ref());
        let column = column.ok_or_else(|| CliError::usage(fix))?.clone();
        Ok(SignalFrames { column, noise, length: self.length, rate: self.rate, seed })
    }

    pub(super) fn frames(&self, seed: Seed) -> Result<MediumFrames> {
        let path = self.path.as_deref().and_then(|path| path.split_once(','));
        let fix = "a configuration of wmediumd holds several paths: add --path FROM,TO, say 0,1";
        let (from, to) = path.ok_or_else(|| CliError::usage(fix))?;
        let path = (from.to_owned(), to.to_owned());
        Ok(MediumFrames { path, count: self.frames, length: self.length, rate: self.rate, seed })
    }
}
