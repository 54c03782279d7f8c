//! Predefined macros: a table that is searched when a name is first met, so that starting costs nothing.
//!
//! Macros of the names of extensions and features come from the device's profile. Enumerators (`memory_order_relaxed`) and
//! types are not macros, so they are not here.

use super::macros::{Dynamic, Feature};
use crate::options::{Options, Version};

/// A row of the table: what stands behind `#define`, and when.
struct Row {
    name: &'static str,
    parameters: &'static str,
    body: &'static str,
    condition: fn(&Options) -> bool,
}

const fn row(name: &'static str, parameters: &'static str, body: &'static str, condition: fn(&Options) -> bool) -> Row {
    Row { name, parameters, body, condition }
}

fn always(_: &Options) -> bool {
    true
}

fn from_2_0(options: &Options) -> bool {
    options.version >= Version::V2_0
}

fn from_3_0(options: &Options) -> bool {
    options.version >= Version::V3_0
}

fn with_raw10(options: &Options) -> bool {
    options.profile.has_feature("__opencl_c_ext_image_raw10_raw12")
}

fn with_2_101010(options: &Options) -> bool {
    options.profile.has_feature("__opencl_c_ext_image_unorm_int_2_101010")
}

fn with_10x6(options: &Options) -> bool {
    options.profile.has_feature("__opencl_c_ext_image_unsigned_10x6_12x4_14x2")
}

fn device_3_1(options: &Options) -> bool {
    options.profile.opencl_version >= 310
}

fn fp16(options: &Options) -> bool {
    options.profile.has_extension("cl_khr_fp16")
}

fn fp64(options: &Options) -> bool {
    options.profile.has_extension("cl_khr_fp64") || options.profile.has_feature("__opencl_c_fp64")
}

fn images(options: &Options) -> bool {
    options.profile.images
}

fn bits_64(options: &Options) -> bool {
    options.profile.bits_64
}

fn bits_32(options: &Options) -> bool {
    !options.profile.bits_64
}

fn fast_relaxed_math(options: &Options) -> bool {
    options.math.fast_relaxed_math
}

fn finite_math_only(options: &Options) -> bool {
    options.math.finite_math_only
}

fn not_finite_math_only(options: &Options) -> bool {
    !options.math.finite_math_only
}

fn optimized(options: &Options) -> bool {
    !options.optimization_disabled
}

fn blocks(options: &Options) -> bool {
    options.version == Version::V2_0 || (from_3_0(options) && options.profile.has_feature("__opencl_c_device_enqueue"))
}

/// The names of the constants that OpenCL C has as macros.
pub(crate) fn constants<'o>(options: &'o Options) -> impl Iterator<Item = &'o str> + 'o {
    let rows = TABLE.iter().filter(|row| (row.condition)(options) && row.parameters.is_empty());
    rows.map(|row| row.name).filter(|name| !name.starts_with('_'))
}

/// A predefined macro.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Predefined {
    /// What stands behind `#define`.
    Text(String),
    /// Its expansion is computed.
    Dynamic(Dynamic),
}

/// The macro that a name has before any definition.
pub(super) fn find(name: &str, options: &Options) -> Option<Predefined> {
    let first = name.as_bytes().first()?;
    // Only these letters begin one; most names of programs are done here.
    if !(first.is_ascii_uppercase() || matches!(first, b'_' | b'c' | b'k')) {
        return None;
    }
    if let Some((_, dynamic)) = DYNAMIC.iter().find(|(other, _)| *other == name) {
        return Some(Predefined::Dynamic(*dynamic));
    }
    let text = |body: String| Some(Predefined::Text(format!("{name} {body}")));
    match name {
        "__OPENCL_C_VERSION__" => return text(options.version.number().to_string()),
        "__OPENCL_VERSION__" => return text(options.profile.opencl_version.to_string()),
        _ => {}
    }
    if name.starts_with("cl") && options.profile.has_extension(name) {
        return text("1".to_owned());
    }
    if name.starts_with("__opencl_c_") && has_feature_macro(name, options) {
        return text("1".to_owned());
    }
    let begin = TABLE.partition_point(|row| row.name < name);
    let rows = TABLE.get(begin..)?.iter().take_while(|row| row.name == name);
    let row = rows.into_iter().find(|row| (row.condition)(options))?;
    Some(Predefined::Text(format!("{name}{} {}", row.parameters, row.body)))
}

/// Whether a feature is a macro in this version of the language.
fn has_feature_macro(name: &str, options: &Options) -> bool {
    let since_3_0 = ["__opencl_c_3d_image_writes", "__opencl_c_fp64", "__opencl_c_subgroups"].contains(&name);
    let since = if since_3_0 { Version::V3_0 } else { Version::V2_0 };
    options.profile.has_feature(name) && (options.version >= since || name == "__opencl_c_int64")
}

/// Macros whose expansion is computed.
const DYNAMIC: [(&str, Dynamic); 20] = [
    ("__LINE__", Dynamic::Line),
    ("__FILE__", Dynamic::File),
    ("__FILE_NAME__", Dynamic::FileName),
    ("__BASE_FILE__", Dynamic::BaseFile),
    ("__INCLUDE_LEVEL__", Dynamic::IncludeLevel),
    ("__COUNTER__", Dynamic::Counter),
    ("__DATE__", Dynamic::Date),
    ("__TIME__", Dynamic::Time),
    ("__TIMESTAMP__", Dynamic::Timestamp),
    ("__has_include", Dynamic::HasInclude(false)),
    ("__has_include_next", Dynamic::HasInclude(true)),
    ("__has_attribute", Dynamic::Has(Feature::Attribute)),
    ("__has_c_attribute", Dynamic::Has(Feature::OtherAttribute)),
    ("__has_declspec_attribute", Dynamic::Has(Feature::OtherAttribute)),
    ("__has_builtin", Dynamic::Has(Feature::Builtin)),
    ("__has_constexpr_builtin", Dynamic::Has(Feature::Builtin)),
    ("__has_feature", Dynamic::Has(Feature::Language)),
    ("__has_extension", Dynamic::Has(Feature::Extension)),
    ("__has_warning", Dynamic::Has(Feature::Warning)),
    ("__is_identifier", Dynamic::Has(Feature::Identifier)),
];

/// The other macros, sorted by name.
#[rustfmt::skip]
const TABLE: &[Row] = &[
    row("ATOMIC_FLAG_INIT", "", "0", from_2_0),
    row("ATOMIC_VAR_INIT", "(x)", "(x)", from_2_0),
    row("CHAR_BIT", "", "8", always),
    row("CHAR_MAX", "", "SCHAR_MAX", always),
    row("CHAR_MIN", "", "SCHAR_MIN", always),
    row("CLK_A", "", "0x10B1", always),
    row("CLK_ABGR", "", "0x10C3", from_2_0),
    row("CLK_ADDRESS_CLAMP", "", "4", always),
    row("CLK_ADDRESS_CLAMP_TO_EDGE", "", "2", always),
    row("CLK_ADDRESS_MIRRORED_REPEAT", "", "8", always),
    row("CLK_ADDRESS_NONE", "", "0", always),
    row("CLK_ADDRESS_REPEAT", "", "6", always),
    row("CLK_ARGB", "", "0x10B7", always),
    row("CLK_BGRA", "", "0x10B6", always),
    row("CLK_DEPTH", "", "0x10BD", always),
    row("CLK_DEPTH_STENCIL", "", "0x10BE", always),
    row("CLK_DEVICE_QUEUE_FULL", "", "-161", from_2_0),
    row("CLK_ENQUEUE_FAILURE", "", "-101", from_2_0),
    row("CLK_ENQUEUE_FLAGS_NO_WAIT", "", "0x0", from_2_0),
    row("CLK_ENQUEUE_FLAGS_WAIT_KERNEL", "", "0x1", from_2_0),
    row("CLK_ENQUEUE_FLAGS_WAIT_WORK_GROUP", "", "0x2", from_2_0),
    row("CLK_EVENT_ALLOCATION_FAILURE", "", "-100", from_2_0),
    row("CLK_FILTER_LINEAR", "", "0x20", always),
    row("CLK_FILTER_NEAREST", "", "0x10", always),
    row("CLK_FLOAT", "", "0x10DE", always),
    row("CLK_GLOBAL_MEM_FENCE", "", "0x02", always),
    row("CLK_HALF_FLOAT", "", "0x10DD", always),
    row("CLK_IMAGE_MEM_FENCE", "", "0x04", from_2_0),
    row("CLK_INTENSITY", "", "0x10B8", always),
    row("CLK_INVALID_ARG_SIZE", "", "-51", from_2_0),
    row("CLK_INVALID_EVENT_WAIT_LIST", "", "-57", from_2_0),
    row("CLK_INVALID_NDRANGE", "", "-160", from_2_0),
    row("CLK_INVALID_QUEUE", "", "-102", from_2_0),
    row("CLK_LOCAL_MEM_FENCE", "", "0x01", always),
    row("CLK_LUMINANCE", "", "0x10B9", always),
    row("CLK_NORMALIZED_COORDS_FALSE", "", "0", always),
    row("CLK_NORMALIZED_COORDS_TRUE", "", "1", always),
    row("CLK_NULL_EVENT", "", "0", from_2_0),
    row("CLK_NULL_QUEUE", "", "0", from_2_0),
    row("CLK_NULL_RESERVE_ID", "", "0", from_2_0),
    row("CLK_OUT_OF_RESOURCES", "", "-5", from_2_0),
    row("CLK_PROFILING_COMMAND_EXEC_TIME", "", "0x1", from_2_0),
    row("CLK_R", "", "0x10B0", always),
    row("CLK_RA", "", "0x10B3", always),
    row("CLK_RG", "", "0x10B2", always),
    row("CLK_RGB", "", "0x10B4", always),
    row("CLK_RGBA", "", "0x10B5", always),
    row("CLK_RGBx", "", "0x10BC", always),
    row("CLK_RGx", "", "0x10BB", always),
    row("CLK_Rx", "", "0x10BA", always),
    row("CLK_SIGNED_INT16", "", "0x10D8", always),
    row("CLK_SIGNED_INT32", "", "0x10D9", always),
    row("CLK_SIGNED_INT8", "", "0x10D7", always),
    row("CLK_SNORM_INT16", "", "0x10D1", always),
    row("CLK_SNORM_INT8", "", "0x10D0", always),
    row("CLK_SUCCESS", "", "0", from_2_0),
    row("CLK_UNORM_INT10X6_EXT", "", "0x10E1", with_10x6),
    row("CLK_UNORM_INT12X4_EXT", "", "0x10E9", with_10x6),
    row("CLK_UNORM_INT14X2_EXT", "", "0x10EA", with_10x6),
    row("CLK_UNORM_INT16", "", "0x10D3", always),
    row("CLK_UNORM_INT24", "", "0x10DF", always),
    row("CLK_UNORM_INT8", "", "0x10D2", always),
    row("CLK_UNORM_INT_101010", "", "0x10D6", always),
    row("CLK_UNORM_INT_101010_2", "", "0x10E0", from_3_0),
    row("CLK_UNORM_INT_2_101010_EXT", "", "0x10E5", with_2_101010),
    row("CLK_UNORM_SHORT_555", "", "0x10D5", always),
    row("CLK_UNORM_SHORT_565", "", "0x10D4", always),
    row("CLK_UNSIGNED_INT10X6_EXT", "", "0x10E6", with_10x6),
    row("CLK_UNSIGNED_INT12X4_EXT", "", "0x10E7", with_10x6),
    row("CLK_UNSIGNED_INT14X2_EXT", "", "0x10E8", with_10x6),
    row("CLK_UNSIGNED_INT16", "", "0x10DB", always),
    row("CLK_UNSIGNED_INT32", "", "0x10DC", always),
    row("CLK_UNSIGNED_INT8", "", "0x10DA", always),
    row("CLK_UNSIGNED_INT_RAW10_EXT", "", "0x10E3", with_raw10),
    row("CLK_UNSIGNED_INT_RAW12_EXT", "", "0x10E4", with_raw10),
    row("CLK_sBGRA", "", "0x10C2", from_2_0),
    row("CLK_sRGB", "", "0x10BF", from_2_0),
    row("CLK_sRGBA", "", "0x10C1", from_2_0),
    row("CLK_sRGBx", "", "0x10C0", from_2_0),
    row("CL_COMPLETE", "", "0x0", from_2_0),
    row("CL_QUEUED", "", "0x3", from_2_0),
    row("CL_RUNNING", "", "0x1", from_2_0),
    row("CL_SUBMITTED", "", "0x2", from_2_0),
    row("CL_VERSION_1_0", "", "100", always),
    row("CL_VERSION_1_1", "", "110", always),
    row("CL_VERSION_1_2", "", "120", always),
    row("CL_VERSION_2_0", "", "200", always),
    row("CL_VERSION_3_0", "", "300", always),
    row("CL_VERSION_3_1", "", "310", device_3_1),
    row("DBL_DIG", "", "15", fp64),
    row("DBL_EPSILON", "", "0x1.0p-52", fp64),
    row("DBL_MANT_DIG", "", "53", fp64),
    row("DBL_MAX", "", "0x1.fffffffffffffp1023", fp64),
    row("DBL_MAX_10_EXP", "", "+308", fp64),
    row("DBL_MAX_EXP", "", "+1024", fp64),
    row("DBL_MIN", "", "0x1.0p-1022", fp64),
    row("DBL_MIN_10_EXP", "", "-307", fp64),
    row("DBL_MIN_EXP", "", "-1021", fp64),
    row("DBL_RADIX", "", "2", fp64),
    row("FLT_DIG", "", "6", always),
    row("FLT_EPSILON", "", "0x1.0p-23f", always),
    row("FLT_MANT_DIG", "", "24", always),
    row("FLT_MAX", "", "0x1.fffffep127f", always),
    row("FLT_MAX_10_EXP", "", "+38", always),
    row("FLT_MAX_EXP", "", "+128", always),
    row("FLT_MIN", "", "0x1.0p-126f", always),
    row("FLT_MIN_10_EXP", "", "-37", always),
    row("FLT_MIN_EXP", "", "-125", always),
    row("FLT_RADIX", "", "2", always),
    row("FP_ILOGB0", "", "INT_MIN", always),
    row("FP_ILOGBNAN", "", "INT_MAX", always),
    row("HALF_DIG", "", "3", fp16),
    row("HALF_EPSILON", "", "((0x1.0p-10h))", fp16),
    row("HALF_MANT_DIG", "", "11", fp16),
    row("HALF_MAX", "", "((0x1.ffcp15h))", fp16),
    row("HALF_MAX_10_EXP", "", "+4", fp16),
    row("HALF_MAX_EXP", "", "+16", fp16),
    row("HALF_MIN", "", "((0x1.0p-14h))", fp16),
    row("HALF_MIN_10_EXP", "", "-4", fp16),
    row("HALF_MIN_EXP", "", "-13", fp16),
    row("HALF_RADIX", "", "2", fp16),
    row("HUGE_VAL", "", "(as_double(0x7ff0000000000000L))", fp64),
    row("HUGE_VALF", "", "(as_float(0x7f800000))", always),
    row("INFINITY", "", "(as_float(0x7f800000))", always),
    row("INT_MAX", "", "2147483647", always),
    row("INT_MIN", "", "(-2147483647-1)", always),
    row("LONG_MAX", "", "0x7fffffffffffffffL", always),
    row("LONG_MIN", "", "(-0x7fffffffffffffffL-1)", always),
    row("MAXFLOAT", "", "0x1.fffffep127f", always),
    row("MAX_WORK_DIM", "", "3", from_2_0),
    row("M_1_PI", "", "0x1.45f306dc9c883p-2", fp64),
    row("M_1_PI_F", "", "0.318309886183790671537767526745028724f", always),
    row("M_1_PI_H", "", "0.318309886183790671537767526745028724h", fp16),
    row("M_2_PI", "", "0x1.45f306dc9c883p-1", fp64),
    row("M_2_PI_F", "", "0.636619772367581343075535053490057448f", always),
    row("M_2_PI_H", "", "0.636619772367581343075535053490057448h", fp16),
    row("M_2_SQRTPI", "", "0x1.20dd750429b6dp+0", fp64),
    row("M_2_SQRTPI_F", "", "1.12837916709551257389615890312154517f", always),
    row("M_2_SQRTPI_H", "", "1.12837916709551257389615890312154517h", fp16),
    row("M_E", "", "0x1.5bf0a8b145769p+1", fp64),
    row("M_E_F", "", "2.71828182845904523536028747135266250f", always),
    row("M_E_H", "", "2.71828182845904523536028747135266250h", fp16),
    row("M_LN10", "", "0x1.26bb1bbb55516p+1", fp64),
    row("M_LN10_F", "", "2.30258509299404568401799145468436421f", always),
    row("M_LN10_H", "", "2.30258509299404568401799145468436421h", fp16),
    row("M_LN2", "", "0x1.62e42fefa39efp-1", fp64),
    row("M_LN2_F", "", "0.693147180559945309417232121458176568f", always),
    row("M_LN2_H", "", "0.693147180559945309417232121458176568h", fp16),
    row("M_LOG10E", "", "0x1.bcb7b1526e50ep-2", fp64),
    row("M_LOG10E_F", "", "0.434294481903251827651128918916605082f", always),
    row("M_LOG10E_H", "", "0.434294481903251827651128918916605082h", fp16),
    row("M_LOG2E", "", "0x1.71547652b82fep+0", fp64),
    row("M_LOG2E_F", "", "1.44269504088896340735992468100189214f", always),
    row("M_LOG2E_H", "", "1.44269504088896340735992468100189214h", fp16),
    row("M_PI", "", "0x1.921fb54442d18p+1", fp64),
    row("M_PI_2", "", "0x1.921fb54442d18p+0", fp64),
    row("M_PI_2_F", "", "1.57079632679489661923132169163975144f", always),
    row("M_PI_2_H", "", "1.57079632679489661923132169163975144h", fp16),
    row("M_PI_4", "", "0x1.921fb54442d18p-1", fp64),
    row("M_PI_4_F", "", "0.785398163397448309615660845819875721f", always),
    row("M_PI_4_H", "", "0.785398163397448309615660845819875721h", fp16),
    row("M_PI_F", "", "3.14159265358979323846264338327950288f", always),
    row("M_PI_H", "", "3.14159265358979323846264338327950288h", fp16),
    row("M_SQRT1_2", "", "0x1.6a09e667f3bcdp-1", fp64),
    row("M_SQRT1_2_F", "", "0.707106781186547524400844362104849039f", always),
    row("M_SQRT1_2_H", "", "0.707106781186547524400844362104849039h", fp16),
    row("M_SQRT2", "", "0x1.6a09e667f3bcdp+0", fp64),
    row("M_SQRT2_F", "", "1.41421356237309504880168872420969808f", always),
    row("M_SQRT2_H", "", "1.41421356237309504880168872420969808h", fp16),
    // The payload is clang's: programs tell a plain NaN from those that carry numbers of errors in the lower bits.
    row("NAN", "", "(as_float(INT_MAX))", always),
    row("NULL", "", "((void*)0)", always),
    row("SCHAR_MAX", "", "127", always),
    row("SCHAR_MIN", "", "(-128)", always),
    row("SHRT_MAX", "", "32767", always),
    row("SHRT_MIN", "", "(-32768)", always),
    row("UCHAR_MAX", "", "255", always),
    row("UINT_MAX", "", "0xffffffff", always),
    row("ULONG_MAX", "", "0xffffffffffffffffUL", always),
    row("USHRT_MAX", "", "65535", always),
    row("_LP64", "", "1", bits_64),
    row("__ATOMIC_ACQUIRE", "", "2", always),
    row("__ATOMIC_ACQ_REL", "", "4", always),
    row("__ATOMIC_CONSUME", "", "1", always),
    row("__ATOMIC_RELAXED", "", "0", always),
    row("__ATOMIC_RELEASE", "", "3", always),
    row("__ATOMIC_SEQ_CST", "", "5", always),
    row("__BLOCKS__", "", "1", blocks),
    row("__BOOL_WIDTH__", "", "1", always),
    row("__BYTE_ORDER__", "", "__ORDER_LITTLE_ENDIAN__", always),
    row("__CHAR_BIT__", "", "8", always),
    row("__DBL_DENORM_MIN__", "", "4.9406564584124654e-324", always),
    row("__DBL_DIG__", "", "15", always),
    row("__DBL_EPSILON__", "", "2.2204460492503131e-16", always),
    row("__DBL_MANT_DIG__", "", "53", always),
    row("__DBL_MAX_10_EXP__", "", "308", always),
    row("__DBL_MAX_EXP__", "", "1024", always),
    row("__DBL_MAX__", "", "1.7976931348623157e+308", always),
    row("__DBL_MIN_10_EXP__", "", "(-307)", always),
    row("__DBL_MIN_EXP__", "", "(-1021)", always),
    row("__DBL_MIN__", "", "2.2250738585072014e-308", always),
    row("__ENDIAN_LITTLE__", "", "1", always),
    row("__FAST_MATH__", "", "1", fast_relaxed_math),
    row("__FAST_RELAXED_MATH__", "", "1", fast_relaxed_math),
    row("__FINITE_MATH_ONLY__", "", "1", finite_math_only),
    row("__FINITE_MATH_ONLY__", "", "0", not_finite_math_only),
    row("__FLT_DENORM_MIN__", "", "1.40129846e-45F", always),
    row("__FLT_DIG__", "", "6", always),
    row("__FLT_EPSILON__", "", "1.19209290e-7F", always),
    row("__FLT_MANT_DIG__", "", "24", always),
    row("__FLT_MAX_10_EXP__", "", "38", always),
    row("__FLT_MAX_EXP__", "", "128", always),
    row("__FLT_MAX__", "", "3.40282347e+38F", always),
    row("__FLT_MIN_10_EXP__", "", "(-37)", always),
    row("__FLT_MIN_EXP__", "", "(-125)", always),
    row("__FLT_MIN__", "", "1.17549435e-38F", always),
    row("__FLT_RADIX__", "", "2", always),
    row("__GNUC_MINOR__", "", "2", always),
    row("__GNUC_PATCHLEVEL__", "", "1", always),
    row("__GNUC_STDC_INLINE__", "", "1", always),
    row("__GNUC__", "", "4", always),
    row("__IMAGE_SUPPORT__", "", "1", images),
    row("__INT16_C", "(c)", "c", always),
    row("__INT16_MAX__", "", "32767", always),
    row("__INT16_TYPE__", "", "short", always),
    row("__INT32_C", "(c)", "c", always),
    row("__INT32_MAX__", "", "2147483647", always),
    row("__INT32_TYPE__", "", "int", always),
    row("__INT64_C", "(c)", "c##L", always),
    row("__INT64_MAX__", "", "9223372036854775807L", always),
    row("__INT64_TYPE__", "", "long int", always),
    row("__INT8_C", "(c)", "c", always),
    row("__INT8_MAX__", "", "127", always),
    row("__INT8_TYPE__", "", "signed char", always),
    row("__INTPTR_MAX__", "", "9223372036854775807L", bits_64),
    row("__INTPTR_MAX__", "", "2147483647", bits_32),
    row("__INTPTR_TYPE__", "", "long int", bits_64),
    row("__INTPTR_TYPE__", "", "int", bits_32),
    row("__INTPTR_WIDTH__", "", "64", bits_64),
    row("__INTPTR_WIDTH__", "", "32", bits_32),
    row("__INT_MAX__", "", "2147483647", always),
    row("__INT_WIDTH__", "", "32", always),
    row("__LITTLE_ENDIAN__", "", "1", always),
    row("__LLONG_WIDTH__", "", "64", always),
    row("__LONG_LONG_MAX__", "", "9223372036854775807LL", always),
    row("__LONG_MAX__", "", "9223372036854775807L", always),
    row("__LONG_WIDTH__", "", "64", always),
    row("__LP64__", "", "1", bits_64),
    row("__OPENCL_MEMORY_SCOPE_ALL_SVM_DEVICES", "", "3", always),
    row("__OPENCL_MEMORY_SCOPE_DEVICE", "", "2", always),
    row("__OPENCL_MEMORY_SCOPE_SUB_GROUP", "", "4", always),
    row("__OPENCL_MEMORY_SCOPE_WORK_GROUP", "", "1", always),
    row("__OPENCL_MEMORY_SCOPE_WORK_ITEM", "", "0", always),
    row("__OPTIMIZE__", "", "1", optimized),
    row("__ORDER_BIG_ENDIAN__", "", "4321", always),
    row("__ORDER_LITTLE_ENDIAN__", "", "1234", always),
    row("__ORDER_PDP_ENDIAN__", "", "3412", always),
    row("__POINTER_WIDTH__", "", "64", bits_64),
    row("__POINTER_WIDTH__", "", "32", bits_32),
    row("__PTRDIFF_MAX__", "", "9223372036854775807L", bits_64),
    row("__PTRDIFF_MAX__", "", "2147483647", bits_32),
    row("__PTRDIFF_TYPE__", "", "long int", bits_64),
    row("__PTRDIFF_TYPE__", "", "int", bits_32),
    row("__PTRDIFF_WIDTH__", "", "64", bits_64),
    row("__PTRDIFF_WIDTH__", "", "32", bits_32),
    row("__SCHAR_MAX__", "", "127", always),
    row("__SHRT_MAX__", "", "32767", always),
    row("__SHRT_WIDTH__", "", "16", always),
    row("__SIZEOF_DOUBLE__", "", "8", always),
    row("__SIZEOF_FLOAT__", "", "4", always),
    row("__SIZEOF_INT__", "", "4", always),
    row("__SIZEOF_LONG_LONG__", "", "8", always),
    row("__SIZEOF_LONG__", "", "8", always),
    row("__SIZEOF_POINTER__", "", "8", bits_64),
    row("__SIZEOF_POINTER__", "", "4", bits_32),
    row("__SIZEOF_PTRDIFF_T__", "", "8", bits_64),
    row("__SIZEOF_PTRDIFF_T__", "", "4", bits_32),
    row("__SIZEOF_SHORT__", "", "2", always),
    row("__SIZEOF_SIZE_T__", "", "8", bits_64),
    row("__SIZEOF_SIZE_T__", "", "4", bits_32),
    row("__SIZE_MAX__", "", "18446744073709551615UL", bits_64),
    row("__SIZE_MAX__", "", "4294967295U", bits_32),
    row("__SIZE_TYPE__", "", "long unsigned int", bits_64),
    row("__SIZE_TYPE__", "", "unsigned int", bits_32),
    row("__SIZE_WIDTH__", "", "64", bits_64),
    row("__SIZE_WIDTH__", "", "32", bits_32),
    row("__SPIRV", "", "1", always),
    row("__SPIRV32", "", "1", bits_32),
    row("__SPIRV32__", "", "1", bits_32),
    row("__SPIRV64", "", "1", bits_64),
    row("__SPIRV64__", "", "1", bits_64),
    row("__SPIRV__", "", "1", always),
    row("__STDC_HOSTED__", "", "1", always),
    row("__STDC_VERSION__", "", "199901L", always),
    row("__STDC__", "", "1", always),
    row("__STRICT_ANSI__", "", "1", always),
    row("__UINT16_C", "(c)", "c", always),
    row("__UINT16_MAX__", "", "65535", always),
    row("__UINT16_TYPE__", "", "unsigned short", always),
    row("__UINT32_C", "(c)", "c##U", always),
    row("__UINT32_MAX__", "", "4294967295U", always),
    row("__UINT32_TYPE__", "", "unsigned int", always),
    row("__UINT64_C", "(c)", "c##UL", always),
    row("__UINT64_MAX__", "", "18446744073709551615UL", always),
    row("__UINT64_TYPE__", "", "long unsigned int", always),
    row("__UINT8_C", "(c)", "c", always),
    row("__UINT8_MAX__", "", "255", always),
    row("__UINT8_TYPE__", "", "unsigned char", always),
    row("__UINTPTR_MAX__", "", "18446744073709551615UL", bits_64),
    row("__UINTPTR_MAX__", "", "4294967295U", bits_32),
    row("__UINTPTR_TYPE__", "", "long unsigned int", bits_64),
    row("__UINTPTR_TYPE__", "", "unsigned int", bits_32),
    row("__UINTPTR_WIDTH__", "", "64", bits_64),
    row("__UINTPTR_WIDTH__", "", "32", bits_32),
    row("__VERSION__", "", "\"Clift\"", always),
    row("__block", "", "__attribute__((__blocks__(byref)))", blocks),
    row("__clang__", "", "1", always),
    row("__clang_major__", "", "22", always),
    row("__clang_minor__", "", "1", always),
    row("__clang_patchlevel__", "", "8", always),
    row("__clang_version__", "", "\"22.1.8\"", always),
    row("__half", "", "half", always),
    row("__kernel_exec", "(X, typen)", "__kernel __attribute__((work_group_size_hint(X, 1, 1))) __attribute__((vec_type_hint(typen)))", always),
    row("__llvm__", "", "1", always),
    row("kernel_exec", "(X, typen)", "__kernel __attribute__((work_group_size_hint(X, 1, 1))) __attribute__((vec_type_hint(typen)))", always),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted() {
        assert!(TABLE.is_sorted_by_key(|row| row.name));
    }

    #[test]
    fn conditions_decide() {
        let mut options = Options { version: Version::V1_2, ..Options::default() };
        assert_eq!(
            find("__OPENCL_C_VERSION__", &options),
            Some(Predefined::Text("__OPENCL_C_VERSION__ 120".to_owned()))
        );
        assert_eq!(find("__LINE__", &options), Some(Predefined::Dynamic(Dynamic::Line)));
        assert_eq!(find("MAX_WORK_DIM", &options), None);
        assert_eq!(find("cl_khr_fp64", &options), None);
        assert_eq!(find("__SPIRV32__", &options), Some(Predefined::Text("__SPIRV32__ 1".to_owned())));
        options.version = Version::V3_0;
        options.profile = std::sync::Arc::new(crate::options::Profile::full());
        assert!(find("MAX_WORK_DIM", &options).is_some());
        assert!(find("cl_khr_fp64", &options).is_some());
        assert!(find("__opencl_c_fp64", &options).is_some());
        assert_eq!(find("__SPIRV32__", &options), None);
        assert_eq!(find("memory_order_relaxed", &options), None);
    }
}
