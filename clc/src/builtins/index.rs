//! The rows of the table by name: a hash table that the compiler of this crate fills.

use super::Lowering;
use super::table::{Group, TABLES};

/// Places, a power of two: well above the number of rows.
const PLACES: usize = 4096;

/// A row: table, group, function; `0xff` for an empty place.
#[derive(Clone, Copy)]
struct Row {
    table: u8,
    group: u8,
    function: u8,
}

const EMPTY: Row = Row { table: u8::MAX, group: 0, function: 0 };

static INDEX: [Row; PLACES] = build();

/// FNV-1a.
const fn hash(name: &[u8]) -> usize {
    let mut hash: u32 = 0x811c_9dc5;
    let mut at = 0;
    while at < name.len() {
        hash = (hash ^ name[at] as u32).wrapping_mul(0x0100_0193);
        at += 1;
    }
    (hash ^ (hash >> 16)) as usize % PLACES
}

/// Rows of one name lie in the order of the table, perhaps with others in between.
const fn build() -> [Row; PLACES] {
    let mut index = [EMPTY; PLACES];
    let mut table = 0;
    while table < TABLES.len() {
        let mut group = 0;
        while group < TABLES[table].len() {
            let functions = TABLES[table][group].functions;
            let mut function = 0;
            while function < functions.len() {
                let mut place = hash(functions[function].0.as_bytes());
                while index[place].table != EMPTY.table {
                    place = (place + 1) % PLACES;
                }
                assert!(table < 255 && group < 256 && function < 256, "numbers of rows are bytes");
                index[place] = Row { table: table as u8, group: group as u8, function: function as u8 };
                function += 1;
            }
            group += 1;
        }
        table += 1;
    }
    index
}

/// The rows of a name.
pub(super) fn rows(name: &str) -> impl Iterator<Item = (&'static Group, Lowering)> + '_ {
    let start = hash(name.as_bytes());
    let places = (0..PLACES).map(move |step| (start + step) % PLACES);
    let found = places.map_while(|place| {
        let row = INDEX.get(place)?;
        let group = TABLES.get(usize::from(row.table))?.get(usize::from(row.group))?;
        let (name, lowering) = group.functions.get(usize::from(row.function))?;
        Some((*name, group, *lowering))
    });
    found.filter(move |(named, ..)| *named == name).map(|(_, group, lowering)| (group, lowering))
}
