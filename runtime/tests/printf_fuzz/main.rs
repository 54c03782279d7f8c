//! Fuzzes the formats of `printf`, made of what formats consist of, for a second. `CLIFT_FUZZ_MS` says how long instead; a
//! failure names the seed that `ARBTEST_SEED` repeats.
#![allow(missing_docs, reason = "a test")]

mod body;

const PIECES: &[&str] = &[
    "%",
    "%%",
    "d",
    "i",
    "u",
    "x",
    "X",
    "o",
    "c",
    "s",
    "p",
    "f",
    "e",
    "g",
    "a",
    "A",
    "n",
    "v2",
    "v3",
    "v4",
    "v8",
    "v16",
    "v5",
    "v",
    "hl",
    "l",
    "h",
    "hh",
    "ll",
    "0",
    "-",
    "+",
    " ",
    "#",
    ".",
    "*",
    "1",
    "9",
    "99",
    "65536",
    "4294967296",
    "99999999999999999999",
    ".0",
    ".10",
    "text",
    "\n",
    "\u{e9}",
];

#[test]
fn formats() {
    let budget = std::env::var("CLIFT_FUZZ_MS").ok().and_then(|ms| ms.parse().ok()).unwrap_or(1000);
    arbtest::arbtest(|u| {
        let mut pattern = Vec::new();
        for _ in 0..u.int_in_range(1..=12)? {
            pattern.extend_from_slice(u.choose(PIECES)?.as_bytes());
        }
        let shape: [u8; 8] = u.arbitrary()?;
        let data: [u8; 96] = u.arbitrary()?;
        // Most offsets are inside of the data.
        let shape =
            core::array::from_fn::<u8, 8, _>(|i| if i % 2 == 1 && shape[i] < 250 { shape[i] % 12 } else { shape[i] });
        body::print(&shape, &pattern, &data);
        Ok(())
    })
    .budget_ms(budget);
}
