use super::*;

#[test]
fn digits_are_made_together_as_one_by_one() {
    for number in [0, 9, 10, 0x0123_4567, 0x89ab_cdef, 0xf0e1_d2c3, u32::MAX] {
        let digits = hexadecimal(number);
        assert_eq!(str::from_utf8(&digits), Ok(&*format!("{number:08x}")));
    }
}
