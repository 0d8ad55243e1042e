//! Names of the values of closed sets: metric labels, and values in traces, stores and files.

/// A closed set of values with names.
pub trait Label: Copy + 'static {
    /// All values; the position of a value is its [`Label::index`].
    const ALL: &'static [Self];

    /// Returns the position in [`Label::ALL`].
    fn index(self) -> usize;

    /// Returns the name.
    fn label(self) -> &'static str;
}

impl Label for bool {
    const ALL: &'static [Self] = &[false, true];

    fn index(self) -> usize {
        usize::from(self)
    }

    fn label(self) -> &'static str {
        if self { "true" } else { "false" }
    }
}

/// Returns the elements of a slice as an array of the same length.
#[doc(hidden)]
pub const fn array<T: Copy, const N: usize>(values: &[T]) -> [T; N] {
    *values.first_chunk().expect("the slice has the length of the array")
}

/// Implements [`Label`], `Display` and functions of the same names for enumerations that derive `strum::VariantArray`
/// and `strum::IntoStaticStr`.
#[macro_export]
macro_rules! labels {
    ($($name:ident),+) => {$(
        impl $name {
            /// All values.
            pub const ALL: [Self; <$name as ::strum::VariantArray>::VARIANTS.len()] =
                $crate::label::array(<$name as ::strum::VariantArray>::VARIANTS);

            /// Returns the name: the metric label, and the value in traces, stores and files.
            pub fn label(self) -> &'static str {
                self.into()
            }

            /// Returns the value with this name.
            pub fn of(label: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|value| value.label() == label)
            }
        }

        impl $crate::label::Label for $name {
            const ALL: &'static [Self] = &$name::ALL;

            fn index(self) -> usize {
                self as usize
            }

            fn label(self) -> &'static str {
                self.into()
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(self.into())
            }
        }
    )+};
}
