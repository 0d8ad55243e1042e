//! Evaluates arithmetic on numbers with the semantics of Python: `0.05/12` represents exactly one number.

use super::number;
use callwright_scanner::MAX_EXACT;

/// Maximum number of signs, operators and parentheses in an expression.
const MAX_STEPS: usize = 64;

/// Evaluates `source` and returns the number as JSON; `None` if it is not arithmetic on numbers alone.
pub(super) fn compute(source: &str) -> Option<String> {
    if !source.starts_with(|letter: char| letter.is_ascii_digit() || "+-(.".contains(letter)) {
        return None;
    }
    let mut sum = ArithmeticSum { rest: source, steps: 0 };
    let Operand { number, is_whole } = sum.terms()?;
    sum.space();
    if !sum.rest.is_empty() {
        return None;
    }
    if is_whole { Some(number.to_string()) } else { serde_json::Number::from_f64(number).map(|real| real.to_string()) }
}

/// A number, and whether it is an integer. Integers below 2^53 are exact.
#[derive(Debug, Clone, Copy)]
struct Operand {
    number: f64,
    is_whole: bool,
}

impl Operand {
    /// Creates the result of an operation; `None` if it is no number, or an integer that is not exact.
    fn new(number: f64, is_whole: bool) -> Option<Self> {
        let is_exact = number.is_finite() && (!is_whole || number.abs() < MAX_EXACT);
        // Without the sign of a negative zero.
        is_exact.then_some(Self { number: number + 0.0, is_whole })
    }

    fn combine(self, other: Self, operation: fn(f64, f64) -> f64) -> Option<Self> {
        Self::new(operation(self.number, other.number), self.is_whole && other.is_whole)
    }
}

struct ArithmeticSum<'a> {
    rest: &'a str,
    steps: usize,
}

impl ArithmeticSum<'_> {
    fn space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
    }

    fn take(&mut self, sign: &str) -> Option<bool> {
        self.space();
        let Some(rest) = self.rest.strip_prefix(sign) else { return Some(false) };
        self.rest = rest;
        self.steps += 1;
        (self.steps <= MAX_STEPS).then_some(true)
    }

    fn terms(&mut self) -> Option<Operand> {
        let mut value = self.factors()?;
        loop {
            if self.take("+")? {
                value = value.combine(self.factors()?, |one, other| one + other)?;
            } else if self.take("-")? {
                value = value.combine(self.factors()?, |one, other| one - other)?;
            } else {
                return Some(value);
            }
        }
    }

    fn factors(&mut self) -> Option<Operand> {
        let mut value = self.signed()?;
        loop {
            if self.take("//")? {
                value = value.combine(self.signed()?, |one, other| ((one - modulo(one, other)) / other).round())?;
            } else if self.take("/")? {
                value = Operand::new(value.number / self.signed()?.number, false)?;
            } else if self.take("*")? {
                value = value.combine(self.signed()?, |one, other| one * other)?;
            } else if self.take("%")? {
                value = value.combine(self.signed()?, modulo)?;
            } else {
                return Some(value);
            }
        }
    }

    fn signed(&mut self) -> Option<Operand> {
        if self.take("-")? {
            let value = self.signed()?;
            return Operand::new(-value.number, value.is_whole);
        }
        if self.take("+")? {
            return self.signed();
        }
        let base = self.atom()?;
        if !self.take("**")? {
            return Some(base);
        }
        let exponent = self.signed()?;
        let is_whole = base.is_whole && exponent.is_whole && exponent.number >= 0.0;
        Operand::new(base.number.powf(exponent.number), is_whole)
    }

    fn atom(&mut self) -> Option<Operand> {
        if self.take("(")? {
            let value = self.terms()?;
            return self.take(")")?.then_some(value);
        }
        self.space();
        if !self.rest.starts_with(|letter: char| letter.is_ascii_digit() || letter == '.') {
            return None;
        }
        let (length, digits) = number::scan(self.rest)?;
        self.rest = self.rest.get(length..)?;
        Operand::new(digits.parse().ok()?, !digits.contains(['.', 'e', 'E']))
    }
}

/// Returns the remainder with the sign of the divisor.
fn modulo(one: f64, other: f64) -> f64 {
    let rest = one % other;
    if rest != 0.0 && (rest < 0.0) != (other < 0.0) { rest + other } else { rest }
}
