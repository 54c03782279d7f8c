//! Copies between global and local memory by a whole work-group. The work-items copy cooperatively and synchronously, so waiting
//! for the event requires only a barrier.

use std::fmt::Write;

use super::{INTEGERS, LANES};

/// The two directions: destination, source.
const DIRECTIONS: [(&str, &str); 2] = [("local", "global"), ("global", "local")];

/// The first element of a work-item, and its stride.
const SHARE: &str = "size_t items = get_local_size(0) * get_local_size(1) * get_local_size(2); \
                     size_t first = (get_local_id(2) * get_local_size(1) + get_local_id(1)) * get_local_size(0) + get_local_id(0);";

/// `async_work_group_copy`, or `async_work_group_strided_copy`, whose stride applies to global memory.
pub(super) fn lines(strided: bool) -> String {
    let mut text = String::new();
    let (name, stride) =
        if strided { ("async_work_group_strided_copy", " size_t stride,") } else { ("async_work_group_copy", "") };
    let elements = INTEGERS.iter().map(|(name, ..)| *name).chain(["half", "float", "double"]);
    for (element, lanes) in elements.flat_map(|element| LANES.map(|lanes| (element, lanes))) {
        let ty = format!("{element}{lanes}");
        for (to, from) in DIRECTIONS {
            let step = |space| if strided && space == "global" { " * stride" } else { "" };
            let _ = writeln!(
                text,
                "event_t INLINE {name}(__{to} {ty} *to, const __{from} {ty} *from, size_t count,{stride} event_t event) {{ \
                 {SHARE} for (size_t i = first; i < count; i += items) to[i{}] = from[i{}]; return event; }}",
                step(to),
                step(from)
            );
        }
    }
    text
}

/// The functions of `cl_khr_extended_async_copies`.
pub(super) fn block_functions() -> Vec<String> {
    let names = ["async_work_group_copy_2D2D", "async_work_group_copy_3D3D", "async_work_group_copy_fence"];
    names.map(str::to_owned).into()
}

const FENCE: &str = "void IMPORTED async_work_group_copy_fence(cl_mem_fence_flags flags)";

/// Their declarations.
pub(super) fn block_declarations() -> String {
    let copies = [2, 3].iter().flat_map(|dimensions| DIRECTIONS.map(|(to, from)| head(*dimensions, to, from)));
    copies.chain([FENCE.to_owned()]).map(|head| head + ";\n").collect()
}

/// Their definitions. The work-items divide the elements of each line. An element may have any size, and it need not be aligned
/// to its size. A fence waits for all work-items, because each copies a part.
pub(super) fn blocks() -> String {
    let mut text = format!("{FENCE} {{ barrier(flags); }}\n");
    for (dimensions, (to, from)) in [2, 3].iter().flat_map(|count| DIRECTIONS.map(|direction| (*count, direction))) {
        let whole = if dimensions == 2 { "const size_t planes = 1, from_area = 0, to_area = 0; " } else { "" };
        let number = |size: u32, ty: &str| {
            format!(
                "case {size}: for (size_t i = first; i < elements; i += items) {{ \
                 typedef {ty} __attribute__((aligned(1))) number; \
                 ((__{to} number *)into)[i] = ((const __{from} number *)of)[i]; }} break; "
            )
        };
        let numbers =
            [(1, "uchar"), (2, "ushort"), (4, "uint"), (8, "ulong")].map(|(size, ty)| number(size, ty)).concat();
        let _ = writeln!(
            text,
            "{} {{ {whole}{SHARE} \
             for (size_t plane = 0; plane < planes; plane++) for (size_t line = 0; line < lines; line++) {{ \
             __{to} uchar *into = (__{to} uchar *)to + (to_offset + plane * to_area + line * to_length) * bytes; \
             const __{from} uchar *of = (const __{from} uchar *)from + (from_offset + plane * from_area + line * from_length) * bytes; \
             switch (bytes) {{ {numbers}\
             default: for (size_t i = first; i < elements * bytes; i += items) into[i] = of[i]; }} }} \
             return event; }}",
            head(dimensions, to, from)
        );
    }
    text.replace("IMPORTED", "INLINE")
}

/// The beginning of a function's declaration.
fn head(dimensions: u32, to: &str, from: &str) -> String {
    let (planes, [from_area, to_area]) = match dimensions {
        2 => ("", ["", ""]),
        _ => (" size_t planes,", [" size_t from_area,", " size_t to_area,"]),
    };
    format!(
        "event_t IMPORTED async_work_group_copy_{dimensions}D{dimensions}D(\
         __{to} void *to, size_t to_offset, const __{from} void *from, size_t from_offset, size_t bytes, size_t elements, \
         size_t lines,{planes} size_t from_length,{from_area} size_t to_length,{to_area} event_t event)"
    )
}
