use super::*;

#[test]
fn news_stays_news_in_a_file() {
    let news = Message::news("It is Friday.".to_owned());
    let json = serde_json::to_string(&news).unwrap();
    let read: Message = crate::json::from_str(&json).unwrap();
    assert_eq!(read.as_news(), Some("It is Friday."));
    let other = Message::text(Role::User, "It is Friday.");
    assert_eq!(other.as_news(), None);
}
