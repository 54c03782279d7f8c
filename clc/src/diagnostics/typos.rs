//! Names that may have been meant.

/// The name most similar to one that is unknown, if one is similar enough: at most a third of the letters differ.
pub(crate) fn similar<'a, T>(wanted: &str, names: impl Iterator<Item = (&'a str, T)>) -> Option<T> {
    let limit = wanted.len() / 3;
    let mut best: Option<(usize, T)> = None;
    for (name, value) in names {
        let nearest = best.as_ref().map_or(limit + 1, |(distance, _)| *distance);
        if name.len().abs_diff(wanted.len()) >= nearest {
            continue;
        }
        let distance = edits(wanted.as_bytes(), name.as_bytes());
        if distance > 0 && distance < nearest {
            best = Some((distance, value));
        }
    }
    best.map(|(_, value)| value)
}

/// The number of letters to insert, remove, replace or exchange with the next.
fn edits(a: &[u8], b: &[u8]) -> usize {
    if a.len() > 64 || b.len() > 64 {
        return usize::MAX;
    }
    let mut before: Vec<usize> = vec![0; b.len() + 1];
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut next = Vec::with_capacity(b.len() + 1);
        next.push(i + 1);
        for (j, y) in b.iter().enumerate() {
            let mut cost = (row[j] + usize::from(x != y)).min(row[j + 1] + 1).min(next[j] + 1);
            if i > 0 && j > 0 && a[i - 1] == *y && b[j - 1] == *x {
                cost = cost.min(before[j - 1] + 1);
            }
            next.push(cost);
        }
        before = std::mem::replace(&mut row, next);
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_within_a_third_is_found() {
        let names = ["width", "height", "weight"];
        let find = |wanted: &str| similar(wanted, names.iter().map(|name| (*name, *name)));
        assert_eq!(find("widht"), Some("width"));
        assert_eq!(find("heigth"), Some("height"));
        assert_eq!(find("depth"), None);
        assert_eq!(find("width"), None);
        assert_eq!(find("x"), None);
    }
}
