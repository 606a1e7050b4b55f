//! The reports of receivers, as text and as JSON.

use core::fmt::Write as _;

use serde_json::{Value, json};
use windfall_apps::streamer::{Comparison, StreamPlan};
use windfall_apps::tracker::Tracker;
use windfall_base::Seed;
use windfall_files::traces::ErrorTrace;
use windfall_files::traces::error_trace::{Fault, TraceHeader};

use crate::streams::records::ArrivalTimes;

/// The report on a stream.
#[derive(Debug)]
pub struct StreamReport<'a> {
    /// The plan of the stream.
    pub plan: StreamPlan,
    /// The datagrams that arrived.
    pub comparison: &'a Comparison,
    /// The times of arrival.
    pub arrivals: &'a ArrivalTimes,
    /// The number of datagrams that came marked as suspect.
    pub suspect: u64,
}

impl StreamReport<'_> {
    /// Returns the report as a JSON object.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let plan = self.plan;
        let figures = self.comparison.figures();
        let (gap, variance) = self.arrivals.interarrival().unzip();
        let of_arrivals = |share: f64| (figures.arrived > 0).then_some(share);
        json!({
            "seed": plan.seed, "size": plan.size,
            "sent": figures.sent, "arrived": figures.arrived, "lost": figures.lost,
            "damaged": figures.damaged, "suspect": self.suspect,
            "reordered": figures.reordered,
            "duplicates": figures.repeated, "unknown": figures.foreign,
            "bit_errors": figures.wrong_bits,
            "bit_error_rate": of_arrivals(figures.bit_error_rate),
            "bit_error_rate_damaged":
                (figures.damaged > 0).then_some(figures.bit_error_rate_damaged),
            "correct_bits": of_arrivals(figures.correct_bits),
            "loss": figures.loss, "loss_or_damage": figures.loss_or_damage,
            "seconds": self.arrivals.seconds(),
            "gap_mean_seconds": gap, "gap_variance_square_seconds": variance,
        })
    }

    /// Returns the report in lines of text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let figures = self.comparison.figures();
        let mut out = format!(
            "{} of {} datagrams arrived in {:.3} s, {} of them damaged, {} out of order\n",
            figures.arrived,
            figures.sent,
            self.arrivals.seconds(),
            figures.damaged,
            figures.reordered
        );
        if figures.arrived > 0 {
            let _ = write!(out, "bit error rate {:.3e}", figures.bit_error_rate);
            if figures.damaged > 0 {
                let _ =
                    write!(out, ", in damaged datagrams {:.3e}", figures.bit_error_rate_damaged);
            }
            let correct = 100.0 * figures.correct_bits;
            let _ = writeln!(out, "; {correct:.4} % of the bits are correct");
        }
        let loss = 100.0 * figures.loss;
        let either = 100.0 * figures.loss_or_damage;
        let _ = writeln!(out, "lost {loss:.4} %, lost or damaged {either:.4} %");
        out
    }

    /// Returns the outcome of each datagram as an error trace, made by `workload`.
    #[must_use]
    pub fn trace(&self, workload: String) -> ErrorTrace {
        let mut trace = ErrorTrace::new(TraceHeader {
            seed: Some(Seed(self.plan.seed.into())),
            frame_length: Some(self.plan.size),
            workload,
            ..TraceHeader::default()
        });
        for fate in self.comparison.fates() {
            match fate {
                None => trace.push(Fault::Lost, 1),
                Some([]) => trace.push_ok(1),
                Some(bits) => {
                    trace.push(Fault::Damaged { truncated: None, inverted: bits.into() }, 1);
                }
            }
        }
        trace
    }
}

/// The report on a track.
#[derive(Debug)]
pub struct TrackReport<'a> {
    /// The number of points that were sent.
    pub points: u32,
    /// The number of points that arrived.
    pub arrived: u64,
    /// The true mean speed, in metres a second.
    pub speed: f64,
    /// The tracker with the points that it took.
    pub tracker: &'a Tracker,
    /// The times of arrival.
    pub arrivals: &'a ArrivalTimes,
}

impl TrackReport<'_> {
    /// Returns the error of the mean speed as a share; of a walker who stands there is none.
    fn error(&self) -> Option<f64> {
        let error = self.tracker.mean().map(|mean| (mean - self.speed).abs() / self.speed);
        error.filter(|it| it.is_finite())
    }

    /// Returns the report as a JSON object.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let (gap, variance) = self.arrivals.interarrival().unzip();
        json!({
            "points": self.points, "arrived": self.arrived, "taken": self.tracker.taken,
            "implausible": self.tracker.implausible, "mean_speed_mps": self.tracker.mean(),
            "true_speed_mps": self.speed, "error": self.error(),
            "seconds": self.arrivals.seconds(),
            "gap_mean_seconds": gap, "gap_variance_square_seconds": variance,
        })
    }

    /// Returns the report in lines of text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let Self { points, arrived, speed, tracker, .. } = self;
        let counts = format!("{arrived} of {points} points, {} implausible\n", tracker.implausible);
        let Some(mean) = tracker.mean() else { return counts + "too few points for a speed\n" };
        let off = self.error().map(|error| format!(": {:.2} % off", 100.0 * error));
        let off = off.unwrap_or_default();
        format!("{counts}mean speed {mean:.3} m/s, in truth {speed:.3} m/s{off}\n")
    }
}

/// The report on a picture.
#[derive(Clone, Copy, Debug)]
pub struct ImageReport {
    /// Width and height in pixels.
    pub size: (u32, u32),
    /// The number of datagrams that were sent, and that arrived.
    pub datagrams: (usize, usize),
    /// The number of segments, and of those that cannot be read.
    pub segments: (usize, usize),
    /// PSNR in dB and SSIM against the original; `None` if it has another size.
    pub quality: (Option<f64>, Option<f64>),
}

impl ImageReport {
    /// Returns the report as a JSON object.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "width": self.size.0, "height": self.size.1,
            "datagrams": self.datagrams.0, "arrived": self.datagrams.1,
            "segments": self.segments.0, "unreadable": self.segments.1,
            "psnr_db": self.quality.0, "ssim": self.quality.1,
        })
    }

    /// Returns the report in lines of text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let Self { size: (width, height), datagrams, segments, quality } = self;
        let quality = match quality.0.zip(quality.1) {
            Some((psnr, ssim)) => {
                format!("against the original: PSNR {psnr:.1} dB, SSIM {ssim:.3}")
            }
            None => "not compared: the original has another size; see --compare".to_owned(),
        };
        format!(
            "{width} × {height} pixels; {} of {} datagrams arrived, {} of {} segments unreadable\n\
             {quality}\n",
            datagrams.1, datagrams.0, segments.1, segments.0
        )
    }
}
