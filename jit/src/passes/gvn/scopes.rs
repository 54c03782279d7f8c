//! Facts that hold in subtrees of the dominator tree, such as that a value has been computed, found in logarithmic time: a fact
//! may hold in thousands of disjoint subtrees, such as the cold blocks of checks.

use std::collections::BTreeMap;

/// A block's interval in the preorder of the dominator tree: its own number, and the first one behind all that it dominates.
type Span = (u32, u32);

/// Facts of one kind, in disjoint subtrees.
#[derive(Debug)]
pub(in crate::passes) struct Scopes<T> {
    /// The first one; mostly the only one.
    first: Option<(Span, T)>,
    /// The others, by the numbers of the blocks at which their subtrees begin.
    others: BTreeMap<u32, (u32, T)>,
}

impl<T> Default for Scopes<T> {
    fn default() -> Scopes<T> {
        Scopes { first: None, others: BTreeMap::new() }
    }
}

impl<T> Scopes<T> {
    /// The fact that holds in a block.
    pub(in crate::passes) fn at(&self, (number, _): Span) -> Option<&T> {
        if let Some(((start, end), fact)) = &self.first
            && (*start..*end).contains(&number)
        {
            return Some(fact);
        }
        let (_, (end, fact)) = self.others.range(..=number).next_back()?;
        (number < *end).then_some(fact)
    }

    /// A fact holds in a block and those that it dominates, unless one does already. Blocks have to come after their dominators.
    pub(in crate::passes) fn insert(&mut self, span: Span, fact: T) {
        if self.at(span).is_some() {
            return;
        }
        if self.first.is_none() {
            self.first = Some((span, fact));
        } else {
            self.others.insert(span.0, (span.1, fact));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Scopes;

    #[test]
    fn facts_hold_in_their_subtrees() {
        let mut scopes = Scopes::default();
        scopes.insert((10, 20), 'a');
        scopes.insert((30, 40), 'b');
        scopes.insert((2, 5), 'c');
        // One holds there already.
        scopes.insert((12, 15), 'd');
        let found: String = (0..45).map(|number| scopes.at((number, number + 1)).copied().unwrap_or('.')).collect();
        assert_eq!(found, "..ccc.....aaaaaaaaaa..........bbbbbbbbbb.....");
    }
}
