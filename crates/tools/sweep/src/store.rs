//! The folder in which finished runs are kept, so that a sweep that ended early goes on.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use windfall_system::as_caller;

use crate::error::SweepError;
use crate::grid::SweepRun;
use crate::measures::Measures;

/// The name of the file of finished runs, and of the file that only one sweep may hold.
const RUNS: &str = "runs.jsonl";
const LOCK: &str = ".lock";
/// The first line of the file: its format.
const FORMAT: &str = "{\"format\":\"windfall-sweep-runs/1\"}";

/// Finished runs, in a file to which each is appended when it ends.
///
/// A line that was cut by the end of the machine or of the program is dropped; every other run is
/// read back, and counts once however often it stands there. A store without a folder keeps them in
/// memory.
#[derive(Debug, Default)]
pub struct RunStore {
    place: Option<Place>,
    finished: BTreeMap<String, KeptRun>,
}

/// The file of a store.
#[derive(Debug)]
struct Place {
    path: PathBuf,
    file: File,
    /// Held as long as the store is open.
    _lock: File,
}

/// A line of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct KeptRun {
    /// The identity of the run.
    run: String,
    seed: u64,
    /// The point in words, for people.
    point: String,
    measures: Measures,
}

impl RunStore {
    /// Opens the store of a folder that exists, and reads what is kept there.
    ///
    /// # Errors
    /// If another sweep has it open, the file cannot be read or written, or holds something else.
    pub fn open(folder: &Path) -> Result<Self, SweepError> {
        let path = folder.join(RUNS);
        let lock = locked(&folder.join(LOCK))?;
        let disk = |error| SweepError::Disk { path: path.clone(), error };
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = as_caller(&path, || options.open(&path)).map_err(disk)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(disk)?;
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let finished = read(&path, &bytes[..whole])?;
        file.set_len(whole as u64).map_err(disk)?;
        file.seek(SeekFrom::End(0)).map_err(disk)?;
        if whole == 0 {
            file.write_all(format!("{FORMAT}\n").as_bytes()).map_err(disk)?;
        }
        Ok(Self { place: Some(Place { path, file, _lock: lock }), finished })
    }

    /// Returns the measures of a run, if it has finished.
    #[must_use]
    pub fn get(&self, run: &SweepRun) -> Option<&Measures> {
        self.finished.get(&run.identity).map(|it| &it.measures)
    }

    /// Returns the number of finished runs that are kept, those of other sweeps included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.finished.len()
    }

    /// Tells whether no run has finished.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.finished.is_empty()
    }

    /// Keeps a run of the point called `point`; one that is kept already is not counted again.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn keep(
        &mut self,
        run: &SweepRun,
        point: String,
        measures: Measures,
    ) -> Result<(), SweepError> {
        if self.finished.contains_key(&run.identity) {
            return Ok(());
        }
        let kept = KeptRun { run: run.identity.clone(), seed: run.seed.0, point, measures };
        if let Some(place) = &mut self.place {
            let written = place.file.write_all(line(&kept).as_bytes());
            written.map_err(|error| SweepError::Disk { path: place.path.clone(), error })?;
        }
        self.finished.insert(run.identity.clone(), kept);
        Ok(())
    }

    /// Leaves the folder to other sweeps; what has finished stays in memory.
    pub fn close(&mut self) {
        self.place = None;
    }

    /// Writes the file anew in an order that does not depend on which run ended first.
    ///
    /// # Errors
    /// If the file cannot be written; what was kept before is still there then.
    pub fn settle(&mut self) -> Result<(), SweepError> {
        let Some(place) = &mut self.place else { return Ok(()) };
        let lines: String = self.finished.values().map(line).collect();
        let beside = place.path.with_extension("jsonl.new");
        let disk = |error| SweepError::Disk { path: place.path.clone(), error };
        let settled = as_caller(&place.path, || {
            fs::write(&beside, format!("{FORMAT}\n{lines}"))?;
            fs::rename(&beside, &place.path)?;
            OpenOptions::new().append(true).open(&place.path)
        });
        place.file = settled.map_err(disk)?;
        Ok(())
    }
}

fn line(kept: &KeptRun) -> String {
    // Text and finite numbers always have a JSON form.
    serde_json::to_string(kept).map(|it| it + "\n").unwrap_or_default()
}

/// Opens a file that no other sweep has open.
fn locked(path: &Path) -> Result<File, SweepError> {
    let disk = |error: io::Error| SweepError::Disk { path: path.to_owned(), error };
    let file = as_caller(path, || File::create(path)).map_err(disk)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::Error(error)) => Err(disk(error)),
        Err(TryLockError::WouldBlock) => Err(SweepError::Store {
            path: path.to_owned(),
            fix: "another sweep writes here: wait for its end, or choose another with --out"
                .to_owned(),
        }),
    }
}

fn read(path: &Path, bytes: &[u8]) -> Result<BTreeMap<String, KeptRun>, SweepError> {
    let wrong = |number: usize, what: &str| SweepError::Store {
        path: path.to_owned(),
        fix: format!("line {number} {what}: remove the file, or choose another with --out"),
    };
    let mut lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).enumerate();
    match lines.next() {
        None => return Ok(BTreeMap::new()),
        Some((_, line)) if line == FORMAT.as_bytes() => {}
        Some(_) => return Err(wrong(1, "is not of a sweep by this program")),
    }
    let mut finished = BTreeMap::new();
    for (place, line) in lines {
        let kept: KeptRun =
            serde_json::from_slice(line).map_err(|_| wrong(place + 1, "is no finished run"))?;
        finished.entry(kept.run.clone()).or_insert(kept);
    }
    Ok(finished)
}

#[cfg(test)]
mod tests;
