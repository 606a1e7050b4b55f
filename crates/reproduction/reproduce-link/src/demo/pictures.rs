//! One picture across one bad link in four ways, side by side with the seconds that each took.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use windfall_experiment::{ExperimentError, Scratch};
use windfall_media::{Jpeg, Picture, landscape};
use windfall_report::Table;

use super::{Demo, PORT, read, watched, write};

/// The link of the pictures: slow, and so bad that more than a third of the full frames are hit.
const LINK: [&str; 8] =
    ["--rate", "500kbps", "--delay", "20ms", "--ber", "5e-5", "--tcp-congestion", "reno"];
/// The time after which a transfer has failed.
const LIMIT: Duration = Duration::from_secs(60);
/// The quality of the picture, that of `windfall image send`.
const QUALITY: u8 = 85;

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
        title: "As today: curl from a web server, every byte by TCP",
        over: None,
        accepts: false,
    },
    Way {
        file: "precise",
        title: "Exact: every byte until it is right",
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

/// The picture as it arrived one way.
struct Arrival {
    title: &'static str,
    /// The seconds that it took; `None` if it did not end in time.
    seconds: Option<f64>,
    /// The name of the file, if the picture can be shown.
    file: Option<String>,
    /// Its likeness to the original, in dB.
    psnr: Option<f64>,
}

impl Demo {
    /// Sends one picture across one bad link in four ways, and writes what arrived into the folder
    /// `out`, with a page `pictures.html` that shows it side by side. Returns the times and the
    /// likeness.
    ///
    /// # Errors
    /// If a run fails or a file cannot be written. That a transfer does not end is no error.
    pub fn pictures(&self, out: &Path, progress: &dyn Fn(&str)) -> Result<Table, ExperimentError> {
        let scratch = Scratch::new()?;
        let original = landscape();
        let sent = Jpeg::encode(&original, QUALITY).map_err(|error| ExperimentError::Run {
            command: "encode the picture".to_owned(),
            message: error.to_string(),
        })?;
        write(&scratch.0.join("picture.jpg"), &sent.to_bytes())?;
        let made = fs::create_dir_all(out);
        made.map_err(|source| ExperimentError::File { path: out.to_owned(), source })?;
        let mut arrivals = Vec::new();
        for way in &WAYS {
            progress(&format!("sending a picture: {}", way.title));
            let got = scratch.0.join(format!("{}.jpg", way.file));
            write(&got, &[])?;
            let seconds = self.send(way, &scratch.0, &got)?;
            let bytes = read(&got)?;
            let shown = Picture::read(&bytes).ok();
            let file = shown.as_ref().map(|_| format!("picture-{}.jpg", way.file));
            if let Some(file) = &file {
                write(&out.join(file), &bytes)?;
            }
            let psnr = shown.and_then(|shown| shown.psnr(&original));
            arrivals.push(Arrival { title: way.title, seconds, file, psnr });
        }
        write(&out.join("pictures.html"), page(&arrivals, self.seed.0).as_bytes())?;
        Ok(table(&arrivals))
    }

    /// Sends the picture one way, and returns the seconds that it took.
    fn send(&self, way: &Way, folder: &Path, got: &Path) -> Result<Option<f64>, ExperimentError> {
        let quoted = |path: &Path| format!("'{}'", path.to_string_lossy().replace('\'', "'\\''"));
        let program = quoted(&self.program);
        let (far, near, port) = match way.over {
            None => {
                let web = format!(
                    "exec python3 -m http.server {PORT} --directory {} 2>/dev/null",
                    quoted(folder)
                );
                let get = format!(
                    "curl --disable --noproxy '*' --silent --max-time {} --output {} \
                     http://$WINDFALL_BASE:{PORT}/picture.jpg",
                    LIMIT.as_secs(),
                    quoted(got)
                );
                (web, get, PORT)
            }
            Some(over) => {
                let receive =
                    format!("exec {program} image receive --over {over} --out {}", quoted(got));
                let send = format!(
                    "timeout {} {program} image send $WINDFALL_BASE --over {over} --interval 0ms \
                     >/dev/null 2>&1",
                    LIMIT.as_secs()
                );
                (receive, send, 5004)
            }
        };
        // From the begin of the transfer, without the time in which the stations come up, until
        // what arrived is written.
        let near = format!("a=$(date +%s%N); {near}; echo $a $?");
        let mut command = Command::new(&self.program);
        command.env("LC_ALL", "C").arg("run").args(LINK).args(["-q", "--far-may-fail"]);
        command.args(way.accepts.then_some("--accept-damaged"));
        command.args(["--seed", &self.seed.to_string(), "--wait-port", &port.to_string()]);
        command.args(["--far-output", "/dev/null", "--far", &far, "--", "sh", "-c", &near]);
        let shown = format!("windfall run {}", LINK.join(" "));
        let output = watched(command, &shown, LIMIT * 2, &|| ())?;
        if !output.status.success() {
            let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(ExperimentError::Run { command: shown, message });
        }
        Ok(seconds(way, &String::from_utf8_lossy(&output.stdout), got))
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

fn table(arrivals: &[Arrival]) -> Table {
    let mut table = Table::new(["one picture across one bad link", "seconds", "likeness"]);
    for it in arrivals {
        let seconds = it.seconds.map_or_else(|| "none".to_owned(), |it| format!("{it:.2}"));
        let psnr = it.psnr.map_or_else(|| "none".to_owned(), |it| format!("{it:.1} dB"));
        table.push([it.title.to_owned(), seconds, psnr]);
    }
    table
}

/// The pictures side by side; their files lie beside the page.
fn page(arrivals: &[Arrival], seed: u64) -> String {
    let mut page = "<!doctype html><html lang=en><meta charset=utf-8>\
        <meta name=viewport content=\"width=device-width, initial-scale=1\">\
        <meta name=color-scheme content=\"light dark\"><title>One picture, one bad link</title>\
        <style>body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:60rem;\
        padding:0 1rem}main{display:grid;gap:1.5rem;\
        grid-template-columns:repeat(auto-fit,minmax(min(100%,24rem),1fr))}figure{margin:0}\
        img{width:100%;border-radius:6px}b{font-size:1.4rem}</style>\
        <h1>One picture, one bad link</h1>\n"
        .to_owned();
    let link = LINK.join(" ");
    // Writing to a string cannot fail.
    let _ = writeln!(
        page,
        "<p>The same picture crosses the same link in four ways. The link carries 500 kb/s and \
         inverts one bit of 20&nbsp;000: more than a third of the full packets are hit.</p>\n<main>"
    );
    for it in arrivals {
        let picture = match &it.file {
            Some(file) => format!("<img src=\"{file}\" alt=\"{}\">", it.title),
            None => "<p>nothing that can be shown</p>".to_owned(),
        };
        let seconds = it.seconds.map_or_else(
            || format!("not within {} s", LIMIT.as_secs()),
            |seconds| format!("{seconds:.2} s"),
        );
        let psnr = it.psnr.map_or_else(String::new, |psnr| format!(", {psnr:.1} dB"));
        let _ = writeln!(
            page,
            "<figure>{picture}<figcaption><b>{seconds}</b>{psnr}<br>{}</figcaption></figure>",
            it.title
        );
    }
    let _ = writeln!(page, "</main>\n<p><code>windfall run {link} --seed {seed}</code></p>");
    page
}
