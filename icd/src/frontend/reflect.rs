//! Reads from clang what SPIR-V does not contain about kernels: argument types and attributes as the source spells them.
//!
//! SPIR-V cannot distinguish `uint` from `unsigned int`, and it represents neither `const` nor the signedness of a
//! `vec_type_hint`. Clang's LLVM IR has this information as metadata attached to each kernel. It is produced only when an
//! application queries it, by a separate run of clang that stops before the optimizer. This module parses its textual form:
//! definitions (`define spir_kernel ... !kernel_arg_type !5`) and metadata nodes (`!5 = !{!"uint*", ...}`), nothing else.

use std::collections::HashMap;

use clift_clc::types::{Access, AddressSpace};
use clift_jit::{AccessQualifier, AddressQualifier, TypeQualifiers};
use serde::{Deserialize, Serialize};

/// A kernel as its source declares it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelReflection {
    /// Its name.
    pub name: String,
    /// Its parameters.
    pub args: Vec<ArgReflection>,
    /// `CL_KERNEL_ATTRIBUTES`.
    pub attributes: String,
}

/// A kernel parameter as its source declares it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArgReflection {
    /// `CL_KERNEL_ARG_NAME`.
    pub name: String,
    /// `CL_KERNEL_ARG_TYPE_NAME`.
    pub type_name: String,
    /// Address space, by LLVM's number for SPIR targets.
    address_space: u32,
    /// `read_only`, `write_only`, `read_write` or `none`.
    access: String,
    /// Blank-separated `const`, `restrict`, `volatile`, `pipe`.
    qualifiers: String,
}

impl ArgReflection {
    /// A parameter as Clift's own front end describes it.
    pub(super) fn of(argument: &clift_clc::tree::KernelArgument) -> Self {
        const QUALIFIERS: [(u64, &str); 4] = [(1, "const"), (2, "restrict"), (4, "volatile"), (8, "pipe")];
        let given = QUALIFIERS.iter().filter(|(bit, _)| argument.type_qualifiers & bit != 0);
        Self {
            name: argument.name.clone(),
            type_name: argument.type_name.clone(),
            address_space: match argument.address {
                AddressSpace::Private => 0,
                AddressSpace::Global => 1,
                AddressSpace::Constant => 2,
                AddressSpace::Local => 3,
                AddressSpace::Generic => 4,
            },
            access: match argument.access {
                None => "none",
                Some(Access::ReadOnly) => "read_only",
                Some(Access::WriteOnly) => "write_only",
                Some(Access::ReadWrite) => "read_write",
            }
            .to_owned(),
            qualifiers: given.map(|(_, name)| *name).collect::<Vec<_>>().join(" "),
        }
    }

    /// `CL_KERNEL_ARG_ADDRESS_QUALIFIER`.
    pub fn address(&self) -> AddressQualifier {
        match self.address_space {
            1 => AddressQualifier::Global,
            2 => AddressQualifier::Constant,
            3 => AddressQualifier::Local,
            _ => AddressQualifier::Private,
        }
    }

    /// `CL_KERNEL_ARG_ACCESS_QUALIFIER`.
    pub fn access(&self) -> AccessQualifier {
        match self.access.as_str() {
            "read_only" => AccessQualifier::ReadOnly,
            "write_only" => AccessQualifier::WriteOnly,
            "read_write" => AccessQualifier::ReadWrite,
            _ => AccessQualifier::None,
        }
    }

    /// `CL_KERNEL_ARG_TYPE_QUALIFIER`.
    pub fn type_qualifiers(&self) -> TypeQualifiers {
        let has = |word| self.qualifiers.split(' ').any(|given| given == word);
        TypeQualifiers {
            is_const: has("const"),
            is_restrict: has("restrict"),
            is_volatile: has("volatile"),
            is_pipe: has("pipe"),
        }
    }
}

/// The kernels of a module in textual LLVM IR, in its order.
pub fn kernels(ir: &str) -> Vec<KernelReflection> {
    let nodes: HashMap<&str, Vec<Item<'_>>> = ir.lines().filter_map(node).collect();
    ir.lines()
        .filter(|line| line.starts_with("define ") && line.contains("spir_kernel "))
        .filter_map(|line| kernel(line, &nodes))
        .collect()
}

/// One operand of a metadata node.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Item<'a> {
    /// `!"text"`, unescaped.
    Text(String),
    /// Anything else, verbatim: `i32 8`, `<4 x float> poison`, `!7`.
    Other(&'a str),
}

impl Item<'_> {
    fn text(&self) -> String {
        match self {
            Item::Text(text) => text.clone(),
            Item::Other(_) => String::new(),
        }
    }

    /// The integer in `i32 8`.
    fn number(&self) -> Option<u32> {
        match self {
            Item::Text(_) => None,
            Item::Other(text) => text.split_once(' ')?.1.parse().ok(),
        }
    }
}

/// Parses `!5 = !{...}`: the number and the operands. Named and distinct nodes are ignored: they do not describe kernels.
fn node(line: &str) -> Option<(&str, Vec<Item<'_>>)> {
    let (name, body) = line.split_once(" = !{")?;
    let number = name.strip_prefix('!')?;
    number.parse::<u32>().ok()?;
    Some((number, items(body.strip_suffix('}')?)))
}

/// Splits a node's operands at commas outside strings and brackets.
fn items(mut body: &str) -> Vec<Item<'_>> {
    let mut items = Vec::new();
    loop {
        body = body.trim_start_matches([',', ' ']);
        if body.is_empty() {
            return items;
        }
        let end;
        if let Some(quoted) = body.strip_prefix("!\"") {
            // LLVM writes quotes inside a string as \22.
            let length = quoted.find('"').unwrap_or(quoted.len());
            items.push(Item::Text(unescape(&quoted[..length])));
            end = (2 + length + 1).min(body.len());
        } else {
            let mut depth = 0_i32;
            end = body
                .find(|c| {
                    match c {
                        '<' | '(' | '{' | '[' => depth += 1,
                        '>' | ')' | '}' | ']' => depth -= 1,
                        _ => {}
                    }
                    c == ',' && depth == 0
                })
                .unwrap_or(body.len());
            items.push(Item::Other(body[..end].trim_end()));
        }
        body = &body[end..];
    }
}

/// Decodes LLVM's `\XX` escapes.
fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first == b'\\' {
            if let [b'\\', tail @ ..] = rest {
                rest = tail;
            } else if let Some(code) = rest.get(..2).and_then(|hex| std::str::from_utf8(hex).ok())
                && let Ok(code) = u8::from_str_radix(code, 16)
            {
                bytes.push(code);
                rest = &rest[2..];
                continue;
            }
        }
        bytes.push(*first);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Parses one definition.
fn kernel(line: &str, nodes: &HashMap<&str, Vec<Item<'_>>>) -> Option<KernelReflection> {
    let symbol = line.split_once('@')?.1;
    let name = match symbol.strip_prefix('"') {
        Some(quoted) => unescape(quoted.split_once('"')?.0),
        None => symbol.split_once('(')?.0.to_owned(),
    };
    let attached = |kind: &str| {
        let (_, rest) = line.split_once(&format!(" !{kind} !"))?;
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        nodes.get(&rest[..end])
    };
    let column = |kind: &str| attached(kind).map(Vec::as_slice).unwrap_or_default();
    let names = column("kernel_arg_name");
    let spaces = column("kernel_arg_addr_space");
    let accesses = column("kernel_arg_access_qual");
    let types = column("kernel_arg_type");
    let qualifiers = column("kernel_arg_type_qual");
    let args = (0..types.len())
        .map(|i| {
            let address_space = spaces.get(i).and_then(Item::number).unwrap_or(0);
            let mut qualifiers = qualifiers.get(i).map(Item::text).unwrap_or_default();
            if address_space == 2 && !qualifiers.split(' ').any(|word| word == "const") {
                qualifiers = format!("const {qualifiers}").trim_end().to_owned();
            }
            ArgReflection {
                name: names.get(i).map(Item::text).unwrap_or_default(),
                // As declared, without blanks.
                type_name: types[i].text().replace(' ', ""),
                address_space,
                access: accesses.get(i).map(Item::text).unwrap_or_default(),
                qualifiers,
            }
        })
        .collect();

    let mut attributes = Vec::new();
    if let Some([hint, sign, ..]) = attached("vec_type_hint").map(Vec::as_slice) {
        attributes.extend(vec_type(hint, sign).map(|name| format!("vec_type_hint({name})")));
    }
    for (kind, name) in [
        ("work_group_size_hint", "work_group_size_hint"),
        ("reqd_work_group_size", "reqd_work_group_size"),
        ("intel_reqd_sub_group_size", "intel_reqd_sub_group_size"),
    ] {
        if let Some(numbers) = attached(kind) {
            let numbers: Vec<String> =
                numbers.iter().filter_map(Item::number).map(|number| number.to_string()).collect();
            attributes.push(format!("{name}({})", numbers.join(",")));
        }
    }
    Some(KernelReflection { name, args, attributes: attributes.join(" ") })
}

/// OpenCL's name for the type of a `vec_type_hint`: `<4 x float> poison` is `float4`. `sign` is `i32 1` for signed integers.
fn vec_type(hint: &Item<'_>, sign: &Item<'_>) -> Option<String> {
    let Item::Other(text) = hint else { return None };
    let unsigned = sign.number() == Some(0);
    let (lanes, elem) = match text.strip_prefix('<') {
        Some(vector) => {
            let (inside, _) = vector.split_once('>')?;
            let (lanes, elem) = inside.split_once(" x ")?;
            (lanes, elem)
        }
        None => ("", text.split_once(' ')?.0),
    };
    let name = match (elem, unsigned) {
        ("i8", false) => "char",
        ("i8", true) => "uchar",
        ("i16", false) => "short",
        ("i16", true) => "ushort",
        ("i32", false) => "int",
        ("i32", true) => "uint",
        ("i64", false) => "long",
        ("i64", true) => "ulong",
        (other, _) => other,
    };
    Some(format!("{name}{lanes}"))
}

#[cfg(test)]
mod tests {
    use super::{Item, items, kernels};
    use clift_jit::{AccessQualifier, AddressQualifier};

    const IR: &str = r#"
target triple = "spirv64"
define spir_kernel void @k(ptr addrspace(1) noalias noundef align 4 %x, i32 noundef %n) #0 !kernel_arg_addr_space !7 !kernel_arg_access_qual !8 !kernel_arg_type !9 !kernel_arg_base_type !10 !kernel_arg_type_qual !11 !kernel_arg_name !12 !vec_type_hint !13 !reqd_work_group_size !14 {
entry:
  ret void
}
define spir_func void @helper(i32 %x) #1 {
}
define spir_kernel void @"odd\22name"() #0 !kernel_arg_addr_space !15 !kernel_arg_type !15 {
}
!opencl.ocl.version = !{!1}
!7 = !{i32 1, i32 0, i32 2}
!8 = !{!"none", !"none", !"read_only"}
!9 = !{!"unsigned long*", !"struct a,b", !"image2d_t"}
!10 = !{!"ulong*", !"x", !"y"}
!11 = !{!"restrict const", !"", !""}
!12 = !{!"x", !"n", !"img"}
!13 = !{<4 x i8> poison, i32 0}
!14 = !{i32 8, i32 1, i32 1}
!15 = !{}
"#;

    #[test]
    fn kernels_are_read_with_their_arguments() {
        let found = kernels(IR);
        assert_eq!(found.len(), 2);
        let k = &found[0];
        assert_eq!(k.name, "k");
        assert_eq!(k.attributes, "vec_type_hint(uchar4) reqd_work_group_size(8,1,1)");
        assert_eq!(k.args.len(), 3);
        assert_eq!(k.args[0].name, "x");
        assert_eq!(k.args[0].type_name, "unsignedlong*");
        assert_eq!(k.args[0].address(), AddressQualifier::Global);
        let q = k.args[0].type_qualifiers();
        assert!(q.is_const && q.is_restrict && !q.is_volatile && !q.is_pipe);
        assert_eq!(k.args[1].address(), AddressQualifier::Private);
        assert_eq!(k.args[1].type_name, "structa,b");
        assert_eq!(k.args[2].access(), AccessQualifier::ReadOnly);
        assert!(k.args[2].type_qualifiers().is_const, "implied by __constant");
        assert_eq!(found[1].name, "odd\"name");
        assert!(found[1].args.is_empty() && found[1].attributes.is_empty());
    }

    #[test]
    fn operands_are_split_outside_strings_and_brackets() {
        assert_eq!(
            items(r#"<2 x i64> <i64 1, i64 2>, !"a, b", i32 -1, !3"#),
            [
                Item::Other("<2 x i64> <i64 1, i64 2>"),
                Item::Text("a, b".to_owned()),
                Item::Other("i32 -1"),
                Item::Other("!3")
            ]
        );
    }

    #[test]
    fn malformed_text_gives_no_kernels() {
        for text in ["", "define spir_kernel ", "define spir_kernel void @", "define spir_kernel void @\"x", "!1 = !{"]
        {
            assert!(kernels(text).is_empty(), "{text}");
        }
        // References that end early.
        for reference in ["", " ", " !", " \u{e9}", " x"] {
            assert_eq!(kernels(&format!("define spir_kernel void @k() !kernel_arg_type{reference}")).len(), 1);
        }
        // A reference to a missing node, and a node that ends early.
        assert_eq!(kernels("define spir_kernel void @k() !kernel_arg_type !9\n!8 = !{!\"x}").len(), 1);
    }
}
