//! Limits on calls to the ports that clients name, so that a server cannot be used to probe or to
//! disturb other programs.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The calls that may be under way to one address.
const UNDER_WAY: u32 = 64;
/// The calls that may go unanswered before an address is called no more.
const UNANSWERED: u32 = 4;
/// The time after which one unanswered call is forgotten.
const FORGET: Duration = Duration::from_secs(15);
/// The most addresses that are remembered.
const ADDRESSES: usize = 4_096;

#[derive(Clone, Debug, Default)]
struct Account {
    under_way: u32,
    unanswered: u32,
    since: Option<Instant>,
}

impl Account {
    /// Forgets unanswered calls that are old.
    fn forget(&mut self, now: Instant) {
        let Some(since) = self.since else { return };
        let steps = (now.duration_since(since).as_secs() / FORGET.as_secs()) as u32;
        self.unanswered = self.unanswered.saturating_sub(steps);
        self.since = (self.unanswered > 0).then(|| since + FORGET * steps);
    }

    fn is_empty(&self) -> bool {
        self.under_way == 0 && self.unanswered == 0
    }
}

/// The calls to each address.
#[derive(Debug, Default)]
pub(crate) struct CallQuota(Mutex<BTreeMap<IpAddr, Account>>);

/// A permission to call an address once; a call counts as unanswered until it was answered.
pub(crate) struct CallPermit {
    quota: Arc<CallQuota>,
    address: IpAddr,
    answered: bool,
    now: fn() -> Instant,
}

impl CallQuota {
    /// Permits a call to the address, or not.
    pub(crate) fn permit(
        self: &Arc<Self>,
        address: IpAddr,
        now: fn() -> Instant,
    ) -> Option<CallPermit> {
        let mut accounts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if accounts.len() >= ADDRESSES {
            accounts.values_mut().for_each(|account| account.forget(now()));
            accounts.retain(|_, account| !account.is_empty());
        }
        if accounts.len() >= ADDRESSES && !accounts.contains_key(&address) {
            // The oldest of those to which no call is under way is forgotten.
            let idle = accounts.iter().filter(|(_, account)| account.under_way == 0);
            let oldest = idle.min_by_key(|(_, account)| account.since).map(|(address, _)| *address);
            accounts.remove(&oldest?);
        }
        let account = accounts.entry(address).or_default();
        account.forget(now());
        // Calls under way may all go unanswered.
        let is_suspect = account.unanswered > 0;
        let risk = if is_suspect { account.unanswered + account.under_way } else { 0 };
        if account.under_way >= UNDER_WAY || risk >= UNANSWERED {
            return None;
        }
        account.under_way += 1;
        Some(CallPermit { quota: Arc::clone(self), address, answered: false, now })
    }
}

impl CallPermit {
    /// Notes that the client has answered.
    pub(crate) fn answered(mut self) {
        self.answered = true;
    }
}

impl Drop for CallPermit {
    fn drop(&mut self) {
        let mut accounts = self.quota.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(account) = accounts.get_mut(&self.address) else { return };
        account.under_way = account.under_way.saturating_sub(1);
        if !self.answered {
            // Many at once are one fault: the address is called again as soon as after four.
            account.unanswered = UNANSWERED.min(account.unanswered + 1);
            account.since.get_or_insert((self.now)());
        }
        if account.is_empty() {
            accounts.remove(&self.address);
        }
    }
}

/// Returns the time of the system's clock.
#[expect(clippy::disallowed_methods, reason = "the server's limits are in real time")]
pub(crate) fn real_time() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    //= S0.40
    #[test]
    fn an_address_that_does_not_answer_is_called_no_more() {
        let quota = Arc::new(CallQuota::default());
        for _ in 0..UNANSWERED {
            assert!(quota.permit(HERE, real_time).is_some());
        }
        assert!(quota.permit(HERE, real_time).is_none());
        assert!(quota.permit([10, 0, 0, 1].into(), real_time).is_some());
        assert!(quota.permit(HERE, || real_time() + FORGET + Duration::from_secs(1)).is_some());
    }

    #[test]
    fn many_addresses_that_do_not_answer_keep_no_other_out() {
        let quota = Arc::new(CallQuota::default());
        for number in 0..ADDRESSES as u32 + 10 {
            let address = IpAddr::V4((0x0a00_0000 + number).into());
            drop(quota.permit(address, real_time).expect("it is called"));
        }
        assert_eq!(quota.0.lock().expect("it is whole").len(), ADDRESSES);
    }

    #[test]
    fn many_calls_at_once_without_an_answer_count_as_four() {
        let quota = Arc::new(CallQuota::default());
        let held: Vec<_> = (0..UNDER_WAY).filter_map(|_| quota.permit(HERE, real_time)).collect();
        assert_eq!(held.len() as u32, UNDER_WAY);
        drop(held);
        assert!(quota.permit(HERE, real_time).is_none());
        assert!(quota.permit(HERE, || real_time() + FORGET + Duration::from_secs(1)).is_some());
    }

    #[test]
    fn an_address_that_answers_is_called_again_and_again() {
        let quota = Arc::new(CallQuota::default());
        for _ in 0..1_000 {
            quota.permit(HERE, real_time).expect("it answers").answered();
        }
        let held: Vec<_> = (0..UNDER_WAY).filter_map(|_| quota.permit(HERE, real_time)).collect();
        assert_eq!(held.len() as u32, UNDER_WAY);
        assert!(quota.permit(HERE, real_time).is_none());
        held.into_iter().for_each(CallPermit::answered);
        assert!(quota.0.lock().expect("it is whole").is_empty());
    }
}
