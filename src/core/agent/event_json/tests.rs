use super::*;
use crate::conversation::{Metadata, Role};

/// All members of a message and of the counts change in turn, and every event is what serde writes.
#[test]
fn every_event_is_what_serde_writes() {
    let mut writer = EventWriter::default();
    let mut message = Message::new(Role::Assistant, vec![Content::text("a")]);
    let mut token_state = TokenState::default();
    let changes: [fn(&mut Message, &mut TokenState); 11] = [
        |_, _| {},
        |message, _| message.content = vec![Content::text("\"text\":\"\" \\ \n é 🪿")],
        |message, _| message.id = Some(r#"","text":"","#.to_owned()),
        |message, _| message.content = vec![Content::text("")],
        |message, _| message.role = Role::User,
        |message, _| message.created += 1,
        |message, _| message.metadata = Metadata::USER_ONLY,
        |_, tokens| tokens.accumulated_output_tokens = i64::MAX,
        |message, _| message.id = None,
        |message, _| message.content.push(Content::text("b")),
        |message, _| {
            message.content = vec![Content::Text(Text {
                text: "c".to_owned(),
                meta: Some(serde_json::value::to_raw_value(&[1]).unwrap()),
                annotations: None,
            })];
        },
    ];
    for change in changes {
        change(&mut message, &mut token_state);
        for _ in 0..2 {
            let event = Event::Message {
                message: &message,
                token_state,
            };
            let mut written = Vec::new();
            writer.write(&event, &mut written).unwrap();
            let expected = serde_json::to_string(&event).unwrap();
            assert_eq!(String::from_utf8(written).unwrap(), expected);
            let finish = Event::Finish {
                reason: "stop",
                token_state,
            };
            let mut written = Vec::new();
            writer.write(&finish, &mut written).unwrap();
            assert_eq!(written, serde_json::to_vec(&finish).unwrap());
        }
    }
}
