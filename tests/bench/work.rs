//! Inputs, launches and expected outputs of a benchmark kernel: plain data, independent of OpenCL.
//!
//! A row of the suite creates one [`Work`]: buffers with their contents, launches, and for each output a reference with a
//! tolerance. Repeating the launches must give the same outputs, because they are repeated for the measurement.

use std::fmt::Debug;

use bytemuck::Pod;

/// Initial content of outputs, by which elements that are never written are detected.
pub(crate) const FILL: u8 = 0xA5;

/// One workload.
#[derive(Default)]
pub(crate) struct Work {
    /// The buffers; launches name them by index.
    pub(crate) buffers: Vec<Buffer>,
    /// The launches of one repetition, in order.
    pub(crate) launches: Vec<Launch>,
    /// The outputs.
    pub(crate) checks: Vec<Check>,
}

/// A buffer with its first contents.
pub(crate) struct Buffer {
    /// The bytes.
    pub(crate) bytes: Vec<u8>,
    /// Whether kernels only read it.
    pub(crate) constant: bool,
    /// The image format, if it is an image.
    pub(crate) image: Option<Image>,
}

/// A 2-D image of RGBA.
#[derive(Clone, Copy)]
pub(crate) struct Image {
    /// Width and height.
    pub(crate) size: [usize; 2],
    /// Data type of its channels.
    pub(crate) data: u32,
}

/// An output to check.
pub(crate) struct Check {
    /// Which buffer.
    pub(crate) buffer: usize,
    /// Computes the reference and compares.
    pub(crate) compare: Compare,
}

/// Compares an output's bytes with a reference; an error says what differs.
pub(crate) type Compare = Box<dyn FnOnce(&[u8]) -> Result<(), String>>;

/// One launch.
pub(crate) struct Launch {
    /// The kernel's name.
    pub(crate) kernel: &'static str,
    /// Its arguments.
    pub(crate) args: Vec<Arg>,
    /// Global size.
    pub(crate) global: Vec<usize>,
    /// Local size; empty to let the driver choose.
    pub(crate) local: Vec<usize>,
}

/// An argument of a kernel.
#[derive(Clone, Copy)]
pub(crate) enum Arg {
    /// A buffer of the work.
    Buffer(Handle),
    /// A `float`.
    Float(f32),
    /// An `int`.
    Int(i32),
    /// A `uint`.
    Uint(u32),
    /// A `ulong`.
    Ulong(u64),
}

/// Names a buffer of a [`Work`].
#[derive(Clone, Copy)]
pub(crate) struct Handle(pub(crate) usize);

impl From<Handle> for Arg {
    fn from(handle: Handle) -> Self {
        Self::Buffer(handle)
    }
}
impl From<f32> for Arg {
    fn from(value: f32) -> Self {
        Self::Float(value)
    }
}
impl From<i32> for Arg {
    fn from(value: i32) -> Self {
        Self::Int(value)
    }
}
impl From<u32> for Arg {
    fn from(value: u32) -> Self {
        Self::Uint(value)
    }
}
impl From<u64> for Arg {
    fn from(value: u64) -> Self {
        Self::Ulong(value)
    }
}

/// A list of arguments of different types.
macro_rules! args {
    ($($arg:expr),* $(,)?) => { vec![$($crate::work::Arg::from($arg)),*] };
}
pub(crate) use args;

impl Work {
    /// Adds a buffer that kernels only read.
    pub(crate) fn input<T: Pod>(&mut self, values: &[T]) -> Handle {
        self.buffer(bytemuck::cast_slice(values).to_vec(), true)
    }

    /// Adds a buffer for intermediate results.
    pub(crate) fn scratch<T: Pod>(&mut self, len: usize) -> Handle {
        self.buffer(vec![FILL; len * size_of::<T>()], false)
    }

    /// Adds a buffer whose contents after the launches are to be those of `reference`, within `tolerance`.
    pub(crate) fn output<T: Value>(
        &mut self,
        len: usize,
        tolerance: Tolerance,
        reference: impl FnOnce() -> Vec<T> + 'static,
    ) -> Handle {
        let handle = self.scratch::<T>(len);
        let compare = move |bytes: &[u8]| {
            let expected = reference();
            assert_eq!(expected.len(), len, "the reference must have the output's length");
            let got: Vec<T> = bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect();
            compare(&got, &expected, tolerance)
        };
        self.checks.push(Check { buffer: handle.0, compare: Box::new(compare) });
        handle
    }

    /// Makes a buffer an image of RGBA.
    pub(crate) fn image(&mut self, handle: Handle, size: [usize; 2], data: u32) {
        self.buffers[handle.0].image = Some(Image { size, data });
    }

    /// Adds a launch; an empty local size leaves it to the driver.
    pub(crate) fn launch(&mut self, kernel: &'static str, args: Vec<Arg>, global: &[usize], local: &[usize]) {
        self.launches.push(Launch { kernel, args, global: global.to_vec(), local: local.to_vec() });
    }

    fn buffer(&mut self, bytes: Vec<u8>, constant: bool) -> Handle {
        self.buffers.push(Buffer { bytes, constant, image: None });
        Handle(self.buffers.len() - 1)
    }
}

/// A type of output elements.
pub(crate) trait Value: Pod + PartialEq + Debug {
    /// The value as a number; integers only lose precision where tolerances do not matter.
    fn number(self) -> f64;
}

macro_rules! values {
    ($($type:ty),*) => { $(impl Value for $type {
        fn number(self) -> f64 {
            self as f64
        }
    })* };
}
values!(u8, u16, i32, u32, u64, f32, f64);

/// The permitted difference of an output from its reference.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tolerance {
    /// Relative to the reference's magnitude.
    relative: f64,
    /// In addition to that.
    absolute: f64,
    /// The share of elements that may have any value, where rounding decides a branch.
    outliers: f64,
}

impl Tolerance {
    /// Equal.
    pub(crate) const EXACT: Self = Self { relative: 0.0, absolute: 0.0, outliers: 0.0 };

    /// Within `relative` of the reference's magnitude, plus `absolute`.
    pub(crate) const fn close(relative: f64, absolute: f64) -> Self {
        Self { relative, absolute, outliers: 0.0 }
    }

    /// The same, but a share of the elements may differ more.
    pub(crate) const fn except(self, outliers: f64) -> Self {
        Self { outliers, ..self }
    }
}

fn compare<T: Value>(got: &[T], expected: &[T], tolerance: Tolerance) -> Result<(), String> {
    let close = |got: T, want: T| {
        got == want || {
            let allowed = tolerance.absolute + tolerance.relative * want.number().abs();
            allowed > 0.0 && (got.number() - want.number()).abs() <= allowed
        }
    };
    let mut wrong = got.iter().zip(expected).enumerate().filter(|(_, (got, want))| !close(**got, **want));
    let Some((index, (first, want))) = wrong.next() else {
        return Ok(());
    };
    let count = 1 + wrong.count();
    if count as f64 <= tolerance.outliers * expected.len() as f64 {
        return Ok(());
    }
    Err(format!("{count} of {} elements differ; the first: [{index}] is {first:?}, not {want:?}", expected.len()))
}

/// Reproducible inputs.
pub(crate) struct Random(fastrand::Rng);

impl Random {
    /// A sequence of its own for each seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self(fastrand::Rng::with_seed(seed))
    }

    /// 64 random bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.0.u64(..)
    }

    /// An integer below `limit`.
    pub(crate) fn below(&mut self, limit: u32) -> u32 {
        self.0.u32(..limit)
    }

    /// A number in `low..high`.
    pub(crate) fn float(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * ((self.bits() >> 40) as f32 / 16_777_216.0)
    }

    /// `len` numbers in `low..high`.
    pub(crate) fn floats(&mut self, len: usize, low: f32, high: f32) -> Vec<f32> {
        (0..len).map(|_| self.float(low, high)).collect()
    }

    /// `len` random integers.
    pub(crate) fn words(&mut self, len: usize) -> Vec<u32> {
        (0..len).map(|_| self.bits() as u32).collect()
    }

    /// `len` random bytes.
    pub(crate) fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.bits() as u8).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Tolerance, compare};

    #[test]
    fn tolerances() {
        assert!(compare(&[1_u32, 2], &[1, 2], Tolerance::EXACT).is_ok());
        assert!(compare(&[1_u32, 3], &[1, 2], Tolerance::EXACT).is_err());
        assert!(compare(&[1.0_f32, f32::NAN], &[1.0, 2.0], Tolerance::close(0.5, 0.5)).is_err());
        assert!(compare(&[100.0_f32], &[101.0], Tolerance::close(0.01, 0.0)).is_ok());
        assert!(compare(&[9.0_f32, 1.0, 1.0, 1.0], &[1.0; 4], Tolerance::EXACT.except(0.25)).is_ok());
        assert!(compare(&[9.0_f32, 9.0, 1.0, 1.0], &[1.0; 4], Tolerance::EXACT.except(0.25)).is_err());
    }
}
