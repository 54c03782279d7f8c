//! What happened when, in rows of pieces that a page can show.
//!
//! A queue's tracks, and each level of nesting on a thread, are rows. If there are more slices than a page should contain,
//! those that are shorter than a small part of the whole time are merged with their neighbours: such a piece says how many
//! slices it stands for.

use std::collections::HashMap;

use serde_json::Value;

use super::events::{Group, Slice, Trace};

/// How many pieces a page shows at most, about.
const MAX_PIECES: usize = 20_000;
/// How many arrows it shows at most.
const MAX_ARROWS: usize = 10_000;
/// How many values of a counter it shows at most.
const MAX_VALUES: usize = 2000;
/// How deep slices of a thread are nested at most. Deeper ones share the last row.
const MAX_DEPTH: usize = 6;
/// The times of stages have microseconds, so that they seem to end after what contains them.
const ROUNDING: f64 = 1.5;

/// The pieces of a trace.
#[derive(Debug, Default)]
pub struct Timeline {
    /// The rows, from top to bottom.
    pub rows: Vec<Row>,
    /// The texts that pieces refer to.
    pub texts: Vec<String>,
    /// Arrows: row and time of both ends.
    pub arrows: Vec<[f64; 4]>,
    /// Values of the allocated bytes, with their times.
    pub allocated: Vec<(f64, f64)>,
    /// The slices of the trace.
    pub slices: usize,
    /// Slices shorter than this, in microseconds, were merged with their neighbours; 0 if none were.
    pub merged_below: f64,
}

/// A row of a track.
#[derive(Debug)]
pub struct Row {
    /// The track's name, in its first row.
    pub name: Option<String>,
    /// Whether the track is a queue's.
    pub is_queue: bool,
    track: u64,
    /// What it shows, by time.
    pub pieces: Vec<Piece>,
}

/// A slice, or several that were merged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Piece {
    /// When it begins.
    pub start: f64,
    /// How long it takes.
    pub duration: f64,
    /// What it is: the number of a text.
    pub name: usize,
    /// Which kind of thing.
    pub group: Group,
    /// What else is known of it: the number of a text.
    pub detail: usize,
    /// How long a command waited for others, and for a thread.
    pub waits: [f64; 2],
    /// How many slices it stands for.
    pub count: usize,
}

/// Texts, each once.
#[derive(Default)]
struct Texts {
    numbers: HashMap<String, usize>,
    list: Vec<String>,
}

impl Texts {
    fn number(&mut self, text: &str) -> usize {
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        let number = self.list.len();
        self.numbers.insert(text.to_owned(), number);
        self.list.push(text.to_owned());
        number
    }
}

impl Timeline {
    /// The pieces of a trace.
    pub fn of(trace: &Trace) -> Timeline {
        Self::with_limit(trace, MAX_PIECES)
    }

    fn with_limit(trace: &Trace, limit: usize) -> Timeline {
        let rows = rows(trace);
        let mut texts = Texts::default();
        let (mut parts, mut merged_below) = (limit as f64, 0.0);
        let pieces: Vec<Vec<Merged<'_>>> = loop {
            let pieces: Vec<_> = rows.iter().map(|row| merge(&row.slices, merged_below)).collect();
            if pieces.iter().map(Vec::len).sum::<usize>() <= limit || parts < 16.0 {
                break pieces;
            }
            merged_below = trace.span / parts;
            parts /= 2.0;
        };
        let mut made = Vec::new();
        for (row, pieces) in rows.iter().zip(pieces) {
            let is_first = made.last().is_none_or(|above: &Row| above.track != row.track);
            let name = trace.tracks.get(&row.track).cloned().unwrap_or_else(|| format!("track {}", row.track));
            let pieces = pieces.into_iter().map(|merged| merged.piece(&mut texts)).collect();
            let is_queue = Trace::is_queue(row.track);
            made.push(Row { name: is_first.then_some(name), is_queue, track: row.track, pieces });
        }
        let arrows = arrows(trace, &made);
        let step = trace.allocated.len().div_ceil(MAX_VALUES).max(1);
        // The largest value of each few stands for them.
        let largest = |values: &[(f64, f64)]| values.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1));
        let allocated = trace.allocated.chunks(step).filter_map(largest).collect();
        Timeline { rows: made, texts: texts.list, arrows, allocated, slices: trace.slices.len(), merged_below }
    }
}

/// The slices of a row.
struct Rows<'a> {
    track: u64,
    slices: Vec<&'a Slice>,
}

/// The slices of each row: queues first, then threads.
fn rows(trace: &Trace) -> Vec<Rows<'_>> {
    let mut tracks: HashMap<u64, Vec<Vec<&Slice>>> = HashMap::new();
    let mut open: HashMap<u64, Vec<f64>> = HashMap::new();
    // They are in the order of their begins, outer ones first.
    for slice in &trace.slices {
        let ends = open.entry(slice.track).or_default();
        // What reaches beyond the end of another slice is not inside of it.
        while ends.last().is_some_and(|&end| slice.start >= end || slice.end() > end + ROUNDING) {
            ends.pop();
        }
        let depth = ends.len().min(MAX_DEPTH - 1);
        ends.push(slice.end());
        let rows = tracks.entry(slice.track).or_default();
        while rows.len() <= depth {
            rows.push(Vec::new());
        }
        rows[depth].push(slice);
    }
    let mut order: Vec<(u64, Vec<Vec<&Slice>>)> = tracks.into_iter().collect();
    order.sort_by_key(|(track, _)| (!Trace::is_queue(*track), *track));
    order.into_iter().flat_map(|(track, rows)| rows.into_iter().map(move |slices| Rows { track, slices })).collect()
}

/// Neighbouring slices that are one piece.
struct Merged<'a> {
    first: &'a Slice,
    end: f64,
    count: usize,
}

impl Merged<'_> {
    fn piece(&self, texts: &mut Texts) -> Piece {
        let Slice { name, group, start, .. } = self.first;
        let mut waits = [0.0; 2];
        let detail = if self.count > 1 {
            String::new()
        } else {
            if let [Some(queued), Some(submit), Some(start)] =
                ["queued_ns", "submit_ns", "start_ns"].map(|name| self.first.number(name))
            {
                waits = [(submit - queued).max(0.0) / 1000.0, (start - submit).max(0.0) / 1000.0];
            }
            detail(self.first)
        };
        let (name, detail) = (texts.number(name), texts.number(&detail));
        Piece { start: *start, duration: self.end - start, name, group: *group, detail, waits, count: self.count }
    }
}

/// Merges slices that are shorter than a time with neighbours that are as near.
fn merge<'a>(slices: &[&'a Slice], below: f64) -> Vec<Merged<'a>> {
    let mut merged: Vec<Merged<'a>> = Vec::new();
    for slice in slices {
        let short = slice.duration < below;
        match merged.last_mut() {
            Some(last)
                if short
                    && last.end - last.first.start < below
                    && slice.start - last.end < below
                    && last.first.group == slice.group =>
            {
                last.end = last.end.max(slice.end());
                last.count += 1;
            }
            _ => merged.push(Merged { first: slice, end: slice.end(), count: 1 }),
        }
    }
    merged
}

/// The arguments of a slice that say more than its time. What work-items do is in the table of kernels.
fn detail(slice: &Slice) -> String {
    const OTHERS: [&str; 8] =
        ["queued_ns", "submit_ns", "start_ns", "end_ns", "float_operations", "int_operations", "bytes", "is_bound"];
    let said = |name: &str| match name {
        "items" => "work-items".to_owned(),
        "groups" => "work-groups".to_owned(),
        name => name.replace('_', " "),
    };
    let shown = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let args = slice.args.iter().filter(|(name, value)| !OTHERS.contains(&name.as_str()) && **value != "CL_SUCCESS");
    let args = args.filter(|(name, value)| *name != "status" || value.as_i64() != Some(0));
    args.map(|(name, value)| format!("{}: {}", said(name), shown(value))).collect::<Vec<_>>().join("\n")
}

/// Arrows between rows, if there are not too many.
fn arrows(trace: &Trace, rows: &[Row]) -> Vec<[f64; 4]> {
    if trace.arrows.len() > MAX_ARROWS {
        return Vec::new();
    }
    let mut first: HashMap<u64, usize> = HashMap::new();
    for (number, row) in rows.iter().enumerate() {
        first.entry(row.track).or_insert(number);
    }
    let place = |(track, time): (u64, f64)| Some((*first.get(&track)? as f64, time));
    let ends = trace.arrows.iter().filter_map(|arrow| Some((place(arrow.from)?, place(arrow.to)?)));
    ends.map(|(from, to)| [from.0, from.1, to.0, to.1]).collect()
}

#[cfg(test)]
mod tests {
    use super::super::events::tests::SMALL;
    use super::*;

    #[test]
    fn queues_are_above_threads_and_nested_slices_have_rows_of_their_own() {
        let timeline = Timeline::of(&Trace::read(SMALL.as_bytes()).expect("a trace"));
        let names: Vec<_> = timeline.rows.iter().map(|row| row.name.as_deref()).collect();
        assert_eq!(names, [Some("queue 1"), Some("main"), None, Some("track 71")]);
        let texts: Vec<&str> = timeline.rows[1].pieces.iter().map(|piece| &*timeline.texts[piece.name]).collect();
        assert_eq!(texts, ["clBuildProgram", "clEnqueueNDRangeKernel"]);
        assert_eq!(timeline.texts[timeline.rows[2].pieces[0].name], "front end");
        assert_eq!(timeline.rows[0].pieces[0].waits, [2.0, 4.0]);
        assert_eq!(timeline.arrows, [[1.0, 112.0, 0.0, 118.0]]);
        assert_eq!(timeline.merged_below, 0.0);
    }

    #[test]
    fn many_short_slices_become_few_pieces_of_the_same_time() {
        let mut text = String::from("[\n");
        for number in 0..100_000 {
            let (tid, start) = (70 + number % 4, f64::from(number) * 3.0);
            text += &format!(
                "{{\"ph\":\"X\",\"cat\":\"api\",\"name\":\"f{}\",\"tid\":{tid},\"ts\":{start:.1},\"dur\":2.0,\"args\":{{}}}},\n",
                number % 10
            );
        }
        // One that must stay visible.
        text += "{\"ph\":\"X\",\"cat\":\"api\",\"name\":\"long\",\"tid\":70,\"ts\":310000.0,\"dur\":9000.0,\"args\":{}}\n]\n";
        let timeline = Timeline::of(&Trace::read(text.as_bytes()).expect("a trace"));
        let pieces: Vec<&Piece> = timeline.rows.iter().flat_map(|row| &row.pieces).collect();
        assert!(pieces.len() <= MAX_PIECES && pieces.len() > MAX_PIECES / 16, "{}", pieces.len());
        assert_eq!(pieces.iter().map(|piece| piece.count).sum::<usize>(), 100_001);
        assert!(timeline.merged_below > 0.0);
        assert!(pieces.iter().any(|piece| timeline.texts[piece.name] == "long" && piece.count == 1));
    }
}
