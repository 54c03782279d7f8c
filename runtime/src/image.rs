//! Encodes colours as image elements, for `clEnqueueFillImage`. Kernels do so in their own code; both follow the layouts of
//! [`clift_include::image`].

use clift_include::image::{Component, Encoding, Field, Layout};
use half::f16;

/// The bytes (1 to 16) of an element, or of a group of equal elements, with a given colour: red, green, blue and alpha, as bits
/// of floats or integers depending on the format.
pub fn encode(layout: &Layout, colour: [u32; 4]) -> Vec<u8> {
    if let (Some(group), [field]) = (layout.group, layout.fields()) {
        let (number, low_bits) = (number(layout, *field, colour[field.holds as usize]), field.bits - 8);
        let low = (0..group.elements).fold(0, |low, i| low | (number & ((1 << low_bits) - 1)) << (i * low_bits));
        let upper = (0..group.elements).map(|_| (number >> low_bits) as u8);
        return upper.chain([low as u8]).collect();
    }
    let element = layout.fields().iter().fold(0u128, |element, field| {
        let bits = number(layout, *field, colour[field.holds as usize]);
        element | u128::from(bits) << field.bit
    });
    element.to_le_bytes()[..layout.bytes as usize].to_vec()
}

/// The content of a field for a component.
fn number(layout: &Layout, field: Field, component: u32) -> u32 {
    let float = f32::from_bits(component);
    let mask = if field.bits == 32 { u32::MAX } else { (1 << field.bits) - 1 };
    let max = f64::from(mask);
    match layout.encoding {
        Encoding::Unorm => {
            let curve = layout.srgb && field.holds != Component::A;
            let value = if curve { srgb_from_linear(f64::from(float)) } else { f64::from(float) };
            // NaN gives 0.
            scaled(value, max).clamp(0.0, max as f32).round_ties_even() as u32
        }
        Encoding::Snorm => {
            let max = f64::from(mask >> 1);
            let number = scaled(float.into(), max).clamp(-max as f32 - 1.0, max as f32).round_ties_even() as i32;
            number as u32 & mask
        }
        Encoding::Sint => {
            let max = (mask >> 1) as i32;
            (component as i32).clamp(-max - 1, max) as u32 & mask
        }
        Encoding::Uint => component.min(mask),
        Encoding::Float if field.bits == 16 => f16::from_f32(float).to_bits().into(),
        Encoding::Float => component,
    }
}

/// A component times the number that represents 1, rounded as in kernels, which multiply floats: a product between two numbers
/// goes to the even one.
fn scaled(component: f64, max: f64) -> f32 {
    component as f32 * max as f32
}

/// The sRGB curve; NaN gives 0.
fn srgb_from_linear(value: f64) -> f64 {
    let value = value.clamp(0.0, 1.0);
    if value < 0.003_130_8 { 12.92 * value } else { 1.055 * value.powf(1.0 / 2.4) - 0.055 }
}

#[cfg(test)]
mod tests {
    use clift_include::cl::*;
    use clift_include::image::Format;

    use super::*;

    fn bytes(order: u32, data_type: u32, colour: [u32; 4]) -> Vec<u8> {
        encode(&Format { order, data_type }.layout().expect("a supported format"), colour)
    }

    #[test]
    fn colours() {
        let floats = |colour: [f32; 4]| colour.map(f32::to_bits);
        let colour = floats([1.0, 0.5, 0.0, -1.0]);
        assert_eq!(bytes(CL_RGBA, CL_UNORM_INT8, colour), [255, 128, 0, 0]);
        assert_eq!(bytes(CL_BGRA, CL_UNORM_INT8, colour), [0, 128, 255, 0]);
        assert_eq!(bytes(CL_ARGB, CL_SNORM_INT8, colour), [0x81, 127, 64, 0]);
        assert_eq!(bytes(CL_RGB, CL_UNORM_SHORT_565, colour), (31u16 << 11 | 32 << 5).to_le_bytes());
        assert_eq!(bytes(CL_R, CL_HALF_FLOAT, colour), [0, 0x3C]);
        assert_eq!(bytes(CL_A, CL_FLOAT, colour), (-1f32).to_le_bytes());
        assert_eq!(bytes(CL_R, CL_UNORM_INT8, floats([f32::NAN; 4])), [0]);
        assert_eq!(bytes(CL_sRGBA, CL_UNORM_INT8, floats([0.5, 0.0, 1.0, 0.5])), [188, 0, 255, 128]);
        assert_eq!(bytes(CL_RG, CL_SIGNED_INT8, [200, -200i32 as u32, 0, 0]), [127, 0x80]);
        assert_eq!(bytes(CL_RG, CL_UNORM_INT10X6_EXT, colour), [0xC0, 0xFF, 0x00, 0x80]);
        assert_eq!(bytes(CL_R, CL_UNSIGNED_INT12X4_EXT, [5000, 0, 0, 0]), [0xF0, 0xFF]);
        assert_eq!(bytes(CL_R, CL_UNSIGNED_INT14X2_EXT, [3, 0, 0, 0]), [12, 0]);
        assert_eq!(bytes(CL_R, CL_UNSIGNED_INT_RAW10_EXT, [0x2C9, 0, 0, 0]), [0xB2, 0xB2, 0xB2, 0xB2, 0x55]);
        assert_eq!(bytes(CL_R, CL_UNSIGNED_INT_RAW12_EXT, [0xABC, 0, 0, 0]), [0xAB, 0xAB, 0xCC]);
        assert_eq!(bytes(CL_RGBx, CL_UNORM_INT8, colour)[..3], [255, 128, 0]);
        assert_eq!(bytes(CL_Rx, CL_UNSIGNED_INT16, [3, 9, 9, 9])[..2], [3, 0]);
        assert_eq!(bytes(CL_RG, CL_UNSIGNED_INT16, [70_000, 3, 0, 0]), [255, 255, 3, 0]);
    }
}
