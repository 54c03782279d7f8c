//! Tests of raw tokens: any bytes give tokens with places in order.

use super::*;
use crate::diagnostics::WarningOptions;

#[test]
fn any_bytes_are_tokens_in_order() {
    let mut state = 1_u32;
    for _ in 0..2000 {
        let bytes: Vec<u8> = (0..24)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                const LIKELY: &[u8] = b"\\\n\r?/=*'\"#%:<>L0.e+u\xc3\xa9\xff ";
                let pick = (state >> 16) as usize;
                if pick.is_multiple_of(8) { (state >> 8) as u8 } else { LIKELY[pick % LIKELY.len()] }
            })
            .collect();
        let length = bytes.len();
        let mut lexer = Lexer::new(FileId(0), Arc::from(bytes), 1);
        let mut names = Interner::default();
        let mut diagnostics = Diagnostics::new(WarningOptions::default());
        let mut sink = Sink { names: &mut names, diagnostics: &mut diagnostics };
        let mut end = 1;
        loop {
            let token = lexer.next(&mut sink).token;
            assert!(token.span.lo >= end && token.span.hi >= token.span.lo && token.span.hi as usize <= length + 1);
            if token.kind == TokenKind::End {
                break;
            }
            assert!(token.span.hi > token.span.lo);
            end = token.span.hi;
        }
    }
}
