//! Sliding window of usage within the last minute, by seconds: at most sixty numbers, and no window boundary at which a
//! limit counts twice.

use std::collections::VecDeque;

/// Seconds per minute.
const MINUTE: u64 = 60;

/// Counts of the last minute.
#[derive(Debug, Default)]
pub(super) struct UsageWindow {
    /// Pairs of second and count, oldest first.
    counts: VecDeque<(u64, u64)>,
    sum: u64,
}

impl UsageWindow {
    /// Adds a count at a second; a second earlier than the last one counts as the last one.
    pub(super) fn add(&mut self, second: u64, count: u64) {
        if count == 0 {
            return;
        }
        match self.counts.back_mut() {
            Some((last, counted)) if *last >= second => *counted = counted.saturating_add(count),
            _ => self.counts.push_back((second, count)),
        }
        self.sum = self.sum.saturating_add(count);
    }

    /// Returns the sum of the minute that ends at this second.
    pub(super) fn sum(&mut self, second: u64) -> u64 {
        while let Some((first, count)) = self.counts.front().copied().filter(|(first, _)| first + MINUTE <= second) {
            debug_assert!(first <= second);
            self.counts.pop_front();
            self.sum = self.sum.saturating_sub(count);
        }
        self.sum
    }

    /// Returns the seconds until the sum is at most `most` without additions; 0 if it is already.
    pub(super) fn until(&mut self, second: u64, most: u64) -> u64 {
        let mut left = self.sum(second);
        for (first, count) in &self.counts {
            if left <= most {
                break;
            }
            left = left.saturating_sub(*count);
            if left <= most {
                return (first + MINUTE).saturating_sub(second).max(1);
            }
        }
        0
    }

    /// Whether the window is empty.
    pub(super) fn is_empty(&mut self, second: u64) -> bool {
        self.sum(second) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_a_minute_old_does_not_count() {
        let mut window = UsageWindow::default();
        window.add(10, 2);
        window.add(10, 1);
        window.add(30, 5);
        window.add(29, 1);
        assert_eq!([window.sum(30), window.sum(69), window.sum(70), window.sum(89)], [9, 9, 6, 6]);
        assert!(!window.is_empty(89) && window.is_empty(90));
    }

    #[test]
    fn the_wait_ends_when_enough_has_passed() {
        let mut window = UsageWindow::default();
        window.add(0, 3);
        window.add(20, 3);
        assert_eq!(window.until(20, 6), 0);
        assert_eq!(window.until(20, 5), 40);
        assert_eq!(window.until(20, 3), 40);
        assert_eq!(window.until(20, 2), 60);
        assert_eq!(window.until(20, 0), 60);
        assert_eq!(window.until(79, 0), 1);
        assert_eq!(window.until(80, 0), 0);
    }
}
