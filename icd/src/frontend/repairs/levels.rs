//! Reads and writes of a mipmap level of an image: they are mapped to functions of other names that the importer knows.

use std::fmt::Write;

/// An image type and the types of its coordinates.
struct ImageShape {
    name: &'static str,
    /// The suffix of the coordinate's vector type, float or integer.
    components: &'static str,
    /// The suffix of a gradient's vector type.
    gradient: &'static str,
    depth: bool,
}

const fn shape(name: &'static str, components: &'static str, gradient: &'static str, depth: bool) -> ImageShape {
    ImageShape { name, components, gradient, depth }
}

/// The image types that can have mipmaps.
static SHAPES: [ImageShape; 7] = [
    shape("image1d_t", "", "", false),
    shape("image1d_array_t", "2", "", false),
    shape("image2d_t", "2", "2", false),
    shape("image2d_array_t", "4", "2", false),
    shape("image3d_t", "4", "4", false),
    shape("image2d_depth_t", "2", "2", true),
    shape("image2d_array_depth_t", "4", "2", true),
];

/// The functions, with the types of their colours.
const FUNCTIONS: [(&str, &str); 8] = [
    ("read_imagef", "float"),
    ("read_imagei", "int"),
    ("read_imageui", "uint"),
    ("read_imageh", "half"),
    ("write_imagef", "float"),
    ("write_imagei", "int"),
    ("write_imageui", "uint"),
    ("write_imageh", "half"),
];

/// The functions.
pub(super) fn functions() -> Vec<String> {
    FUNCTIONS.map(|(name, _)| name.to_owned()).into()
}

/// One overload with a level argument: result type, parameters, arguments of the importer's function.
struct Overload {
    result: String,
    parameters: String,
    arguments: &'static str,
    writes_and_reads: bool,
}

/// The overloads of a function.
fn overloads(name: &str, colour: &str) -> Vec<Overload> {
    let mut overloads = Vec::new();
    for ImageShape { name: image, components, gradient, depth } in &SHAPES {
        if *depth && colour != "float" {
            continue;
        }
        let pixel = format!("{colour}{}", if *depth { "" } else { "4" });
        if name.starts_with("read") {
            let start = format!("read_only {image} i, sampler_t s, float{components} c");
            for (level, arguments) in [
                ("float x".to_owned(), "i, s, c, x"),
                (format!("float{gradient} x, float{gradient} y"), "i, s, c, x, y"),
            ] {
                let (result, parameters) = (pixel.clone(), format!("{start}, {level}"));
                overloads.push(Overload { result, parameters, arguments, writes_and_reads: false });
            }
        } else {
            for writes_and_reads in [false, true] {
                let access = if writes_and_reads { "read_write" } else { "write_only" };
                let parameters = format!("{access} {image} i, int{components} c, int x, {pixel} v");
                let (result, arguments) = ("void".to_owned(), "i, c, x, v");
                overloads.push(Overload { result, parameters, arguments, writes_and_reads });
            }
        }
    }
    overloads
}

/// The overloads of a function without a level: declaring one overload of a built-in function hides those of clang.
fn plain_overloads(name: &str, colour: &str) -> Vec<Overload> {
    let mut overloads = Vec::new();
    let buffer = shape("image1d_buffer_t", "", "", false);
    for ImageShape { name: image, components, depth, .. } in SHAPES.iter().chain([&buffer]) {
        if *depth && colour != "float" {
            continue;
        }
        let pixel = format!("{colour}{}", if *depth { "" } else { "4" });
        let is_read = name.starts_with("read");
        let mut add = |access: &str, rest: String| {
            let (result, parameters) =
                (if is_read { &pixel } else { "void" }.to_owned(), format!("{access} {image} i, {rest}"));
            overloads.push(Overload { result, parameters, arguments: "", writes_and_reads: access == "read_write" });
        };
        for access in ["read_write", if is_read { "read_only" } else { "write_only" }] {
            add(access, format!("int{components} c{}", if is_read { String::new() } else { format!(", {pixel} v") }));
        }
        if is_read && *image != buffer.name {
            for number in ["float", "int"] {
                add("read_only", format!("sampler_t s, {number}{components} c"));
            }
        }
    }
    overloads
}

/// Definitions that call the importer's functions.
pub(super) fn definitions() -> String {
    let mut text = String::new();
    for (name, colour) in FUNCTIONS {
        for Overload { result, parameters, arguments, .. } in overloads(name, colour) {
            let _ = writeln!(
                text,
                "{result} IMPORTED clift_{name}({parameters});\n\
                 {result} INLINE {name}({parameters}) {{ return clift_{name}({arguments}); }}"
            );
        }
    }
    text
}

/// Declarations, valid in every language version that has these types.
pub(super) fn declarations() -> String {
    let mut text = "#if defined(__IMAGE_SUPPORT__) && __OPENCL_C_VERSION__ >= 120\n".to_owned();
    for (name, colour) in FUNCTIONS {
        if colour == "half" {
            text += "#ifdef cl_khr_fp16\n#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n";
        }
        for writes_and_reads in [false, true] {
            if writes_and_reads {
                text += "#if __OPENCL_C_VERSION__ >= 200\n";
            }
            let all = overloads(name, colour).into_iter().chain(plain_overloads(name, colour));
            for overload in all.filter(|one| one.writes_and_reads == writes_and_reads) {
                let _ = writeln!(text, "{} IMPORTED {name}({});", overload.result, overload.parameters);
            }
            if writes_and_reads {
                text += "#endif\n";
            }
        }
        if colour == "half" {
            text += "#endif\n";
        }
    }
    text + "#endif\n"
}
