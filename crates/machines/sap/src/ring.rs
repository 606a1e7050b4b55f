//! A map for ascending, mostly consecutive keys, which are removed roughly in order.

use std::collections::VecDeque;

/// The capacity from which on an empty ring frees its memory.
const LARGE: usize = 64;

/// A queue whose values are found by their keys.
#[derive(Clone, Debug)]
pub(crate) struct Ring<T> {
    /// The values from key `first` on; `None` for those that were removed or never inserted.
    places: VecDeque<Option<T>>,
    first: u64,
    len: usize,
}

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Self { places: VecDeque::new(), first: 0, len: 0 }
    }
}

impl<T> Ring<T> {
    /// Inserts a value under a key greater than all before.
    pub(crate) fn push(&mut self, key: u64, value: T) {
        if self.places.is_empty() {
            self.first = key;
        }
        while self.first + (self.places.len() as u64) < key {
            self.places.push_back(None);
        }
        self.places.push_back(Some(value));
        self.len += 1;
    }

    fn index(&self, key: u64) -> Option<usize> {
        usize::try_from(key.checked_sub(self.first)?).ok()
    }

    pub(crate) fn get(&self, key: u64) -> Option<&T> {
        self.places.get(self.index(key)?)?.as_ref()
    }

    pub(crate) fn remove(&mut self, key: u64) -> Option<T> {
        let index = self.index(key)?;
        let value = self.places.get_mut(index)?.take()?;
        self.len -= 1;
        while let Some(None) = self.places.front() {
            self.places.pop_front();
            self.first += 1;
        }
        if self.places.is_empty() && self.places.capacity() > LARGE {
            self.places = VecDeque::new();
        }
        Some(value)
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the values in the order of their keys.
    pub(crate) fn values(&self) -> impl Iterator<Item = &T> {
        self.places.iter().flatten()
    }

    /// Removes all values; returns them in the order of their keys.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = T> + use<T> {
        core::mem::take(self).places.into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_holds_what_a_map_would(
            steps in prop::collection::vec((any::<bool>(), 0_u64..40), 1..200),
        ) {
            let mut ring = Ring::default();
            let mut model = BTreeMap::new();
            let mut next = 0;
            for (insert, key) in steps {
                if insert {
                    next += key % 3 + 1;
                    ring.push(next, key);
                    model.insert(next, key);
                } else {
                    let key = next.saturating_sub(key);
                    prop_assert_eq!(ring.remove(key), model.remove(&key));
                }
                prop_assert_eq!((ring.len(), ring.is_empty()), (model.len(), model.is_empty()));
                prop_assert!(ring.values().eq(model.values()));
                prop_assert_eq!(ring.get(next), model.get(&next));
            }
            prop_assert!(ring.drain().eq(model.into_values()));
        }
    }
}
