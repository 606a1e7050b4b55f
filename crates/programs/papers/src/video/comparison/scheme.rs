//! A scheme of error control: what carries the stream, and options of the link.

/// A scheme: the protocol of the stream, and the options of `windfall run` for its link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CameraScheme {
    /// Its name in the table.
    pub name: String,
    /// The protocol, as `windfall camera --over` calls it.
    pub protocol: String,
    /// The options of `windfall run`.
    pub options: Vec<String>,
    /// A scheme of the user's own, which must be possible on the link.
    pub is_own: bool,
}

/// The protocols, as `windfall camera --over` calls them.
const PROTOCOLS: [&str; 3] = ["udp", "udplite", "sap"];

/// The schemes: name, protocol, options. Window and blocks spend the same share on repairs. Each
/// but the radio's own says how it retransmits, so that no link changes what its name stands for.
const ALL: [(&str, &str, &str); 11] = [
    ("none", "udp", "--arq none"),
    ("arq", "udp", "--arq 6"),
    ("combine", "udp", "--arq 6 --combine"),
    ("increments", "udp", "--arq 6 --increments"),
    ("coded", "udp", "--policy best --arq persistent"),
    ("joint", "udp", "--policy joint"),
    ("blocks", "udp", "--arq none --fec 8/12"),
    ("window", "udp", "--arq none --fec window:32:50%:40ms"),
    ("blocks-damaged", "udplite", "--arq none --fec 8/12 --accept-damaged"),
    ("bare", "udplite", "--arq none --accept-damaged"),
    ("sap", "sap", "--arq none --accept-damaged"),
];

impl CameraScheme {
    /// Returns the schemes that are compared if none is named.
    #[must_use]
    pub fn all() -> Vec<Self> {
        ALL.iter().map(|it| Self::of(it.0, it.1, it.2, false)).collect()
    }

    /// Reads a scheme: the name of one of the list, or `NAME=[PROTOCOL] OPTIONS`.
    ///
    /// # Errors
    /// Says which names there are, and how to write one of the user's own.
    pub fn parse(text: &str) -> Result<Self, String> {
        let names = || ALL.map(|it| it.0).join(", ");
        let Some((name, rest)) = text.split_once('=') else {
            let found = ALL.iter().find(|it| it.0 == text);
            let found = found.map(|it| Self::of(it.0, it.1, it.2, true));
            return found.ok_or_else(|| {
                format!("use {}, or one of your own: 'mine=udplite --fec 4/8'", names())
            });
        };
        let name = name.trim();
        let first = rest.split_whitespace().next().unwrap_or_default();
        let (protocol, options) = match PROTOCOLS.iter().find(|it| **it == first) {
            Some(protocol) => (*protocol, rest.trim_start().trim_start_matches(first)),
            None => ("udp", rest),
        };
        let is_option = |word: &str| word.starts_with("--");
        match options.split_whitespace().next() {
            _ if name.is_empty() => Err("a scheme has a name: 'mine=udplite --fec 4/8'".to_owned()),
            Some(word) if !is_option(word) => Err(format!(
                "\"{word}\" is neither a protocol, {}, nor an option of `windfall run`",
                PROTOCOLS.join(", ")
            )),
            _ => Ok(Self::of(name, protocol, options, true)),
        }
    }

    /// Refuses schemes of one name, which a table cannot tell apart.
    ///
    /// # Errors
    /// Names it, and says how to call the second.
    pub fn tell_apart(schemes: &[Self]) -> Result<(), String> {
        for (at, scheme) in schemes.iter().enumerate() {
            if schemes[..at].iter().any(|it| it.name == scheme.name) {
                let name = &scheme.name;
                let shown = scheme.shown();
                return Err(format!(
                    "two schemes are called \"{name}\": give each --scheme a name of its own, \
                     as '{name}-2={shown}'"
                ));
            }
        }
        Ok(())
    }

    fn of(name: &str, protocol: &str, options: &str, is_own: bool) -> Self {
        let options = options.split_whitespace().map(str::to_owned).collect();
        Self { name: name.to_owned(), protocol: protocol.to_owned(), options, is_own }
    }

    /// Returns protocol and options in one line.
    #[must_use]
    pub fn shown(&self) -> String {
        format!("{} {}", self.protocol, self.options.join(" ")).trim_end().to_owned()
    }
}
