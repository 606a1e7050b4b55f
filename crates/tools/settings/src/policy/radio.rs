//! Policies of 802.11 links.

use core::ops::Range;

use toml::Spanned;
use windfall_mac::wifi::rate_control::JOINT;
use windfall_mac::wifi::{Config, RadioPolicy};
use windfall_wire_link::ieee80211::Code;
use windfall_wire_link::ieee80211::coding::MARK_LEN;
use windfall_wire_link::ieee80211::header::MAX_BODY;
use windfall_wire_link::ieee80211::snap;

use crate::policy::name::PolicyName;

/// The longest packet of coded frames.
const MAX_MTU: usize = MAX_BODY - snap::LEN - MARK_LEN;

/// Configures a station by a policy; `mtu` is its longest packet, and `is_chosen` says that rate or
/// rate control are set already.
///
/// # Errors
/// Says why the policy does not fit the link, and the fix; the place is that of the name.
pub fn configure_radio(
    name: &Spanned<PolicyName>,
    config: &mut Config,
    (mtu, is_chosen): (u16, bool),
) -> Result<(), (Range<usize>, String)> {
    let fault = |message: String| Err((name.span(), message));
    let PolicyName::Radio(policy) = name.get_ref() else {
        let name = name.get_ref();
        return fault(format!(
            "{name} codes the frames of other links: on wifi use joint or parity-16, or kind = \
             \"pipe\""
        ));
    };
    if usize::from(mtu) > MAX_MTU {
        return fault(format!(
            "packets of coded frames are shorter: use an mtu of at most {MAX_MTU}"
        ));
    }
    match policy {
        RadioPolicy::Joint if is_chosen => {
            return fault("joint chooses the rate: remove rate and rate-control".to_owned());
        }
        RadioPolicy::Joint => {
            (config.rate_control, config.coding) = (JOINT, Some(Code::NONE));
        }
        RadioPolicy::Code(code) => config.coding = Some(*code),
    }
    Ok(())
}

/// Says why a link without such a radio has no policy of this name, and the fix.
#[must_use]
pub fn only_on_a_radio(name: &PolicyName) -> String {
    format!(
        "{name} is a policy of 802.11: use bold, light, robust, flex or best, or kind = \"wifi-g\""
    )
}
