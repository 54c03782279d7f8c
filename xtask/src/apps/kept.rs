//! What the page says already: figures of runs on other machines, whose results are not here.

use super::drivers::Driver;

/// Marks figures of earlier runs.
pub(crate) const MARK: &str = " †";
/// Cells of a row before those of the drivers: program, version, what is run.
const FIRST: usize = 3;

/// A page as it was written.
pub(crate) struct Page {
    rows: Vec<Vec<String>>,
    explained: Vec<Explained>,
    unexplained: Vec<(String, Driver, String)>,
}

/// Failures of a program for one cause.
pub(crate) struct Explained {
    title: String,
    /// The cause.
    pub(crate) cause: String,
    counts: Vec<(Driver, usize)>,
}

impl Page {
    /// Reads a page; lines of other forms are passed over.
    pub(crate) fn read(text: &str) -> Self {
        let mut page = Self { rows: Vec::new(), explained: Vec::new(), unexplained: Vec::new() };
        for line in text.lines() {
            if let Some(row) = line.strip_prefix("| ").and_then(|line| line.strip_suffix(" |")) {
                let row: Vec<_> = row.split(" | ").map(|cell| cell.trim().to_owned()).collect();
                if row.len() == FIRST + 2 * Driver::ALL.len() {
                    page.rows.push(row);
                }
            } else if let Some((title, rest)) = line.strip_prefix("- **").and_then(|line| line.split_once("**")) {
                if let Some((counts, cause)) = rest.strip_prefix(" (").and_then(|rest| rest.split_once("): ")) {
                    let counts = counts.split(", ").filter_map(count).collect();
                    page.explained.push(Explained { title: title.to_owned(), cause: cause.to_owned(), counts });
                } else if let Some((driver, names)) = rest.strip_prefix(" on ").and_then(|rest| rest.split_once(": "))
                    && let Some(driver) = titled(driver)
                {
                    page.unexplained.push((title.to_owned(), driver, names.to_owned()));
                }
            }
        }
        page
    }

    fn row(&self, title: &str) -> Option<&[String]> {
        self.rows.iter().find(|row| row[0] == title).map(Vec::as_slice)
    }

    /// The version of a program.
    pub(crate) fn version(&self, title: &str) -> Option<&str> {
        self.row(title).map(|row| row[1].as_str())
    }

    /// What a run gave and its seconds, if the page has any.
    pub(crate) fn figures(&self, title: &str, driver: Driver) -> Option<(&str, &str)> {
        let row = self.row(title)?;
        let at = FIRST + driver as usize;
        let figures = (row[at].as_str(), row[at + Driver::ALL.len()].trim_end_matches(MARK));
        (figures.0 != "not run").then_some(figures)
    }

    /// The explained failures of a program.
    pub(crate) fn explained(&self, title: &str) -> impl Iterator<Item = &Explained> {
        self.explained.iter().filter(move |known| known.title == title)
    }

    /// The unexplained failures of a program.
    pub(crate) fn unexplained(&self, title: &str, driver: Driver) -> Option<&str> {
        let found = self.unexplained.iter().find(|(of, on, _)| of == title && *on == driver);
        found.map(|(_, _, names)| names.as_str())
    }
}

impl Explained {
    /// How many there were on a driver.
    pub(crate) fn on(&self, driver: Driver) -> usize {
        self.counts.iter().filter(|(on, _)| *on == driver).map(|(_, count)| count).sum()
    }
}

fn titled(title: &str) -> Option<Driver> {
    Driver::ALL.into_iter().find(|driver| driver.title() == title)
}

fn count(text: &str) -> Option<(Driver, usize)> {
    let (driver, count) = text.rsplit_once(' ')?;
    Some((titled(driver)?, count.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_page_says_is_read() {
        let page = Page::read(
            "# Applications\n\n| program | version | what | Clift | PoCL | Intel | seconds: Clift | PoCL | Intel |\n\
             |---|---|---|---|---|---|---|---|---|\n\
             | A (B) | 1.2 | w: x, y | 3 passed, 1 explained | not run | 4 passed | 0.4 / 0.6 † | - | 0.8 |\n\n\
             - **A (B)** (Clift 1, Intel 2): a cause: of (two): parts\n- **A (B)** on PoCL: `a`, `b: c`\n",
        );
        assert_eq!(page.version("A (B)"), Some("1.2"));
        assert_eq!(page.figures("A (B)", Driver::Clift), Some(("3 passed, 1 explained", "0.4 / 0.6")));
        assert_eq!(page.figures("A (B)", Driver::Pocl), None);
        assert_eq!(page.figures("A (B)", Driver::Intel), Some(("4 passed", "0.8")));
        assert_eq!(page.figures("A", Driver::Intel), None);
        let known: Vec<_> = page.explained("A (B)").collect();
        assert_eq!(known[0].cause, "a cause: of (two): parts");
        assert_eq!(Driver::ALL.map(|driver| known[0].on(driver)), [1, 0, 2]);
        assert_eq!(page.unexplained("A (B)", Driver::Pocl), Some("`a`, `b: c`"));
        assert_eq!(page.unexplained("A (B)", Driver::Clift), None);
    }
}
