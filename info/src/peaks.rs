//! What the machine can do at most: floating-point operations, and bytes of memory, each per second. Both are measured with
//! kernels, through the driver.

use std::str::FromStr;

use anyhow::{Error, Result, anyhow, ensure};

use crate::opencl::{Device, Measured};

const SOURCE: &str = include_str!("peaks.cl");
/// The kernels of multiply-adds, with the chains that a work-item has. The best one counts.
const MULTIPLY_ADD: [(&str, usize); 4] =
    [("multiply_add_2", 2), ("multiply_add_3", 3), ("multiply_add_6", 6), ("multiply_add_12", 12)];
/// Operations of each chain.
const OPERATIONS: usize = 2 * 2048;
/// Work-items of these kernels.
const ITEMS: usize = 1 << 14;
/// Bytes of each of the three arrays of `triad`: more than caches hold.
const ARRAY_BYTES: usize = 96 << 20;
/// How often each is measured.
const TIMES: usize = 7;

/// What the machine can do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Peaks {
    /// Operations on 32-bit floating-point numbers per second.
    pub operations: f64,
    /// Bytes of memory per second.
    pub bandwidth: f64,
}

impl Peaks {
    /// Measures them; this takes about a second.
    pub fn measure(device: &Device<'_>) -> Result<Peaks> {
        let program = device.build(SOURCE, c"-cl-std=CL3.0")?;
        let mut operations = 0.0f64;
        for (kernel, chains) in MULTIPLY_ADD {
            let time = program.shortest(Measured { kernel, buffers: &[4 * ITEMS], items: ITEMS, times: TIMES })?;
            operations = operations.max((OPERATIONS * chains * ITEMS) as f64 / time.as_secs_f64());
        }
        let memory = Measured { kernel: "triad", buffers: &[ARRAY_BYTES; 3], items: ARRAY_BYTES / 4, times: TIMES };
        let memory = program.shortest(memory)?;
        let bandwidth = (3 * ARRAY_BYTES) as f64 / memory.as_secs_f64();
        ensure!(operations.is_finite() && bandwidth.is_finite(), "the kernels took no time");
        Ok(Peaks { operations, bandwidth })
    }
}

impl FromStr for Peaks {
    type Err = Error;

    /// `GFLOPS,GBS`: billions of operations and of bytes per second.
    fn from_str(text: &str) -> Result<Peaks> {
        let expected = || anyhow!("expected two numbers above 0: billions of operations, and of bytes, per second");
        let (operations, bandwidth) = text.split_once(',').ok_or_else(expected)?;
        let number = |text: &str| {
            let number = text.trim().parse::<f64>().ok().filter(|number| *number > 0.0 && number.is_finite());
            number.map(|number| number * 1e9).ok_or_else(expected)
        };
        Ok(Peaks { operations: number(operations)?, bandwidth: number(bandwidth)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peaks_are_two_numbers() {
        let peaks: Peaks = "250,21.5".parse().expect("two numbers");
        assert_eq!(peaks, Peaks { operations: 250e9, bandwidth: 21.5e9 });
        for text in ["", "1", "1,0", "1,x", "-1,2", "inf,1", "1,2,3"] {
            assert!(text.parse::<Peaks>().is_err(), "{text}");
        }
    }
}
