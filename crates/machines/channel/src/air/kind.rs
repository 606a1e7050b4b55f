//! Error models that a table lists: one file for each, behind one trait.
//!
//! An [`ErrorModel`] has the parameters, an [`ErrorProcess`] acts on frames by them, and an
//! [`ErrorModelKind`] is the row of the table, from which the settings of a direction are made.

use core::any::Any;
use core::fmt;
use std::sync::Arc;

use windfall_base::Stream;

use super::FrameDamage;
use super::error::ParseModelError;

/// The parameters of an error model. The text that `Display` writes reads back as the same ones.
pub trait ErrorModel: fmt::Debug + fmt::Display + Send + Sync {
    /// Starts the model in one direction; a state to start from is drawn from `draw`.
    fn start(&self, draw: &mut Stream) -> Box<dyn ErrorProcess>;
}

/// An error model at work in one direction.
pub trait ErrorProcess: CloneProcess + fmt::Debug + Send {
    /// Acts on the next frame, also on one that an earlier model has lost.
    ///
    /// `bits` is the number of its bits that may be hit, and `draw` a random stream of its own.
    fn apply(&mut self, bits: u32, draw: &mut Stream, damage: &mut FrameDamage);

    /// Continues from the state of the same kind of model with other parameters, which a change of
    /// the link has replaced. By default the model starts anew.
    fn continue_from(&mut self, before: &dyn ErrorProcess) {
        let _ = before;
    }
}

/// Copies a process; every process that is `Clone` has it.
pub trait CloneProcess {
    /// Returns a copy of this process with its state.
    fn clone_process(&self) -> Box<dyn ErrorProcess>;

    /// Returns the process as one of any type, from which its own type can be asked for.
    fn as_any(&self) -> &dyn Any;
}

impl<T: ErrorProcess + Clone + 'static> CloneProcess for T {
    fn clone_process(&self) -> Box<dyn ErrorProcess> {
        Box::new(self.clone())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Clone for Box<dyn ErrorProcess> {
    fn clone(&self) -> Self {
        (**self).clone_process()
    }
}

/// A row of the table of error models.
#[derive(Clone, Copy)]
pub struct ErrorModelKind {
    /// The key in scenarios, the name of the option, and that of its random stream.
    pub name: &'static str,
    /// The description in the help and the reference, a sentence without its full stop.
    pub help: &'static str,
    /// Further sentences of the reference; empty if there are none.
    pub detail: &'static str,
    /// The word that stands for its parameters in the help, such as `MODEL`.
    pub value: &'static str,
    /// The type of its parameters in messages, such as "chain of states".
    pub parameters: &'static str,
    /// Parameters that are allowed, and hit some of 3000 frames.
    pub example: &'static str,
    /// It loses frames and leaves the bits of the others alone.
    pub only_loses: bool,
    /// Reads the parameters.
    pub parse: fn(&str) -> Result<Arc<dyn ErrorModel>, ParseModelError>,
}

impl fmt::Debug for ErrorModelKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// An error model of a row of the table, with its parameters; equal if kind and text are.
#[derive(Clone, Debug)]
pub struct ListedModel {
    kind: ErrorModelKind,
    parameters: Arc<dyn ErrorModel>,
}

impl ListedModel {
    /// Returns the model with these parameters. The kind may be one of any crate.
    #[must_use]
    pub const fn new(kind: ErrorModelKind, parameters: Arc<dyn ErrorModel>) -> Self {
        Self { kind, parameters }
    }

    /// Reads the parameters of a model of this kind.
    ///
    /// # Errors
    /// Says what is wrong with them, and the fix.
    pub fn parse(kind: ErrorModelKind, text: &str) -> Result<Self, ParseModelError> {
        Ok(Self::new(kind, (kind.parse)(text)?))
    }

    /// Returns the row of the table.
    #[must_use]
    pub const fn kind(&self) -> &ErrorModelKind {
        &self.kind
    }

    pub(super) fn start(&self, draw: &mut Stream) -> Box<dyn ErrorProcess> {
        self.parameters.start(draw)
    }
}

impl PartialEq for ListedModel {
    fn eq(&self, other: &Self) -> bool {
        self.kind.name == other.kind.name && self.to_string() == other.to_string()
    }
}

impl fmt::Display for ListedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parameters.fmt(f)
    }
}
