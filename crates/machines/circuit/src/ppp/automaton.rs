//! The automaton of RFC 1661, section 4.1, as its table.

/// A state, in the order of the RFC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// The lower layer is down, and no open was asked for.
    Initial,
    /// The lower layer is down, and an open was asked for.
    Starting,
    /// The lower layer is up, and no open was asked for.
    Closed,
    /// Open was asked for, and the layer came to an end.
    Stopped,
    /// Closed here: waits for the confirmation.
    Closing,
    /// Closed by the peer.
    Stopping,
    /// A request was sent.
    ReqSent,
    /// The request was granted, and that of the peer was not.
    AckRcvd,
    /// The request of the peer was granted, and the own was not.
    AckSent,
    /// Both are granted.
    Opened,
}

/// An event, in the order of the RFC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The lower layer is up.
    Up,
    /// The lower layer is down.
    Down,
    /// Open is asked for.
    Open,
    /// Close is asked for.
    Close,
    /// The timer ran out, and there are attempts left.
    TimeoutAgain,
    /// The timer ran out for the last time.
    TimeoutLast,
    /// A request that can be granted.
    GoodRequest,
    /// A request that cannot.
    BadRequest,
    /// A Configure-Ack for the last request.
    Ack,
    /// A Configure-Nak or Configure-Reject for it.
    Nak,
    /// The peer asks to close.
    TerminateRequest,
    /// The peer confirms a close.
    TerminateAck,
    /// A packet of unknown code.
    UnknownCode,
    /// A rejection that can be lived with.
    HarmlessReject,
    /// A rejection of something indispensable.
    FatalReject,
    /// An echo or discard request, or an echo reply.
    Echo,
}

/// An action, by the abbreviations of the RFC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// This-Layer-Up: tell the layers above.
    Tlu,
    /// This-Layer-Down: tell the layers above.
    Tld,
    /// This-Layer-Started: tell the layer below.
    Tls,
    /// This-Layer-Finished: tell the layer below.
    Tlf,
    /// Initialize-Restart-Count: all attempts are left.
    Irc,
    /// Zero-Restart-Count: no attempt is left.
    Zrc,
    /// Send-Configure-Request: ask for the options.
    Scr,
    /// Send-Configure-Ack: grant all options.
    Sca,
    /// Send-Configure-Nak or -Reject: name the others.
    Scn,
    /// Send-Terminate-Request: ask to close.
    Str,
    /// Send-Terminate-Ack: confirm the close.
    Sta,
    /// Send-Code-Reject: return the packet.
    Scj,
    /// Send-Echo-Reply: answer the echo.
    Ser,
}

/// The actions of a transition and the new state; `None` where the RFC has a dash: it cannot
/// happen, or is ignored.
pub(crate) type Transition = Option<(&'static [Action], State)>;

/// The transition of an event in a state.
pub(crate) fn transition(state: State, event: Event) -> Transition {
    TABLE[event as usize][state as usize]
}

const fn to(state: State, actions: &'static [Action]) -> Transition {
    Some((actions, state))
}

/// A row for each event, a column for each state.
#[rustfmt::skip]
static TABLE: [[Transition; 10]; 16] = {
    use Action::*;
    use State::*;
    const NO: Transition = None;
    [
        // Up
        [to(Closed, &[]), to(ReqSent, &[Irc, Scr]), NO, NO, NO, NO, NO, NO, NO, NO],
        // Down
        [NO, NO, to(Initial, &[]), to(Starting, &[Tls]), to(Initial, &[]), to(Starting, &[]),
         to(Starting, &[]), to(Starting, &[]), to(Starting, &[]), to(Starting, &[Tld])],
        // Open
        [to(Starting, &[Tls]), to(Starting, &[]), to(ReqSent, &[Irc, Scr]), to(Stopped, &[]),
         to(Stopping, &[]), to(Stopping, &[]),
         to(ReqSent, &[]), to(AckRcvd, &[]), to(AckSent, &[]), to(Opened, &[])],
        // Close
        [to(Initial, &[]), to(Initial, &[Tlf]), to(Closed, &[]), to(Closed, &[]),
         to(Closing, &[]), to(Closing, &[]),
         to(Closing, &[Irc, Str]), to(Closing, &[Irc, Str]), to(Closing, &[Irc, Str]),
         to(Closing, &[Tld, Irc, Str])],
        // TO+
        [NO, NO, NO, NO, to(Closing, &[Str]), to(Stopping, &[Str]),
         to(ReqSent, &[Scr]), to(ReqSent, &[Scr]), to(AckSent, &[Scr]), NO],
        // TO-
        [NO, NO, NO, NO, to(Closed, &[Tlf]), to(Stopped, &[Tlf]),
         to(Stopped, &[Tlf]), to(Stopped, &[Tlf]), to(Stopped, &[Tlf]), NO],
        // RCR+
        [NO, NO, to(Closed, &[Sta]), to(AckSent, &[Irc, Scr, Sca]),
         to(Closing, &[]), to(Stopping, &[]),
         to(AckSent, &[Sca]), to(Opened, &[Sca, Tlu]), to(AckSent, &[Sca]),
         to(AckSent, &[Tld, Scr, Sca])],
        // RCR-
        [NO, NO, to(Closed, &[Sta]), to(ReqSent, &[Irc, Scr, Scn]),
         to(Closing, &[]), to(Stopping, &[]),
         to(ReqSent, &[Scn]), to(AckRcvd, &[Scn]), to(ReqSent, &[Scn]),
         to(ReqSent, &[Tld, Scr, Scn])],
        // RCA
        [NO, NO, to(Closed, &[Sta]), to(Stopped, &[Sta]), to(Closing, &[]), to(Stopping, &[]),
         to(AckRcvd, &[Irc]), to(ReqSent, &[Scr]), to(Opened, &[Irc, Tlu]),
         to(ReqSent, &[Tld, Scr])],
        // RCN
        [NO, NO, to(Closed, &[Sta]), to(Stopped, &[Sta]), to(Closing, &[]), to(Stopping, &[]),
         to(ReqSent, &[Irc, Scr]), to(ReqSent, &[Scr]), to(AckSent, &[Irc, Scr]),
         to(ReqSent, &[Tld, Scr])],
        // RTR
        [NO, NO, to(Closed, &[Sta]), to(Stopped, &[Sta]),
         to(Closing, &[Sta]), to(Stopping, &[Sta]),
         to(ReqSent, &[Sta]), to(ReqSent, &[Sta]), to(ReqSent, &[Sta]),
         to(Stopping, &[Tld, Zrc, Sta])],
        // RTA
        [NO, NO, to(Closed, &[]), to(Stopped, &[]), to(Closed, &[Tlf]), to(Stopped, &[Tlf]),
         to(ReqSent, &[]), to(ReqSent, &[]), to(AckSent, &[]), to(ReqSent, &[Tld, Scr])],
        // RUC
        [NO, NO, to(Closed, &[Scj]), to(Stopped, &[Scj]),
         to(Closing, &[Scj]), to(Stopping, &[Scj]),
         to(ReqSent, &[Scj]), to(AckRcvd, &[Scj]), to(AckSent, &[Scj]), to(Opened, &[Scj])],
        // RXJ+
        [NO, NO, to(Closed, &[]), to(Stopped, &[]), to(Closing, &[]), to(Stopping, &[]),
         to(ReqSent, &[]), to(ReqSent, &[]), to(AckSent, &[]), to(Opened, &[])],
        // RXJ-
        [NO, NO, to(Closed, &[Tlf]), to(Stopped, &[Tlf]), to(Closed, &[Tlf]), to(Stopped, &[Tlf]),
         to(Stopped, &[Tlf]), to(Stopped, &[Tlf]), to(Stopped, &[Tlf]),
         to(Stopping, &[Tld, Irc, Str])],
        // RXR
        [NO, NO, to(Closed, &[]), to(Stopped, &[]), to(Closing, &[]), to(Stopping, &[]),
         to(ReqSent, &[]), to(AckRcvd, &[]), to(AckSent, &[]), to(Opened, &[Ser])],
    ]
};

#[cfg(test)]
mod tests;
