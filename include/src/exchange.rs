//! Launches with exchanged dimensions.

/// The dimension that is exchanged with x, so that lanes are work-items that are neighbours along it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Exchange {
    /// The second one.
    Y,
    /// The third one.
    Z,
}

impl Exchange {
    /// All exchanges, those with near dimensions first.
    pub const ALL: [Exchange; 2] = [Exchange::Y, Exchange::Z];

    /// The number of the dimension, from 0.
    pub const fn dimension(self) -> u8 {
        match self {
            Exchange::Y => 1,
            Exchange::Z => 2,
        }
    }

    /// The dimension that takes the place of another one.
    pub const fn of(self, dimension: u8) -> u8 {
        if dimension == 0 {
            self.dimension()
        } else if dimension == self.dimension() {
            0
        } else {
            dimension
        }
    }

    /// Sizes or ids in the other order. Twice this is the first order again.
    #[must_use]
    pub const fn apply(self, sizes: [u64; 3]) -> [u64; 3] {
        let [x, y, z] = sizes;
        match self {
            Exchange::Y => [y, x, z],
            Exchange::Z => [z, y, x],
        }
    }

    /// The letter of the dimension, for reports.
    pub const fn name(self) -> &'static str {
        match self {
            Exchange::Y => "y",
            Exchange::Z => "z",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Exchange;

    #[test]
    fn twice_is_as_it_was() {
        for exchange in Exchange::ALL {
            assert_eq!(exchange.apply(exchange.apply([1, 2, 3])), [1, 2, 3]);
            assert_eq!(exchange.apply([0, 1, 2]), [0, 1, 2].map(|d| u64::from(exchange.of(d))));
        }
    }
}
