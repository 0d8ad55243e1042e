//! Evaluates arithmetic on numbers with the semantics of Python: `0.05/12` represents exactly one number.

use super::number;

/// Maximum number of signs, operators and parentheses in an expression.
const MAX_STEPS: usize = 64;

/// Largest integer that is computed. JSON parsers represent integers up to 2^53 exactly.
const MAX_WHOLE: i128 = 1 << 53;

/// Evaluates `source` and returns the number as JSON; `None` if it is not arithmetic on numbers alone.
pub(super) fn compute(source: &str) -> Option<String> {
    if !source.starts_with(|letter: char| letter.is_ascii_digit() || "+-(.".contains(letter)) {
        return None;
    }
    let mut sum = ArithmeticSum { rest: source, steps: 0 };
    let value = sum.terms()?;
    sum.space();
    if !sum.rest.is_empty() {
        return None;
    }
    match value {
        ArithmeticValue::Whole(whole) => Some(whole.to_string()),
        ArithmeticValue::Real(real) => serde_json::Number::from_f64(real).map(|number| number.to_string()),
    }
}

#[derive(Debug, Clone, Copy)]
enum ArithmeticValue {
    Whole(i128),
    Real(f64),
}

impl ArithmeticValue {
    #[expect(clippy::cast_precision_loss, reason = "whole numbers are bounded by 2^53")]
    fn real(self) -> f64 {
        match self {
            Self::Whole(whole) => whole as f64,
            Self::Real(real) => real,
        }
    }

    fn combine(
        self,
        other: Self,
        whole: impl Fn(i128, i128) -> Option<i128>,
        real: impl Fn(f64, f64) -> f64,
    ) -> Option<Self> {
        let value = match (self, other) {
            (Self::Whole(one), Self::Whole(other)) => Self::Whole(whole(one, other)?),
            (one, other) => Self::Real(real(one.real(), other.real())),
        };
        match value {
            Self::Whole(whole) => (whole.abs() <= MAX_WHOLE).then_some(value),
            Self::Real(real) => real.is_finite().then_some(value),
        }
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

    fn terms(&mut self) -> Option<ArithmeticValue> {
        let mut value = self.factors()?;
        loop {
            if self.take("+")? {
                value = value.combine(self.factors()?, i128::checked_add, |one, other| one + other)?;
            } else if self.take("-")? {
                value = value.combine(self.factors()?, i128::checked_sub, |one, other| one - other)?;
            } else {
                return Some(value);
            }
        }
    }

    fn factors(&mut self) -> Option<ArithmeticValue> {
        let mut value = self.signed()?;
        loop {
            if self.take("//")? {
                value = value.combine(self.signed()?, floor_div, |one, other| (one / other).floor())?;
            } else if self.take("/")? {
                let divisor = self.signed()?;
                value = ArithmeticValue::Real(value.real()).combine(divisor, |_, _| None, |one, other| one / other)?;
            } else if self.take("*")? {
                value = value.combine(self.signed()?, i128::checked_mul, |one, other| one * other)?;
            } else if self.take("%")? {
                value = value.combine(self.signed()?, modulo, |one, other| one - other * (one / other).floor())?;
            } else {
                return Some(value);
            }
        }
    }

    fn signed(&mut self) -> Option<ArithmeticValue> {
        if self.take("-")? {
            let zero = ArithmeticValue::Whole(0);
            return zero.combine(self.signed()?, i128::checked_sub, |one, other| one - other);
        }
        if self.take("+")? {
            return self.signed();
        }
        let base = self.atom()?;
        if !self.take("**")? {
            return Some(base);
        }
        let exponent = self.signed()?;
        match (base, exponent) {
            (ArithmeticValue::Whole(_), ArithmeticValue::Whole(negative)) if negative < 0 => {
                ArithmeticValue::Real(base.real()).combine(exponent, |_, _| None, f64::powf)
            }
            _ => base.combine(exponent, power, f64::powf),
        }
    }

    fn atom(&mut self) -> Option<ArithmeticValue> {
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
        match digits.parse::<i128>() {
            Ok(whole) => (whole <= MAX_WHOLE).then_some(ArithmeticValue::Whole(whole)),
            Err(_) => digits.parse().ok().filter(|real: &f64| real.is_finite()).map(ArithmeticValue::Real),
        }
    }
}

fn power(base: i128, exponent: i128) -> Option<i128> {
    base.checked_pow(u32::try_from(exponent).ok()?)
}

fn modulo(one: i128, other: i128) -> Option<i128> {
    Some(one - other.checked_mul(floor_div(one, other)?)?)
}

fn floor_div(one: i128, other: i128) -> Option<i128> {
    let quotient = one.checked_div(other)?;
    let is_between = one % other != 0 && (one < 0) != (other < 0);
    Some(quotient - i128::from(is_between))
}
