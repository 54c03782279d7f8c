//! Reads and writes of a level of a mipmapped image: clang's back end drops the level of a read, and writes it as the colour.
//!
//! With four arguments and more the functions' names lead to overloads of another name, which the importer knows by that name
//! where they name a level and which call the function where they do not: the preprocessor takes the numbers between the braces of
//! `(int2){x, y}` for arguments. Declaring all of them takes time, so a source gets them only when it may need them
//! ([`are_named_in`]).

use std::fmt::Write;

/// An image type as it is named: what its elements are found by.
struct Shape {
    name: &'static str,
    /// The coordinate's type in components, of floats or integers.
    components: &'static str,
    /// The components of a gradient.
    gradient: &'static str,
    depth: bool,
    /// Whether it can have levels, and samplers.
    sampled: bool,
}

const fn shape(name: &'static str, components: &'static str, gradient: &'static str) -> Shape {
    Shape { name, components, gradient, depth: false, sampled: true }
}

const SHAPES: [Shape; 8] = [
    shape("image1d_t", "", ""),
    shape("image1d_array_t", "2", ""),
    shape("image2d_t", "2", "2"),
    shape("image2d_array_t", "4", "2"),
    shape("image3d_t", "4", "4"),
    Shape { depth: true, ..shape("image2d_depth_t", "2", "2") },
    Shape { depth: true, ..shape("image2d_array_depth_t", "4", "2") },
    Shape { sampled: false, ..shape("image1d_buffer_t", "", "") },
];

/// The functions, with the types of their colours.
pub(super) const FUNCTIONS: [(&str, &str); 6] = [
    ("read_imagef", "float"),
    ("read_imagei", "int"),
    ("read_imageui", "uint"),
    ("write_imagef", "float"),
    ("write_imagei", "int"),
    ("write_imageui", "uint"),
];

/// Arguments of a call that names no level and has no braces, at most.
const PLAIN: usize = 3;
/// Arguments that the preprocessor may see: a sampled read with gradients of four components in braces has 14.
const MOST: usize = 16;

/// Whether a call of a function may name a level: whether one has more arguments than one that does not, or may have.
pub(super) fn are_named_in(text: &[u8], name: &str) -> bool {
    // Then what an argument is, the text of the call does not say.
    if contains(text, b"__VA_ARGS__") {
        return true;
    }
    let mut rest = text;
    while let Some(at) = find(rest, name.as_bytes()) {
        rest = &rest[at + name.len()..];
        if arguments(rest).is_none_or(|count| count > PLAIN) {
            return true;
        }
    }
    false
}

/// How many arguments the preprocessor sees of a call whose parentheses come next; `None` when none come (the name may be called
/// elsewhere by another one), or do not end.
fn arguments(text: &[u8]) -> Option<usize> {
    let text = text.trim_ascii_start();
    if text.first() != Some(&b'(') {
        return None;
    }
    let (mut depth, mut commas) = (0, 0);
    for byte in text {
        match byte {
            b'(' => depth += 1,
            b')' => depth -= 1,
            b',' if depth == 1 => commas += 1,
            _ => {}
        }
        if depth == 0 {
            return Some(commas + 1);
        }
    }
    None
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    find(text, part).is_some()
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

/// The lines that repair a function whose colours are of a type.
pub(super) fn lines(name: &str, colour: &str) -> String {
    let mut text = String::new();
    let is_read = name.starts_with("read");
    for access in if is_read { ["read_only", "read_write"] } else { ["write_only", "read_write"] } {
        if access == "read_write" {
            text += "#if __OPENCL_C_VERSION__ >= 200\n";
        }
        for shape in SHAPES.iter().filter(|shape| !shape.depth || colour == "float") {
            let pixel = format!("{colour}{}", if shape.depth { "" } else { "4" });
            if is_read {
                reads(&mut text, name, access, shape, &pixel);
            } else {
                writes(&mut text, name, access, shape, &pixel);
            }
        }
        if access == "read_write" {
            text += "#endif\n";
        }
    }
    let numbered: String = (0..MOST).map(|i| format!("a{i},")).collect();
    let choices: String =
        (0..MOST).map(|i| format!(",{}{name}", if MOST - i > PLAIN { "clift_" } else { "" })).collect();
    let _ = writeln!(text, "#define clift_of_{name}({numbered}f,...) f");
    // In its own expansion a macro's name means the function.
    let _ = writeln!(text, "#define {name}(...) clift_of_{name}(__VA_ARGS__{choices},)(__VA_ARGS__)");
    text
}

const INLINE: &str = "inline __attribute__((overloadable, always_inline, unused))";
const IMPORTED: &str = "__attribute__((overloadable))";

fn reads(text: &mut String, name: &str, access: &str, shape: &Shape, pixel: &str) {
    let Shape { name: image, components, gradient, sampled, .. } = shape;
    let _ = writeln!(
        text,
        "{INLINE} {pixel} clift_{name}({access} {image} i, int{components} c) {{ return {name}(i, c); }}"
    );
    if access != "read_only" || !sampled {
        return;
    }
    for number in ["float", "int"] {
        let _ = writeln!(
            text,
            "{INLINE} {pixel} clift_{name}({access} {image} i, sampler_t s, {number}{components} c) {{ return {name}(i, s, c); }}"
        );
    }
    let start = format!("{IMPORTED} {pixel} clift_{name}({access} {image} i, sampler_t s, float{components} c");
    let _ = writeln!(text, "{start}, float lod);");
    let _ = writeln!(text, "{start}, float{gradient} x, float{gradient} y);");
}

fn writes(text: &mut String, name: &str, access: &str, shape: &Shape, pixel: &str) {
    let Shape { name: image, components, sampled, .. } = shape;
    let start = format!("void clift_{name}({access} {image} i, int{components} c");
    let _ = writeln!(text, "{INLINE} {start}, {pixel} v) {{ {name}(i, c, v); }}");
    if *sampled {
        let _ = writeln!(text, "{IMPORTED} {start}, int lod, {pixel} v);");
    }
}

#[cfg(test)]
mod tests {
    use super::are_named_in;

    #[test]
    fn calls_that_name_a_level_are_seen() {
        let named = |text: &str| are_named_in(text.as_bytes(), "read_imagef");
        assert!(!named("x = read_imagef(i, s, (float2)(a, b));"));
        assert!(!named("x = read_imagef (i, (int2)(f(a, b, c, d), b)); y(1, 2, 3, 4)"));
        assert!(named("x = read_imagef(i, s, c, 1.0f);"));
        assert!(named("x = read_imagef(i, s,\n c, (float2)(1.0f), g);"));
        assert!(named("x = read_imagef(i, s, (float2){a, b});"));
        assert!(named("#define R(...) read_imagef(__VA_ARGS__)"));
        assert!(named("x = read_imagef(i, s, /* ( */ c)"));
        assert!(named("#define R read_imagef\nx = R(i, s, c, 1.0f);"));
    }
}
