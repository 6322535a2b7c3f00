use super::*;

fn header(name: &str, size: u64) -> Header {
    Header {
        name: name.to_owned(),
        is_folder: false,
        is_executable: false,
        size,
        modified: 7,
    }
}

/// An archive with one header of this kind and these digits of its size.
fn one(kind: u8, size: &[u8; 12]) -> Vec<u8> {
    let mut block = block("config/x", kind, 0o600, 0, 0);
    block[124..136].copy_from_slice(size);
    let sum = checksum(&block);
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    block.to_vec()
}

#[track_caller]
fn refused(archive: &[u8], why: &str) {
    let mut reader = Reader::new(archive);
    let fault = loop {
        match reader.next() {
            Ok(Some(_)) => {}
            Ok(None) => panic!("it was read"),
            Err(fault) => break fault.to_string(),
        }
    };
    assert!(fault.contains(why), "{fault}");
}

#[test]
fn what_is_written_is_read() {
    for length in [1, 99, 100, 101, 255, 4000] {
        let name = "é".repeat(length / 2) + &"x".repeat(length % 2);
        let mut archive = Vec::new();
        write_header(&mut archive, &header(&name, 3)).unwrap();
        archive.extend(b"abc");
        write_padding(&mut archive, 3).unwrap();
        write_end(&mut archive).unwrap();
        let mut reader = Reader::new(&archive[..]);
        assert_eq!(reader.next().unwrap(), Some(header(&name, 3)));
        let mut content = String::new();
        reader.content().read_to_string(&mut content).unwrap();
        assert_eq!(content, "abc");
        assert!(reader.next().unwrap().is_none());
        for end in 0..archive.len() - 2 * BLOCK {
            refused(&archive[..end], "cut off");
        }
    }
    let mut large = Vec::new();
    write_header(&mut large, &header("config/large", 9 << 33)).unwrap();
    assert_eq!(
        Reader::new(&large[..]).next().unwrap().unwrap().size,
        9 << 33
    );
}

#[test]
fn hostile_headers_are_refused() {
    for (kind, why) in [
        (b'1', "a link"),
        (b'2', "a link"),
        (b'3', "a device"),
        (b'4', "a device"),
        (b'6', "a pipe"),
        (b'L', "another kind"),
        (b'g', "another kind"),
    ] {
        refused(&one(kind, b"00000000000\0"), why);
    }
    refused(&one(b'5', b"00000000001\0"), "a folder with a content");
    refused(&one(b'0', b"77777777777\0"), "cut off");
    refused(&one(b'0', b"-0000000001\0"), "a size");
    refused(
        &one(b'0', b"\x80\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff"),
        "a size",
    );
    refused(&one(b'x', b"77777777777\0"), "too long");
    refused(&[1; 512], "not a tar archive");
    let mut changed = one(b'0', b"00000000000\0");
    changed[0] ^= 1;
    refused(&changed, "damaged");
    for records in [
        "",
        "5",
        "0 path=x\n",
        "99 path=x\n",
        "-1 a=b\n",
        "9 path=x\n9",
        "9 size=x\n",
    ] {
        let mut archive = block("long", b'x', 0o600, records.len() as u64, 0).to_vec();
        archive.extend(records.as_bytes());
        write_padding(&mut archive, records.len() as u64).unwrap();
        match records {
            "" => refused(&archive, "cut off"),
            _ => refused(&archive, "a long name"),
        }
    }
}
