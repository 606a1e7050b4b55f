//! One file of `windfall get`: asked for, repeated where that may help, and written.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, HumanDuration, ProgressBar};
use windfall_system::files::Replacement;
use windfall_web::{
    FetchError, Fetched, FetchedFile, Fetcher, HeaderMap, HeaderValue, IF_RANGE, RANGE, Repair,
    Uri, of_other_host,
};

use crate::exit::{CliError, Result, tell};
use crate::input::cannot_write;

/// The time between two looks at how far a file has come.
const TICK: Duration = Duration::from_millis(100);
/// The wait before the first repetition, which doubles with each further one up to the longest.
const WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// An address to fetch, and the settings of its transfer.
pub(super) struct Job {
    pub(super) url: Uri,
    pub(super) target: PathBuf,
    pub(super) headers: HeaderMap,
    pub(super) repair: Repair,
    /// The bytes that are there already stay, and only the others are asked for.
    pub(super) continues: bool,
    /// The number of times that a request which has failed is repeated.
    pub(super) retries: u32,
    /// The time without a byte, and that of the whole file, after which it is given up.
    pub(super) silence: Option<Duration>,
    pub(super) longest: Option<Duration>,
}

/// Why a file did not come.
enum Failure {
    Fetch(FetchError),
    /// The file cannot be written, which no repetition changes.
    Final(CliError),
}

impl From<FetchError> for Failure {
    fn from(error: FetchError) -> Self {
        Self::Fetch(error)
    }
}

impl From<CliError> for Failure {
    fn from(error: CliError) -> Self {
        Self::Final(error)
    }
}

/// Fetches a file, and repeats what may pass.
pub(super) async fn fetch(
    fetcher: Arc<Fetcher>,
    job: Job,
    bar: ProgressBar,
) -> Result<FetchedFile> {
    let began = Instant::now();
    let mut wait = WAIT;
    let mut version = job.version_of_kept();
    for left in (0..=job.retries).rev() {
        let error = match attempt(&fetcher, &job, &mut version, (began, &bar)).await {
            Ok(file) => return Ok(file),
            Err(Failure::Final(error)) => return Err(error.of(&job.url)),
            Err(Failure::Fetch(error)) if left == 0 || !error.may_pass() => {
                return Err(CliError::from(error).of(&job.url));
            }
            Err(Failure::Fetch(error)) => CliError::from(error),
        };
        let seconds = wait.as_secs();
        bar.suspend(|| tell(format_args!("{}: {error}: again in {seconds} s", job.url)));
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(LONGEST_WAIT);
    }
    Err(CliError::new("nothing was asked for").of(&job.url))
}

/// Asks for a file once; `version` is that of the bytes which an attempt before has left.
async fn attempt(
    fetcher: &Fetcher,
    job: &Job,
    version: &mut Option<HeaderValue>,
    (began, bar): (Instant, &ProgressBar),
) -> core::result::Result<FetchedFile, Failure> {
    let mut watch = Watch { job, bar, counter: Arc::default(), began, all: None, kept: 0 };
    let mut headers = job.headers.clone();
    watch.kept = job.kept();
    if watch.kept > 0 {
        let range = HeaderValue::from_str(&format!("bytes={}-", watch.kept));
        headers.extend(range.map(|range| (RANGE, range)));
        headers.extend(version.clone().map(|version| (IF_RANGE, version)));
    }
    let counter = Arc::clone(&watch.counter);
    let get = fetcher.follow(&job.url, &headers, &counter);
    let (found, mut fetched) = watch.until(get).await?;
    let headers = of_other_host(&headers, &job.url, &found);
    match fetched.length_without_range().filter(|_| watch.kept > 0) {
        Some(of) if of == watch.kept => {
            return Ok(job.file((fetched, found), (watch.kept, 0), began));
        }
        Some(of) if of < watch.kept => return Err(FetchError::Shorter(of, watch.kept).into()),
        _ => {}
    }
    let repaired = watch.until(fetcher.mend(job.repair, &found, &headers, &mut fetched)).await?;
    *version = fetched.version().cloned();
    watch.all = fetched.length();
    counter.store(0, Ordering::Relaxed);
    let request = Request { fetcher, url: &found, headers: &headers };
    let written = write(&request, &mut fetched, job, &counter);
    let bytes = watch.until_done(written).await?;
    Ok(job.file((fetched, found), (bytes, repaired), began))
}

impl Job {
    /// Returns the bytes of the file that are there already.
    fn kept(&self) -> u64 {
        let found = self.continues.then(|| std::fs::metadata(&self.target).ok()).flatten();
        found.filter(std::fs::Metadata::is_file).map_or(0, |found| found.len())
    }

    /// Returns the version of those bytes, if it was noted when they came.
    fn version_of_kept(&self) -> Option<HeaderValue> {
        let noted = (self.kept() > 0).then(|| windfall_system::files::noted_version(&self.target));
        HeaderValue::from_bytes(&noted.flatten()?).ok()
    }

    /// Describes the file that has come.
    fn file(
        &self,
        (fetched, found): (Fetched, Uri),
        (bytes, repaired): (u64, u64),
        began: Instant,
    ) -> FetchedFile {
        let damage = fetched.damage();
        let repaired = repaired + fetched.body.repaired();
        let media_type = fetched.media_type();
        let fallback = fetched.fallback;
        let seconds = began.elapsed().as_secs_f64();
        let file = self.target.display().to_string();
        let url = self.url.clone();
        FetchedFile { file, bytes, seconds, media_type, damage, repaired, fallback, url, found }
    }
}

/// Watches a file come: gives it up where nothing comes, and shows how far it has come.
struct Watch<'a> {
    job: &'a Job,
    bar: &'a ProgressBar,
    counter: Arc<AtomicU64>,
    began: Instant,
    /// The bytes of the body, if they are known.
    all: Option<u64>,
    /// The bytes of the file that were there before.
    kept: u64,
}

impl Watch<'_> {
    async fn until<T, E: Into<Failure>>(
        &self,
        future: impl Future<Output = core::result::Result<T, E>>,
    ) -> core::result::Result<T, Failure> {
        self.until_done(async { future.await.map_err(Into::into) }).await
    }

    async fn until_done<T>(
        &self,
        future: impl Future<Output = core::result::Result<T, Failure>>,
    ) -> core::result::Result<T, Failure> {
        let mut future = std::pin::pin!(future);
        let mut before = self.counter.load(Ordering::Relaxed);
        let mut last = Instant::now();
        loop {
            if let Ok(done) = tokio::time::timeout(TICK, &mut future).await {
                return done;
            }
            let now = self.counter.load(Ordering::Relaxed);
            if now != before {
                (before, last) = (now, Instant::now());
            }
            if self.job.silence.is_some_and(|silence| last.elapsed() >= silence) {
                return Err(FetchError::TimedOut.into());
            }
            if self.job.longest.is_some_and(|longest| self.began.elapsed() >= longest) {
                let message = "it has taken longer than --max-time".to_owned();
                return Err(CliError::new(message).into());
            }
            self.show(now);
        }
    }

    /// Shows the bytes that have come, of how many, and how long the others take at this rate.
    fn show(&self, now: u64) {
        let seconds = self.began.elapsed().as_secs_f64();
        let mut text = format!("{}: {}", self.job.url, HumanBytes(self.kept + now));
        if let Some(all) = self.all {
            text += &format!(" of {}", HumanBytes(self.kept + all));
        }
        let rate = now as f64 / seconds.max(1e-3);
        text += &format!(", {}/s", HumanBytes(rate as u64));
        if let Some(all) = self.all.filter(|_| rate > 0.0) {
            let left = Duration::from_secs_f64(all.saturating_sub(now) as f64 / rate);
            text += &format!(", {} to go", HumanDuration(left));
        }
        self.bar.set_message(text);
        self.bar.tick();
    }
}

/// A file that is being written.
enum Output {
    Standard,
    Whole(Box<Replacement>),
    /// It grows where it stands, as a pipe does too.
    Grows(File),
}

/// A request whose body may be asked for in more than one part.
struct Request<'a> {
    fetcher: &'a Fetcher,
    url: &'a Uri,
    headers: &'a HeaderMap,
}

/// Opens a named pipe once a program reads it; `None` if the target is none. Signals and
/// --max-time end this wait, but would not end that of the system.
async fn pipe_with_reader(target: &Path) -> std::io::Result<Option<File>> {
    loop {
        match windfall_system::files::open_pipe(target) {
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                tokio::time::sleep(TICK).await;
            }
            pipe => return pipe,
        }
    }
}

/// Writes the body of a request as it comes; returns the length of the file.
async fn write(
    request: &Request<'_>,
    fetched: &mut Fetched,
    job: &Job,
    counter: &AtomicU64,
) -> core::result::Result<u64, Failure> {
    let target = &job.target;
    let cannot = |error: std::io::Error| cannot_write(target, &error);
    let from = fetched.position();
    let version = fetched.version().map(HeaderValue::as_bytes);
    let pipe = pipe_with_reader(target).await.map_err(cannot)?;
    let mut output = match pipe {
        _ if target == Path::new("-") => Output::Standard,
        Some(pipe) => Output::Grows(pipe),
        // What a server without parts sends is the whole file, which replaces what is there once it
        // has come.
        None if job.continues && (from > 0 || job.kept() == 0) => {
            let file = windfall_system::files::append(target).map_err(cannot)?;
            let kept = file.metadata().map_err(cannot)?.len();
            if from != kept {
                let text = format!("{}: it has changed meanwhile", target.display());
                return Err(CliError::new(text).into());
            }
            windfall_system::files::note_version(&file, version);
            Output::Grows(file)
        }
        None => {
            let file = Replacement::begin(target).map_err(cannot)?;
            if job.continues {
                windfall_system::files::note_version(file.file(), version);
            }
            Output::Whole(Box::new(file))
        }
    };
    let mut length = 0;
    while let Some(bytes) = request.fetcher.next(request.url, request.headers, fetched).await? {
        length += bytes.len() as u64;
        counter.store(length, Ordering::Relaxed);
        match &mut output {
            Output::Standard => std::io::stdout().write_all(&bytes).map_err(CliError::from)?,
            Output::Whole(file) => file.write_all(&bytes).map_err(cannot)?,
            Output::Grows(file) => file.write_all(&bytes).map_err(cannot)?,
        }
    }
    match output {
        // The end of the process would hide the error of what is still buffered.
        Output::Standard => std::io::stdout().flush().map_err(CliError::from)?,
        Output::Whole(file) => file.place().map_err(cannot)?,
        Output::Grows(_) => {}
    }
    Ok(from + length)
}
