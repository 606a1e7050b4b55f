//! The command line's face of the tables of settings: an option for each row.

use clap::builder::PossibleValuesParser;
use clap::builder::{PossibleValue, ValueParser};
use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches};
use windfall_scenario::wifi::Radio;
use windfall_scenario::{Direction, Link, RunSettings, Setting, Settings};

/// A table as a group of options.
pub(crate) trait OptionGroup: 'static {
    /// The object that the table describes.
    type Object: Settings;
    /// The prefix of the names of the options.
    const PREFIX: &'static str;
    /// The heading of the options in the help.
    const HEADING: &'static str;
    /// The short help leaves out all of them.
    const IS_HIDDEN: bool;

    /// Tells whether a setting is one of the options.
    fn has(setting: &Setting<Self::Object>) -> bool {
        !setting.is_required && !setting.is_key_only && Self::fits(setting.metadata.as_ref())
    }

    /// Tells whether settings with these particulars are among the options.
    fn fits(metadata: Option<&<Self::Object as Settings>::RowMetadata>) -> bool {
        let _ = metadata;
        true
    }

    /// Returns what the help adds to the description of a setting.
    fn remark(setting: &Setting<Self::Object>) -> &'static str {
        setting.remark()
    }

    /// Returns the names of options that cannot be given beside the one of this setting.
    fn conflicts(setting: &Setting<Self::Object>) -> Vec<String> {
        setting.excluded().map(name::<Self>).collect()
    }
}

/// Defines faces: `NAME: OBJECT, PREFIX, HEADING, IS_HIDDEN;`, and behind `of` the particulars of
/// their settings where they have not all of the table.
macro_rules! option_groups {
    ($($name:ident: $object:ty, $prefix:literal, $heading:literal, $is_hidden:literal
       $(, of $metadata:expr)?;)*) => {$(
        #[derive(Debug)]
        pub(crate) struct $name;

        impl $crate::face::OptionGroup for $name {
            type Object = $object;
            const PREFIX: &'static str = $prefix;
            const HEADING: &'static str = $heading;
            const IS_HIDDEN: bool = $is_hidden;
            $(
                fn fits(
                    metadata: Option<&<$object as windfall_scenario::Settings>::RowMetadata>,
                ) -> bool {
                    metadata == $metadata
                }
            )?
        }
    )*};
}
pub(crate) use option_groups;

/// The options of a face, as the object that they describe.
#[derive(Debug)]
pub(crate) struct Options<F: OptionGroup>(pub(crate) F::Object);

impl<F: OptionGroup> clap::Args for Options<F> {
    fn augment_args(command: Command) -> Command {
        command.args(settings::<F>().map(argument::<F>))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<F: OptionGroup> FromArgMatches for Options<F> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut options = Self(F::Object::unset());
        options.update_from_arg_matches(matches)?;
        Ok(options)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for setting in settings::<F>() {
            if let Some(lines) = matches.get_many::<String>(&name::<F>(setting)) {
                let text = lines.cloned().collect::<Vec<_>>().join("\n");
                let refused =
                    |advice| clap::Error::raw(clap::error::ErrorKind::InvalidValue, advice);
                setting.set(&mut self.0, &text).map_err(refused)?;
            }
        }
        Ok(())
    }
}

fn settings<F: OptionGroup>() -> impl Iterator<Item = &'static Setting<F::Object>> {
    F::Object::TABLE.iter().filter(|setting| F::has(setting))
}

fn name<F: OptionGroup + ?Sized>(setting: &Setting<F::Object>) -> String {
    format!("{}{}", F::PREFIX, setting.option())
}

/// The option of a setting.
fn argument<F: OptionGroup>(setting: &'static Setting<F::Object>) -> Arg {
    let argument = Arg::new(name::<F>(setting))
        .long(name::<F>(setting))
        .value_name(setting.value)
        .value_parser(parser(setting))
        .conflicts_with_all(F::conflicts(setting))
        .help(help::<F>(setting))
        .help_heading(F::HEADING)
        .hide_short_help(F::IS_HIDDEN);
    if setting.is_repeated {
        argument.action(ArgAction::Append)
    } else if setting.is_switch() {
        argument.num_args(0..=1).require_equals(true).default_missing_value("on")
    } else {
        argument
    }
}

/// The description with its range and its remark, and the default if no other option says it.
fn help<F: OptionGroup>(setting: &Setting<F::Object>) -> String {
    let mut text = setting.help().to_owned();
    for limit in [setting.range().unwrap_or_default(), F::remark(setting).to_owned()] {
        if !limit.is_empty() {
            text += &format!(" [{limit}]");
        }
    }
    let default = [setting.default, setting.unset].into_iter().find(|text| !text.is_empty());
    match default.filter(|_| F::PREFIX.is_empty()) {
        Some(default) => format!("{text} [default: {default}]"),
        None => text,
    }
}

/// Checks the text of a value; it is read for good when all options are known.
fn parser<T: Settings>(setting: &'static Setting<T>) -> ValueParser {
    let words = (setting.words)();
    if words.is_empty() {
        let check =
            |text: &str| setting.set_by_option(&mut T::unset(), text).map(|()| text.to_owned());
        return ValueParser::new(check);
    }
    let value = |(word, meaning): (&'static str, &'static str)| match meaning {
        "" => PossibleValue::new(word),
        meaning => PossibleValue::new(word).help(meaning),
    };
    PossibleValuesParser::new(words.into_iter().map(value)).into()
}

/// Returns the line of an option in the short help of commands with many options, if it has one.
pub(crate) fn short_help(option: &str) -> Option<&'static str> {
    fn find<T: Settings>(option: &str) -> Option<&'static str> {
        let mut found = T::TABLE.iter().filter(|it| it.option() == option && !it.short.is_empty());
        found.next().map(|it| it.short)
    }
    let tables = [find::<Link>, find::<Radio>, find::<Direction>, find::<RunSettings>];
    tables.into_iter().find_map(|find| find(option))
}

/// Tells whether the value of an option may have several words, whatever its prefix.
pub(crate) fn has_words(option: &str) -> bool {
    let of_direction = option.trim_start_matches("uplink-").trim_start_matches("downlink-");
    let is_in_words = |name: &str, example: &str| name == of_direction && example.contains(' ');
    Direction::TABLE.iter().any(|it| is_in_words(it.option(), it.example))
        || Radio::TABLE.iter().any(|it| is_in_words(it.option(), it.example))
}
