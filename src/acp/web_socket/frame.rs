//! The frames of WebSocket messages, without I/O (RFC 6455 §5).

use std::str;

/// The largest payload of a control frame, in bytes (RFC 6455 §5.5).
const MAX_CONTROL_PAYLOAD: usize = 125;

/// What a frame contains (RFC 6455 §5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opcode {
    Continuation = 0,
    Text = 1,
    Binary = 2,
    Close = 8,
    Ping = 9,
    Pong = 10,
}

impl Opcode {
    fn of(byte: u8) -> Option<Opcode> {
        Some(match byte & 0x0f {
            0 => Opcode::Continuation,
            1 => Opcode::Text,
            2 => Opcode::Binary,
            8 => Opcode::Close,
            9 => Opcode::Ping,
            10 => Opcode::Pong,
            _ => return None,
        })
    }

    fn is_control(self) -> bool {
        self as u8 >= Opcode::Close as u8
    }
}

/// A whole message, or a control frame.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Received {
    /// A text message, which is UTF-8.
    Text(Vec<u8>),
    Binary(Vec<u8>),
    /// With its payload, which the answer repeats.
    Ping(Vec<u8>),
    Pong,
    /// With the status code, if there is one.
    Close(Option<u16>),
}

/// What the peer has violated: the status code of the close frame that says so, and a sentence for it (RFC 6455
/// §7.4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Violation {
    pub(super) code: u16,
    pub(super) reason: &'static str,
}

fn broken(reason: &'static str) -> Violation {
    let code = super::PROTOCOL_ERROR;
    Violation { code, reason }
}

const NOT_UTF8: Violation = Violation {
    code: 1007,
    reason: "A text is not UTF-8",
};

/// Decodes the frames of a client as they arrive, and joins the fragments of a message.
#[derive(Debug)]
pub(super) struct Decoder {
    max_message: usize,
    /// The frame whose payload is arriving.
    frame: Option<Frame>,
    /// The kind of the message that has begun, if one has.
    kind: Option<Opcode>,
    message: Vec<u8>,
    /// The length of the beginning of `message` that was found to be UTF-8.
    valid: usize,
    /// The payload of the control frame, which may come between the fragments of a message.
    control: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    opcode: Opcode,
    is_final: bool,
    mask: [u8; 4],
    /// The bytes of the payload that have arrived, and those that have not.
    arrived: usize,
    missing: usize,
}

impl Decoder {
    /// A decoder of messages of at most `max_message` bytes.
    pub(super) fn new(max_message: usize) -> Self {
        Decoder {
            max_message,
            frame: None,
            kind: None,
            message: Vec::new(),
            valid: 0,
            control: Vec::new(),
        }
    }

    /// Whether a message or a frame has begun and is not complete.
    pub(super) fn is_within_message(&self) -> bool {
        self.kind.is_some() || self.frame.is_some()
    }

    /// Decodes the beginning of `input` up to the end of a message or control frame. Returns how many bytes it
    /// has taken, and what is complete. If nothing is, `input` has at most an incomplete head left.
    pub(super) fn decode(&mut self, input: &[u8]) -> Result<(usize, Option<Received>), Violation> {
        let mut taken = 0;
        loop {
            let mut frame = match self.frame.take() {
                Some(frame) => frame,
                None => match self.head(&input[taken..])? {
                    Some((length, frame)) => {
                        taken += length;
                        frame
                    }
                    None => return Ok((taken, None)),
                },
            };
            let count = frame.missing.min(input.len() - taken);
            self.payload(&mut frame, &input[taken..taken + count])?;
            taken += count;
            if frame.missing > 0 {
                self.frame = Some(frame);
                return Ok((taken, None));
            }
            if let Some(received) = self.end(frame)? {
                return Ok((taken, Some(received)));
            }
        }
    }

    /// Parses the head of a frame, and checks whether such a frame may come now; `None` if it is incomplete.
    fn head(&mut self, input: &[u8]) -> Result<Option<(usize, Frame)>, Violation> {
        let [first, second, rest @ ..] = input else {
            return Ok(None);
        };
        let Some(opcode) = Opcode::of(*first) else {
            return Err(broken("A frame has a reserved opcode"));
        };
        if first & 0x70 != 0 {
            return Err(broken("A frame has a reserved bit"));
        }
        if second & 0x80 == 0 {
            return Err(broken("A frame is not masked"));
        }
        let is_final = first & 0x80 != 0;
        let (size, short) = match second & 0x7f {
            126 => (2, 126),
            127 => (8, 1 << 16),
            length => {
                self.check(opcode, is_final, u64::from(length))?;
                (0, u64::from(length))
            }
        };
        let Some((length, rest)) = rest.split_at_checked(size) else {
            return Ok(None);
        };
        let number = |sum, byte: &u8| sum << 8 | u64::from(*byte);
        let length = match size {
            0 => short,
            _ => length.iter().fold(0, number),
        };
        if length < short {
            return Err(broken(
                "The length of a frame takes more bytes than it needs",
            ));
        }
        self.check(opcode, is_final, length)?;
        let Some(mask) = rest.first_chunk() else {
            return Ok(None);
        };
        if !opcode.is_control() && opcode != Opcode::Continuation {
            self.kind = Some(opcode);
        }
        let frame = Frame {
            opcode,
            is_final,
            mask: *mask,
            arrived: 0,
            // It is at most `max_message`.
            missing: length as usize,
        };
        Ok(Some((2 + size + mask.len(), frame)))
    }

    fn check(&self, opcode: Opcode, is_final: bool, length: u64) -> Result<(), Violation> {
        if opcode.is_control() {
            return match () {
                () if !is_final => Err(broken("A control frame is fragmented")),
                () if length > MAX_CONTROL_PAYLOAD as u64 => {
                    Err(broken("A control frame has more than 125 bytes"))
                }
                () => Ok(()),
            };
        }
        match (opcode, self.kind) {
            (Opcode::Continuation, None) => return Err(broken("There is no message to continue")),
            (Opcode::Text | Opcode::Binary, Some(_)) => {
                return Err(broken("A message begins within another one"));
            }
            _ => {}
        }
        if length > (self.max_message - self.message.len()) as u64 {
            return Err(Violation {
                code: 1009,
                reason: "A message is too long",
            });
        }
        Ok(())
    }

    /// Appends a part of the payload.
    fn payload(&mut self, frame: &mut Frame, masked: &[u8]) -> Result<(), Violation> {
        let to = if frame.opcode.is_control() {
            &mut self.control
        } else {
            &mut self.message
        };
        let mask = frame.mask.iter().cycle().skip(frame.arrived % 4);
        to.extend(masked.iter().zip(mask).map(|(byte, mask)| byte ^ mask));
        frame.arrived += masked.len();
        frame.missing -= masked.len();
        if !frame.opcode.is_control() && self.kind == Some(Opcode::Text) {
            self.check_text(frame.is_final && frame.missing == 0)?;
        }
        Ok(())
    }

    /// Checks what has arrived of a text. A character may be incomplete, except at the end.
    fn check_text(&mut self, is_end: bool) -> Result<(), Violation> {
        match str::from_utf8(&self.message[self.valid..]) {
            Ok(text) => self.valid += text.len(),
            Err(error) if error.error_len().is_none() && !is_end => {
                self.valid += error.valid_up_to();
            }
            Err(_) => return Err(NOT_UTF8),
        }
        Ok(())
    }

    /// What is complete with the end of this frame.
    fn end(&mut self, frame: Frame) -> Result<Option<Received>, Violation> {
        if frame.opcode.is_control() {
            let payload = std::mem::take(&mut self.control);
            return match frame.opcode {
                Opcode::Ping => Ok(Some(Received::Ping(payload))),
                Opcode::Pong => Ok(Some(Received::Pong)),
                _ => close_code(&payload).map(|code| Some(Received::Close(code))),
            };
        }
        if !frame.is_final {
            return Ok(None);
        }
        self.valid = 0;
        let message = std::mem::take(&mut self.message);
        Ok(Some(match self.kind.take() {
            Some(Opcode::Text) => Received::Text(message),
            _ => Received::Binary(message),
        }))
    }
}

/// The status code of a close frame (RFC 6455 §5.5.1, §7.4).
fn close_code(payload: &[u8]) -> Result<Option<u16>, Violation> {
    let (code, reason) = match payload {
        [] => return Ok(None),
        [high, low, reason @ ..] => (u16::from_be_bytes([*high, *low]), reason),
        _ => return Err(broken("A close frame has half a status code")),
    };
    if !matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999) {
        return Err(broken(
            "A close frame has a status code that must not be sent",
        ));
    }
    match str::from_utf8(reason) {
        Ok(_) => Ok(Some(code)),
        Err(_) => Err(NOT_UTF8),
    }
}

/// Appends a frame with the whole payload. A server does not mask (RFC 6455 §5.1).
pub(super) fn encode(opcode: Opcode, payload: &[u8], out: &mut Vec<u8>) {
    out.push(0x80 | opcode as u8);
    match payload.len() {
        length @ ..126 => out.push(length as u8),
        length @ ..0x1_0000 => {
            out.push(126);
            out.extend_from_slice(&(length as u16).to_be_bytes());
        }
        length => {
            out.push(127);
            out.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
    out.extend_from_slice(payload);
}

#[cfg(test)]
mod tests;
