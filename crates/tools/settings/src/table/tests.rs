use super::{RowMetadata, Settings as _, check, parse};

/// A particular of gadgets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Noise;

impl RowMetadata for Noise {
    fn remark(&self) -> &'static str {
        "loud"
    }
}

settings! {
    /// An object that only this test knows.
    pub(crate) struct Gadget with Noise {
        /// Number of teeth
        "tooth-count" tooth_count: u8 [3..=40] {
            value: "NUMBER", example: "5", default: "12", detail: "Odd numbers run smoother.",
            metadata: Some(Noise), requirement: "S0.1",
        }
        /// Speed of the gadget
        "speed" speed: f64 { value: "SPEED", example: "2.5", excludes: "tooth-count" }
        /// Oil between the teeth
        "oil" oil: bool { value: "SWITCH", example: "on", needs: "speed" }
    }
    required {
        /// Name of the gadget
        "name" name: String { value: "NAME", example: "cog" }
    }
    parts {
        /// The smaller ones inside.
        "inner" inner: Vec<Gadget>
    }
}

fn read(text: &str) -> Result<Gadget, String> {
    parse(text).map_err(|error| error.message)
}

#[test]
fn a_row_makes_a_key_and_its_description() {
    let text = "name = \"cog\"\ntooth-count = 5\n\n[[inner]]\nname = \"pin\"\nspeed = 2.5\n";
    let gadget = read(text).expect("good");
    assert_eq!(toml::to_string(&gadget).expect("it has a form"), text);
    let [name, teeth, ..] = Gadget::TABLE else { panic!("four rows") };
    assert!(name.is_required && !teeth.is_required);
    assert_eq!((teeth.help(), teeth.range().as_deref()), ("Number of teeth", Some("3 to 40")));
    assert_eq!((teeth.kind, teeth.metadata), ("whole number", Some(Noise)));
    assert_eq!(teeth.text(&gadget).as_deref(), Some("5"));
    assert_eq!((name.remark(), teeth.remark()), ("", "loud"));
}

#[test]
fn a_value_out_of_range_is_refused_with_the_range() {
    let mut gadget = Gadget::unset();
    for text in ["2", "41", "many"] {
        let advice = Gadget::TABLE[1].set(&mut gadget, text).expect_err(text);
        assert_eq!(advice, "use a whole number from 3 to 40");
    }
    Gadget::TABLE[1].set(&mut gadget, "40").expect("the greatest");
    assert_eq!(check(&gadget), Ok(()));
    let gadget = read("name = \"cog\"\ntooth-count = 41\n").expect("the form is right");
    let message = check(&gadget).expect_err("too many").message;
    assert_eq!(message, "tooth-count of 41 is out of range: use a whole number from 3 to 40");
}

#[test]
fn unknown_missing_and_exclusive_keys_are_told() {
    assert_eq!(read("speed = 1.0\n").unwrap_err(), "missing field `name`");
    let known = "`name`, `tooth-count`, `speed`, `oil`, `inner`";
    let unknown = read("name = \"cog\"\nteeth = 1\n").unwrap_err();
    assert_eq!(unknown, format!("unknown field `teeth`, expected one of {known}"));
    let both = read("name = \"cog\"\ntooth-count = 5\nspeed = 1.0\n").expect("the form is right");
    let message = check(&both).expect_err("both").message;
    assert_eq!(message, "speed and tooth-count exclude each other: remove one");
}

#[test]
fn a_setting_without_the_one_that_it_needs_is_refused_with_the_fix() {
    let refusal = |keys: &str| {
        let gadget = read(&format!("name = \"cog\"\n{keys}")).expect("the form is right");
        check(&gadget).err().map(|fault| fault.message)
    };
    let said = "oil changes nothing without speed: add speed = 2.5";
    assert_eq!(refusal("oil = true\n").as_deref(), Some(said));
    assert_eq!(refusal("oil = true\nspeed = 1.0\n"), None);
    assert_eq!(refusal("oil = false\n"), None);
}

#[test]
fn an_overlay_wins_and_takes_away_what_it_excludes() {
    let mut below = read("name = \"cog\"\ntooth-count = 5\n").expect("good");
    below.overlay(&read("name = \"pin\"\nspeed = 1.0\n").expect("good"));
    assert_eq!(toml::to_string(&below).expect("it has a form"), "name = \"cog\"\nspeed = 1.0\n");
}
