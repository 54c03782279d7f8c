//! Samplers.

use clift_include::cl::*;
use clift_include::image::{self, Addressing};

use crate::error::ClError::InvalidValue;
use crate::error::{ClResult, ensure};
use crate::ffi::handle::{Handle, Object, Ref};
use crate::ffi::info::{Info, Written};
use crate::ffi::pointer::{Properties, pairs};
use crate::object::context::Context;
use crate::object::sampler::{Modes, Sampler};

/// Addressing modes.
const ADDRESSING: [(cl_addressing_mode, Addressing); 5] = [
    (CL_ADDRESS_NONE, Addressing::None),
    (CL_ADDRESS_CLAMP_TO_EDGE, Addressing::ClampToEdge),
    (CL_ADDRESS_CLAMP, Addressing::Clamp),
    (CL_ADDRESS_REPEAT, Addressing::Repeat),
    (CL_ADDRESS_MIRRORED_REPEAT, Addressing::MirroredRepeat),
];

/// `clCreateSampler` (deprecated in 2.0)
pub fn create(
    context: Handle<Context>,
    normalized: cl_bool,
    addressing: cl_addressing_mode,
    filter: cl_filter_mode,
) -> ClResult<Ref<Sampler>> {
    // CL_INVALID_CONTEXT if context is not a valid context
    let context = context.active()?;
    // CL_INVALID_VALUE if addressing_mode, filter_mode, normalized_coords or a combination of these are not valid
    ensure([CL_TRUE, CL_FALSE].contains(&normalized), InvalidValue)?;
    made(context, Modes { normalized: normalized != CL_FALSE, addressing, filter, ..Modes::DEFAULT }, Vec::new())
    // CL_INVALID_OPERATION if images are not supported by any device associated with context: they are
}

/// `clCreateSamplerWithProperties`
pub fn create_with_properties(
    context: Handle<Context>,
    properties: Properties<cl_sampler_properties>,
) -> ClResult<Ref<Sampler>> {
    // CL_INVALID_CONTEXT if context is not a valid context
    let context = context.active()?;
    // CL_INVALID_VALUE if the property name is not a supported property name, if the value specified for it is not valid, or
    // if the same property name is specified more than once
    let list = properties.verbatim();
    let mut modes = Modes::DEFAULT;
    for (index, (name, value)) in pairs(&list).enumerate() {
        ensure(!pairs(&list).take(index).any(|(earlier, _)| earlier == name), InvalidValue)?;
        let value = u32::try_from(value).map_err(|_| InvalidValue)?;
        match u32::try_from(name) {
            Ok(CL_SAMPLER_NORMALIZED_COORDS) => {
                ensure([CL_TRUE, CL_FALSE].contains(&value), InvalidValue)?;
                modes.normalized = value != CL_FALSE;
            }
            Ok(CL_SAMPLER_ADDRESSING_MODE) => modes.addressing = value,
            Ok(CL_SAMPLER_FILTER_MODE) => modes.filter = value,
            Ok(CL_SAMPLER_MIP_FILTER_MODE) => modes.mip_filter = value,
            // The list contains the bits of the float.
            Ok(CL_SAMPLER_LOD_MIN) => modes.lod_min = f32::from_bits(value),
            Ok(CL_SAMPLER_LOD_MAX) => modes.lod_max = f32::from_bits(value),
            _ => return Err(InvalidValue),
        }
    }
    made(context, modes, list)
}

fn made(context: Ref<Context>, modes: Modes, properties: Vec<cl_sampler_properties>) -> ClResult<Ref<Sampler>> {
    let known = ADDRESSING.iter().find(|(number, _)| *number == modes.addressing);
    let (_, addressing) = known.ok_or(InvalidValue)?;
    let filters = [CL_FILTER_NEAREST, CL_FILTER_LINEAR];
    ensure(filters.contains(&modes.filter) && filters.contains(&modes.mip_filter), InvalidValue)?;
    ensure(!modes.lod_min.is_nan() && !modes.lod_max.is_nan(), InvalidValue)?;
    let word = image::Sampler::new(modes.normalized, *addressing, modes.filter == CL_FILTER_LINEAR).with_levels(
        modes.mip_filter == CL_FILTER_LINEAR,
        modes.lod_min,
        modes.lod_max,
    );
    Ok(Object::create(Sampler::new(context, modes, properties, word)))
}

/// `clGetSamplerInfo`
pub fn get_info(sampler: Handle<Sampler>, name: cl_sampler_info, info: Info<'_>) -> ClResult<Written> {
    // CL_INVALID_SAMPLER if sampler is a not a valid sampler object
    let sampler = sampler.get()?;

    match name {
        CL_SAMPLER_REFERENCE_COUNT => info.value(sampler.reference_count()),
        CL_SAMPLER_CONTEXT => info.object(sampler.context()),
        CL_SAMPLER_NORMALIZED_COORDS => info.bool(sampler.modes().normalized),
        CL_SAMPLER_ADDRESSING_MODE => info.value(sampler.modes().addressing),
        CL_SAMPLER_FILTER_MODE => info.value(sampler.modes().filter),
        CL_SAMPLER_MIP_FILTER_MODE => info.value(sampler.modes().mip_filter),
        CL_SAMPLER_LOD_MIN => info.value(sampler.modes().lod_min),
        CL_SAMPLER_LOD_MAX => info.value(sampler.modes().lod_max),
        CL_SAMPLER_PROPERTIES => info.slice(sampler.properties()),
        // CL_INVALID_VALUE if param_name is not one of the supported values
        _ => Err(InvalidValue),
    }
}
