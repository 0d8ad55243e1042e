//! Length budget of a message.

use callwright_common::tokens::BYTES_PER_TOKEN;

/// Minimum number of tokens of a message: with fewer it could not describe the failure.
const MIN_TOKENS: usize = 200;

/// Remaining bytes of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MessageBudget {
    left: usize,
}

impl MessageBudget {
    /// Creates a budget of about `tokens` tokens.
    pub(super) fn of_tokens(tokens: usize) -> Self {
        Self { left: tokens.max(MIN_TOKENS).saturating_mul(BYTES_PER_TOKEN) }
    }

    /// Returns the remaining bytes.
    pub(super) fn left(&self) -> usize {
        self.left
    }

    /// Takes the first of `items` that fit in `1/share` of the remaining bytes.
    pub(super) fn first<T>(&mut self, share: usize, items: Vec<T>, size: impl Fn(&T) -> usize) -> Vec<T> {
        let mut room = self.left / share.max(1);
        let mut taken = Vec::new();
        for item in items {
            let Some(rest) = room.checked_sub(size(&item)) else { break };
            self.left -= room - rest;
            room = rest;
            taken.push(item);
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_taken_in_order_while_there_is_room_in_their_share() {
        let mut budget = MessageBudget::of_tokens(0);
        assert_eq!(budget.left(), 800);
        assert_eq!(budget.first(2, vec![300, 90, 20, 1], |size| *size), [300, 90]);
        assert_eq!(budget.left(), 410);
        assert!(budget.first(4, vec![200], |size| *size).is_empty());
        assert_eq!(budget.left(), 410);
    }
}
