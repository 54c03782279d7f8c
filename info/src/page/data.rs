//! The pieces of the time line as JSON, for the script.

use serde_json::{Value, json};

use super::colour;
use crate::trace::events::{Group, Trace};
use crate::trace::summary::Summary;
use crate::trace::timeline::{Piece, Timeline};

/// Numbers of a piece in the list of its row.
const NUMBERS: usize = 8;

/// The data of the script. No text in it can end the element that it is in.
pub(super) fn json(trace: &Trace, timeline: &Timeline, summary: &Summary) -> String {
    let rows: Vec<Value> = timeline
        .rows
        .iter()
        .map(|row| {
            let numbers: Vec<f64> = row.pieces.iter().flat_map(numbers).collect();
            json!({ "name": row.name, "queue": row.is_queue, "pieces": numbers.iter().map(short).collect::<Vec<_>>() })
        })
        .collect();
    let colours: Vec<usize> = timeline.texts.iter().map(|text| colour(summary, text)).collect();
    let flat =
        |values: &[(f64, f64)]| values.iter().flat_map(|(time, value)| [short(time), short(value)]).collect::<Vec<_>>();
    let arrows: Vec<Value> = timeline.arrows.iter().flatten().map(short).collect();
    let data = json!({
        "span": trace.span, "texts": timeline.texts, "colours": colours, "rows": rows,
        "arrows": arrows, "allocated": flat(&timeline.allocated), "numbers": NUMBERS,
    });
    data.to_string().replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

fn numbers(piece: &Piece) -> [f64; NUMBERS] {
    let Piece { start, duration, name, group, detail, waits, count } = piece;
    let group = match group {
        Group::Call => 0.0,
        Group::Build => 1.0,
        Group::Command => 2.0,
        Group::WorkGroups => 3.0,
    };
    [*start, *duration, *name as f64, group, *detail as f64, waits[0], waits[1], *count as f64]
}

/// A number with nanoseconds, as short as possible.
fn short(number: &f64) -> Value {
    let rounded = (number * 1000.0).round() / 1000.0;
    if rounded.fract() == 0.0 && rounded.abs() < 9e15 { json!(rounded as i64) } else { json!(rounded) }
}
