use super::*;

#[test]
fn a_word_of_the_text_is_never_missed() {
    let text = "the quick brown fox, über alle Berge";
    let mut trigrams = Trigrams::for_texts_of(text.len() as u64);
    trigrams.add(text);
    for (start, _) in text.char_indices() {
        for (end, _) in text.char_indices().filter(|(end, _)| *end >= start) {
            assert!(trigrams.may_have(&text[start..end]));
        }
    }
}

#[test]
fn most_other_words_are_told_from_those_of_the_text() {
    let words: Vec<_> = (0..2_000).map(|n| format!("word{}", n * 7919)).collect();
    let text = words.join(" ");
    let mut trigrams = Trigrams::for_texts_of(text.len() as u64);
    trigrams.add(&text);
    assert!(words.iter().all(|word| trigrams.may_have(word)));
    let other = (0..1_000).filter(|n| trigrams.may_have(&format!("other{n}")));
    assert_eq!(other.count(), 0);
    assert!(Trigrams::for_texts_of(u64::MAX).0.len() * 8 <= MOST);
}
