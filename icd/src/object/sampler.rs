//! A sampler: how kernels convert coordinates to elements of images.

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

/// The modes of a sampler.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Modes {
    /// Whether coordinates are normalized (0 to 1).
    pub normalized: bool,
    /// The addressing mode for coordinates outside of the image.
    pub addressing: cl_addressing_mode,
    /// The filter between neighbouring elements.
    pub filter: cl_filter_mode,
    /// The filter between mipmap levels.
    pub mip_filter: cl_filter_mode,
    /// The lowest level of detail.
    pub lod_min: f32,
    /// The highest level of detail.
    pub lod_max: f32,
}

impl Modes {
    /// The default modes.
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
    /// A sampler; `word` is its encoding for kernels, and `properties` the list it was created with, empty if there was none.
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

    /// Its modes.
    pub fn modes(&self) -> Modes {
        self.modes
    }

    /// The property list as given, including the final zero; empty if there was none.
    pub fn properties(&self) -> &[cl_sampler_properties] {
        &self.properties
    }

    /// Its encoding for kernels.
    pub fn word(&self) -> image::Sampler {
        self.word
    }
}
