use super::*;

#[test]
fn pieces_make_up_the_input() {
    for input in [&b""[..], b"a", b"data: 1\n\ndata: 2\n\n"] {
        for pieces in cuts(input) {
            assert_eq!(pieces.concat(), input);
        }
    }
}
