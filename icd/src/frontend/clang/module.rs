//! Edits a program's LLVM IR, as text, between the two halves of clang: functions that no kernel reaches are removed, and the
//! remaining ones get internal linkage.
//!
//! Functions of OpenCL C have external linkage unless they are `static`, and a program may have hundreds of which a kernel calls
//! ten. Without this step all of them would be optimized and translated, and inlined functions twice. The parser recognizes only
//! definitions (from a line that begins with `define` to a line that begins with `}`), declarations, and names (`@name`).

use std::collections::{HashMap, HashSet};

/// An edited module.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Edited {
    /// The text.
    pub text: Vec<u8>,
    /// The functions that it declares but does not define.
    pub imports: Vec<String>,
}

/// One piece of a module.
struct Piece<'a> {
    text: &'a [u8],
    kind: LineKind<'a>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LineKind<'a> {
    Function { name: &'a [u8], is_root: bool },
    Declaration { name: &'a [u8] },
    Other,
}

/// Linkage, or a visibility that is incompatible with internal linkage, as written after `define`.
const KEPT: [&[u8]; 12] = [
    b"private",
    b"internal",
    b"available_externally",
    b"linkonce",
    b"weak",
    b"linkonce_odr",
    b"weak_odr",
    b"appending",
    b"extern_weak",
    b"external",
    b"hidden",
    b"protected",
];

/// Removes unreachable functions and declarations. If the module is the `whole` program, all functions except kernels become
/// internal.
pub(super) fn edit(text: &[u8], whole: bool) -> Edited {
    let pieces = pieces(text, whole);
    let by_name: HashMap<&[u8], &[u8]> = pieces
        .iter()
        .filter_map(|piece| match piece.kind {
            LineKind::Function { name, .. } => Some((name, piece.text)),
            LineKind::Declaration { .. } | LineKind::Other => None,
        })
        .collect();
    let mut reached: HashSet<&[u8]> = HashSet::new();
    let mut pending: Vec<&[u8]> = pieces
        .iter()
        .filter(|piece| matches!(piece.kind, LineKind::Other | LineKind::Function { is_root: true, .. }))
        .map(|piece| piece.text)
        .collect();
    while let Some(text) = pending.pop() {
        for name in names(text) {
            if reached.insert(name) {
                pending.extend(by_name.get(name));
            }
        }
    }
    let mut edited = Edited { text: Vec::new(), imports: Vec::new() };
    for piece in &pieces {
        match piece.kind {
            LineKind::Function { is_root, name } => {
                if !is_root && !reached.contains(name) {
                    continue;
                }
                if !is_root && linkage(piece.text).is_none() {
                    edited.text.extend_from_slice(b"define internal ");
                    edited.text.extend_from_slice(&piece.text[DEFINE.len()..]);
                    continue;
                }
            }
            LineKind::Declaration { name } => {
                if !reached.contains(name) {
                    continue;
                }
                edited.imports.push(String::from_utf8_lossy(name).into_owned());
            }
            LineKind::Other => {}
        }
        edited.text.extend_from_slice(piece.text);
    }
    edited
}

const DEFINE: &[u8] = b"define ";
const DECLARE: &[u8] = b"declare ";

/// Splits a module into definitions, declarations and other lines.
fn pieces(text: &[u8], whole: bool) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let line = &rest[..line_end(rest)];
        let (length, kind) = if line.starts_with(DEFINE) {
            let length = function_end(rest);
            let is_root = !whole || is_kernel(line) || matches!(linkage(line), Some(linkage) if linkage != b"internal");
            (length, names(line).next().map_or(LineKind::Other, |name| LineKind::Function { name, is_root }))
        } else if line.starts_with(DECLARE) {
            (line.len(), names(line).next().map_or(LineKind::Other, |name| LineKind::Declaration { name }))
        } else {
            (line.len(), LineKind::Other)
        };
        pieces.push(Piece { text: &rest[..length], kind });
        rest = &rest[length..];
    }
    pieces
}

/// Length of the first line, including its line break.
fn line_end(text: &[u8]) -> usize {
    text.iter().position(|byte| *byte == b'\n').map_or(text.len(), |at| at + 1)
}

/// Length of the definition at the beginning of the text.
fn function_end(text: &[u8]) -> usize {
    let mut at = 0;
    while at < text.len() {
        let line = &text[at..at + line_end(&text[at..])];
        at += line.len();
        if line.starts_with(b"}") {
            break;
        }
    }
    at
}

/// The words between `define` and the function's name.
fn head(definition: &[u8]) -> impl Iterator<Item = &[u8]> {
    let end = definition.iter().position(|byte| *byte == b'@').unwrap_or(definition.len());
    definition[..end].split(|byte| *byte == b' ').skip(1)
}

/// The linkage of a definition, if it is stated.
fn linkage(definition: &[u8]) -> Option<&[u8]> {
    head(definition).find(|word| KEPT.contains(word))
}

fn is_kernel(definition: &[u8]) -> bool {
    head(definition).any(|word| word == b"spir_kernel")
}

/// The global names in a text, without their `@`.
fn names(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            let at = rest.iter().position(|byte| *byte == b'@')?;
            rest = &rest[at + 1..];
            let length = match rest.first() {
                Some(b'"') => rest[1..].iter().position(|byte| *byte == b'"').map_or(rest.len(), |at| at + 2),
                _ => rest.iter().position(|byte| !is_name_part(*byte)).unwrap_or(rest.len()),
            };
            let name = &rest[..length];
            rest = &rest[length..];
            if !name.is_empty() {
                return Some(name);
            }
        }
    })
}

fn is_name_part(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'$' | b'.' | b'_' | b'-')
}

#[cfg(test)]
mod tests {
    use super::edit;

    const MODULE: &str = "target triple = \"spirv64\"\n\
        @table = addrspace(2) constant [2 x i8] c\"@x\", align 1\n\
        @pointers = addrspace(1) global ptr @from_a_global\n\n\
        ; Function Attrs: convergent\n\
        define spir_kernel void @k(ptr addrspace(1) %p) #0 {\n  %a = call spir_func i32 @used(i32 1)\n  ret void\n}\n\n\
        define spir_func i32 @used(i32 %x) #1 {\n  %a = call spir_func i32 @\"odd name\"(i32 1)\n  ret i32 %a\n}\n\n\
        define dso_local spir_func i32 @\"odd name\"(i32 %x) #1 {\n  %a = call spir_func i32 @_Z3absi(i32 1)\n  ret i32 %a\n}\n\n\
        define internal spir_func i32 @from_a_global() {\n  ret i32 1\n}\n\
        define linkonce_odr spir_func i32 @shared() {\n  ret i32 1\n}\n\
        define spir_func i32 @unused(i32 %x) {\n  %a = call spir_func i32 @_Z5clampiii(i32 1)\n  ret i32 %a\n}\n\
        declare spir_func i32 @_Z3absi(i32) #2\n\
        declare spir_func i32 @_Z5clampiii(i32)\n\
        !0 = !{i32 1}\n";

    #[test]
    fn unreachable_functions_are_removed_and_others_become_internal() {
        let edited = edit(MODULE.as_bytes(), true);
        let text = String::from_utf8(edited.text).unwrap();
        assert!(text.contains("\ndefine spir_kernel void @k("));
        assert!(text.contains("\ndefine internal spir_func i32 @used("));
        assert!(text.contains("\ndefine internal dso_local spir_func i32 @\"odd name\"("));
        assert!(text.contains("\ndefine internal spir_func i32 @from_a_global("));
        assert!(text.contains("\ndefine linkonce_odr spir_func i32 @shared("));
        assert!(!text.contains("@unused") && !text.contains("@_Z5clampiii"));
        assert!(text.ends_with("!0 = !{i32 1}\n"));
        assert_eq!(edited.imports, ["_Z3absi"]);
    }

    #[test]
    fn a_part_of_a_program_keeps_its_functions() {
        let edited = edit(MODULE.as_bytes(), false);
        assert_eq!(String::from_utf8(edited.text).unwrap(), MODULE);
        assert_eq!(edited.imports, ["_Z3absi", "_Z5clampiii"]);
    }

    #[test]
    fn malformed_text_does_not_panic() {
        for text in ["", "define", "define ", "define spir_func void @f(", "@", "@\"", "declare \n}", "define x\n@\n"] {
            let _ = edit(text.as_bytes(), true);
        }
    }
}
