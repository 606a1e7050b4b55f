//! One picture across one bad link in four ways, side by side with the seconds that each took.
//!
//! The seed of the link decides which bits it inverts, so each way is tried with several.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc;
use std::thread::ScopedJoinHandle;
use std::time::Duration;

use windfall_base::Seed;
use windfall_media::{Jpeg, Picture, landscape};
use windfall_report::Table;

use super::{Demo, PORT, read, watched, write};
use crate::experiment::{ExperimentError, Scratch};

/// The link of the pictures: slow, and so bad that more than a third of the full frames are hit.
const LINK: [&str; 8] =
    ["--rate", "500kbps", "--delay", "20ms", "--ber", "5e-5", "--tcp-congestion", "reno"];
/// The time after which a transfer has failed.
const LIMIT: Duration = Duration::from_secs(60);
/// The quality of the picture, that of `windfall image send`.
const QUALITY: u8 = 85;
/// Each way is tried with as many seeds, at once: a run waits for its link nearly all the time.
const SEEDS: u64 = 3;

/// A way to send the picture.
struct Way {
    /// The name of the file.
    file: &'static str,
    /// The title for people.
    title: &'static str,
    /// The protocol that `windfall image` uses; none for curl.
    over: Option<&'static str>,
    /// The option with which the link passes damaged packets up.
    accepts: bool,
}

const WAYS: [Way; 4] = [
    Way {
        file: "curl",
        title: "As today: curl from a web server, every byte exact by TCP",
        over: None,
        accepts: false,
    },
    Way {
        file: "precise",
        title: "Exact: SAP repeats damaged packets until every byte is right",
        over: Some("sap-precise"),
        accepts: true,
    },
    Way {
        file: "approximate",
        title: "Approximate: damaged packets are shown as they are",
        over: Some("sap"),
        accepts: true,
    },
    Way {
        file: "discarded",
        title: "Damaged packets are thrown away, and never sent again",
        over: Some("sap"),
        accepts: false,
    },
];

/// The file that a transfer of the picture left.
struct ReceivedFile {
    /// The seconds that it took; `None` if it did not end in time.
    seconds: Option<f64>,
    bytes: Vec<u8>,
}

/// The picture as it arrived one way with one seed.
struct Arrival {
    /// The seconds that it took; `None` if it did not end in time.
    seconds: Option<f64>,
    /// The name of the file, if the picture can be shown.
    file: Option<String>,
    /// Its likeness to the original, in dB.
    psnr: Option<f64>,
}

/// The arrivals of one way, one for each seed; the page shows that of the first.
struct Arrivals {
    way: &'static Way,
    each: Vec<Arrival>,
    /// The command that repeats the first.
    command: String,
}

impl Arrivals {
    /// The least and the greatest of the values that there are, if all seeds have one.
    fn range(&self, value: impl Fn(&Arrival) -> Option<f64>) -> Option<(f64, f64)> {
        let values: Option<Vec<f64>> = self.each.iter().map(value).collect();
        let least_and_most = |(least, most): (f64, f64), it: &f64| (least.min(*it), most.max(*it));
        Some(values?.iter().fold((f64::INFINITY, f64::NEG_INFINITY), least_and_most))
    }

    /// The range of a value with its unit, or of how many seeds it is known.
    fn spread(&self, value: impl Fn(&Arrival) -> Option<f64>, digits: usize, unit: &str) -> String {
        let known = self.each.iter().filter(|it| value(it).is_some()).count();
        match self.range(value) {
            Some((least, most)) => format!("{least:.digits$} to {most:.digits$}{unit}"),
            None => format!("{known} of {} seeds", self.each.len()),
        }
    }
}

impl Demo {
    /// Sends one picture across one bad link in four ways, and writes what arrived into the folder
    /// `out`, with a page `pictures.html` that shows it side by side. Returns the times and the
    /// likeness, and what they mean.
    ///
    /// # Errors
    /// If a run fails or a file cannot be written. That a transfer does not end is no error.
    pub fn pictures(
        &self,
        out: &Path,
        progress: &dyn Fn(&str),
    ) -> Result<(Table, String), ExperimentError> {
        let scratch = Scratch::new()?;
        let original = landscape();
        let sent = Jpeg::encode(&original, QUALITY).map_err(|error| ExperimentError::Run {
            command: "encode the picture".to_owned(),
            message: error.to_string(),
        })?;
        write(&scratch.0.join("picture.jpg"), &sent.to_bytes())?;
        let made = fs::create_dir_all(out);
        made.map_err(|source| ExperimentError::File { path: out.to_owned(), source })?;
        write(&out.join("picture.jpg"), &sent.to_bytes())?;
        let mut arrivals = Vec::new();
        for way in &WAYS {
            let message = format!("sending a picture, with {SEEDS} seeds: {}", way.title);
            let each = self.send_with_seeds(way, &scratch.0, &|| progress(&message))?;
            let each = each.into_iter().enumerate().map(|(number, received)| {
                let ReceivedFile { seconds, bytes } = received;
                let shown = Picture::read(&bytes).ok();
                let file = shown.as_ref().filter(|_| number == 0);
                let file = file.map(|_| format!("picture-{}.jpg", way.file));
                if let Some(file) = &file {
                    write(&out.join(file), &bytes)?;
                }
                let psnr = shown.and_then(|shown| shown.psnr(&original));
                Ok(Arrival { seconds, file, psnr })
            });
            let each = each.collect::<Result<_, ExperimentError>>()?;
            arrivals.push(Arrivals { way, each, command: self.command(way) });
        }
        write(&out.join("pictures.html"), page(&arrivals, self.seed).as_bytes())?;
        let approximate = arrivals.iter().find(|it| it.way.file == "approximate");
        let notes = format!(
            "{}\nTo send it approximately again, in {}:\n{}",
            NOTES.join("\n"),
            out.display(),
            approximate.map_or("", |it| &it.command)
        );
        Ok((table(&arrivals), notes))
    }

    /// Sends the picture one way with each seed.
    fn send_with_seeds(
        &self,
        way: &Way,
        folder: &Path,
        tick: &dyn Fn(),
    ) -> Result<Vec<ReceivedFile>, ExperimentError> {
        let attempt = |number: u64| {
            let got = folder.join(format!("{}-{number}.jpg", way.file));
            write(&got, &[])?;
            let seed = Seed(self.seed.0.wrapping_add(number));
            let seconds = self.send(way, folder, &got, seed)?;
            Ok(ReceivedFile { seconds, bytes: read(&got)? })
        };
        let attempt = &attempt;
        std::thread::scope(|scope| {
            let (done, ended) = mpsc::channel::<()>();
            let start = |number| {
                let done = done.clone();
                let thread = std::thread::Builder::new();
                let started = thread.spawn_scoped(scope, move || (attempt(number), drop(done)).0);
                (number, started)
            };
            let attempts: Vec<_> = (0..SEEDS).map(start).collect();
            drop(done);
            // It is closed when all have ended.
            while ended.recv_timeout(super::TICK) == Err(mpsc::RecvTimeoutError::Timeout) {
                tick();
            }
            // What the system has no thread for is done here.
            let finish = |(number, started): (u64, io::Result<_>)| {
                started.map_or_else(
                    |_| attempt(number),
                    |it: ScopedJoinHandle<'_, _>| it.join().expect("it does not panic"),
                )
            };
            attempts.into_iter().map(finish).collect()
        })
    }

    /// Sends the picture one way, and returns the seconds that it took.
    fn send(
        &self,
        way: &Way,
        folder: &Path,
        got: &Path,
        seed: Seed,
    ) -> Result<Option<f64>, ExperimentError> {
        let ends = Ends::new(way, &quoted(&self.program), &quoted(folder), &quoted(got));
        // From the begin of the transfer, without the time in which the stations come up, until
        // what arrived is written.
        let near = format!("a=$(date +%s%N); {}; echo $a $?", ends.near);
        let mut command = Command::new(&self.program);
        command.env("LC_ALL", "C").args(options(way, seed)).args(["--far-may-fail"]);
        command.args(["--wait-port", &ends.port.to_string(), "--far-output", "/dev/null"]);
        command.args(["--far", &ends.far, "--", "sh", "-c", &near]);
        let shown = self.command(way);
        let output = watched(command, &shown, LIMIT * 2, &|| ())?;
        if !output.status.success() {
            let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(ExperimentError::Run { command: shown, message });
        }
        Ok(seconds(way, &String::from_utf8_lossy(&output.stdout), got))
    }

    /// The command that sends the picture one way again, for a shell in the folder of the pages.
    fn command(&self, way: &Way) -> String {
        let Ends { far, near, port } = Ends::new(way, "windfall", ".", "got.jpg");
        let options = options(way, self.seed).join(" ");
        format!(
            "windfall {options} --far-may-fail --wait-port {port} --far \"{far}\" -- sh -c '{near}'"
        )
    }
}

fn quoted(path: &Path) -> String {
    format!("'{}'", path.to_string_lossy().replace('\'', "'\\''"))
}

/// The options of a run that sends the picture one way.
fn options(way: &Way, seed: Seed) -> Vec<String> {
    let mut options = vec!["run".to_owned(), "-q".to_owned()];
    options.extend(LINK.map(str::to_owned));
    options.extend(way.accepts.then(|| "--accept-damaged".to_owned()));
    options.extend(["--seed".to_owned(), seed.to_string()]);
    options
}

/// The programs at the ends of the link, as lines of the shell.
struct Ends {
    far: String,
    near: String,
    /// The port at which the far one listens.
    port: u16,
}

impl Ends {
    /// The ends where `program` is this one, `folder` has the picture and it arrives in `got`.
    fn new(way: &Way, program: &str, folder: &str, got: &str) -> Self {
        let limit = LIMIT.as_secs();
        match way.over {
            None => Self {
                far: format!("exec python3 -m http.server {PORT} --directory {folder} 2>/dev/null"),
                near: format!(
                    "curl --disable --noproxy \"*\" --silent --max-time {limit} --output {got} \
                     http://$WINDFALL_BASE:{PORT}/picture.jpg"
                ),
                port: PORT,
            },
            Some(over) => Self {
                far: format!("exec {program} image receive --over {over} --out {got}"),
                near: format!(
                    "timeout {limit} {program} image send $WINDFALL_BASE --over {over} \
                     --interval 0ms >/dev/null 2>&1"
                ),
                port: 5004,
            },
        }
    }
}

/// The seconds from the begin in nanoseconds that the sender has printed, beside its exit status,
/// until `got` was written; `None` if it was not in time.
fn seconds(way: &Way, printed: &str, got: &Path) -> Option<f64> {
    let (began, status) = printed.trim().split_once(' ')?;
    // The receiver of `windfall image` writes the picture when all of it was sent, and ends; the
    // sender may take that for an early end. What curl has not ended is not whole.
    let is_whole = way.over.is_some() || status == "0";
    let written = fs::metadata(got).ok().filter(|it| is_whole && it.len() > 0)?.modified().ok()?;
    let written = written.duration_since(std::time::UNIX_EPOCH).ok()?;
    let seconds = (written.as_nanos() as f64 - began.parse::<f64>().ok()?) * 1e-9;
    (0.0..LIMIT.as_secs_f64()).contains(&seconds).then_some(seconds)
}

/// The notes that explain the table.
const NOTES: [&str; 3] = [
    "Likeness: PSNR to the picture before its compression. An exact copy has what JPEG leaves.",
    "Exact: no byte is wrong, as with curl; the link damages packets, and SAP repeats those.",
    "Approximate: what was damaged is used as it is, so nothing is sent twice.",
];

fn table(arrivals: &[Arrivals]) -> Table {
    let seeds = format!("with {SEEDS} seeds");
    let mut table =
        Table::new(["one picture across one bad link", "seconds", &seeds, "likeness", &seeds]);
    for it in arrivals {
        let Some(first) = it.each.first() else { continue };
        table.push([
            it.way.title.to_owned(),
            first.seconds.map_or_else(|| "none".to_owned(), |it| format!("{it:.2}")),
            it.spread(|it| it.seconds, 2, ""),
            first.psnr.map_or_else(|| "none".to_owned(), |it| format!("{it:.1} dB")),
            it.spread(|it| it.psnr, 1, " dB"),
        ]);
    }
    table
}

/// The pictures side by side; their files lie beside the page.
fn page(arrivals: &[Arrivals], seed: Seed) -> String {
    let mut page = "<!doctype html><html lang=en><meta charset=utf-8>\
        <meta name=viewport content=\"width=device-width, initial-scale=1\">\
        <meta name=color-scheme content=\"light dark\"><title>One picture, one bad link</title>\
        <style>body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:60rem;\
        padding:0 1rem}main{display:grid;gap:1.5rem;\
        grid-template-columns:repeat(auto-fit,minmax(min(100%,24rem),1fr))}figure{margin:0}\
        img{width:100%;border-radius:6px}b{font-size:1.4rem}</style>\
        <h1>One picture, one bad link</h1>\n"
        .to_owned();
    // Writing to a string cannot fail.
    let _ = writeln!(
        page,
        "<p>The same picture crosses the same link in four ways. The link carries 500 kb/s and \
         inverts one bit of 20&nbsp;000: more than a third of the full packets are hit.</p>\n<main>"
    );
    for it in arrivals {
        let Some(first) = it.each.first() else { continue };
        let title = it.way.title;
        let picture = match &first.file {
            Some(file) => format!("<img src=\"{file}\" alt=\"{title}\">"),
            None => "<p>nothing that can be shown</p>".to_owned(),
        };
        let seconds = first.seconds.map_or_else(
            || format!("not within {} s", LIMIT.as_secs()),
            |seconds| format!("{seconds:.2} s"),
        );
        let psnr = first.psnr.map_or_else(String::new, |psnr| format!(", {psnr:.1} dB"));
        let (times, likeness) =
            (it.spread(|it| it.seconds, 2, " s"), it.spread(|it| it.psnr, 1, " dB"));
        let _ = writeln!(
            page,
            "<figure>{picture}<figcaption><b>{seconds}</b>{psnr}<br>{title}<br>\
             <small>with {SEEDS} seeds: {times}; {likeness}</small></figcaption></figure>"
        );
    }
    let _ = writeln!(page, "</main>\n<p>{}</p>", NOTES.join("<br>"));
    let _ = writeln!(
        page,
        "<p>The pictures are those of seed {seed}. To repeat one, in this folder:</p>\n<pre \
         style=\"white-space:pre-wrap\">"
    );
    for it in arrivals {
        let command = it.command.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let _ = writeln!(page, "{command}\n");
    }
    page.push_str("</pre>\n");
    page
}
