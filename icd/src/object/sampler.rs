//! A sampler: how kernels turn coordinates into elements of images.

use clift_include::cl::{
    CL_ADDRESS_CLAMP, CL_FILTER_NEAREST, cl_addressing_mode, cl_filter_mode, cl_sampler_properties,
};
use clift_include::image;

use super::context::Context;
use crate::ffi::handle::{Ref, cl_object};

/// A sampler.
#[derive(Debug)]
pub struct Sampler {
    context: Ref<Context>,
    modes: Modes,
    properties: Vec<cl_sampler_properties>,
    word: image::Sampler,
}

cl_object!(Sampler, b"samp", InvalidSampler);

/// What a sampler was made with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Modes {
    /// Whether coordinates go from 0 to 1.
    pub normalized: bool,
    /// What is outside.
    pub addressing: cl_addressing_mode,
    /// Whether neighbours are mixed.
    pub filter: cl_filter_mode,
    /// Whether levels are mixed.
    pub mip_filter: cl_filter_mode,
    /// The lowest level of detail.
    pub lod_min: f32,
    /// The highest level of detail.
    pub lod_max: f32,
}

impl Modes {
    /// What holds where nothing else is said.
    pub const DEFAULT: Modes = Modes {
        normalized: true,
        addressing: CL_ADDRESS_CLAMP,
        filter: CL_FILTER_NEAREST,
        mip_filter: CL_FILTER_NEAREST,
        lod_min: 0.0,
        lod_max: f32::MAX,
    };
}

impl Sampler {
    /// A sampler; `word` is what kernels get, `properties` the list it was made from, empty when there was none.
    pub fn new(
        context: Ref<Context>,
        modes: Modes,
        properties: Vec<cl_sampler_properties>,
        word: image::Sampler,
    ) -> Self {
        Self { context, modes, properties, word }
    }

    /// Its context.
    pub fn context(&self) -> &Ref<Context> {
        &self.context
    }

    /// What it was made with.
    pub fn modes(&self) -> Modes {
        self.modes
    }

    /// The property list as given, the ending zero included; empty when none was.
    pub fn properties(&self) -> &[cl_sampler_properties] {
        &self.properties
    }

    /// What kernels get.
    pub fn word(&self) -> image::Sampler {
        self.word
    }
}
