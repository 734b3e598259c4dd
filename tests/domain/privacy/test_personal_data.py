"""Personal data by its shape: what goes, in several languages, and what only looks like it and stays."""

import pytest

from runlore.domain.privacy.personal_data import redact_personal_data

pytestmark = pytest.mark.req("RUN-3")

FRAMES = ("{}", "see {}.", "({})", "“{}”", "a\n{}\nb", "x: {}, y", "联系{}。", "<b>{}</b>", '"{}"', "| {} |")

EMAILS = (
    *("jane@example.com", "jane.doe+news@mail.example.co.uk", "o_brien-99@example.museum", "a@b.io"),
    *("иван@почта.рф", "jürgen@müller.de", "jane@xn--mller-kva.de", "jane%40example.com"),
    *(
        "JANE@EXAMPLE.COM",
        "foo@163.com",
        "jane@sub-domain.example.org",
        "ｊane＠example.com",
        "ja\u200bne@example.com",
    ),
)
PHONES = (
    *("+4915112345678", "+49 151 12345678", "+49 (0)151 1234567", "+1 (212) 555-0123", "+1-212-555-0123"),
    *("+33 6 12 34 56 78", "+44 20 7946 0958", "+442079460958", "+86 138 1234 5678", "+55 11 91234-5678"),
    *("+7 912 345-67-89", "+353 1 234 5678", "+81 3-1234-5678", "+91 98765 43210", "0044 20 7946 0958"),
    *("212-555-0123", "(212) 555-0123", "212.555.0123", "1-212-555-0123", "1.212.555.0123", "212 555 0123"),
    *("06 12 34 56 78", "06.12.34.56.78", "06-12-34-56-78", "030/1234567", "0151 12345678", "020 7946 0958"),
    *(
        "(030) 1234567",
        "089 123 45 67",
        "03-1234-5678",
        "(11) 91234-5678",
        "8 (912) 345-67-89",
        "138 1234 5678",
    ),
    *("138-1234-5678", "٠٦ ١٢ ٣٤ ٥٦ ٧٨", "212‑555‑0123", "０６ １２ ３４ ５６ ７８", "(495) 123-45-67"),
)
TOLD_PHONES = (
    *("tel. 612 345 678", "Tél : 612 345 678", "phone: 555-1234", "Telefon 12 34 56 78", "móvil 612.345.678"),
    *("電話 5555 1234", "电话：5555-1234", "тел. 123-45-67", "fax 22 33 44 55", "mobile: 98765 43210"),
)
CARDS = (
    *(
        "4111 1111 1111 1111",
        "4111-1111-1111-1111",
        "4111111111111111",
        "5555555555554444",
        "378282246310005",
    ),
    *("3782 822463 10005", "6011111111111117", "3530111333300000", "30569309025904", "2223003122003222"),
    *("6200000000000005", "4222222222222", "4000 0000 0000 0000 006", "2200 0000 0000 0004"),
)
IBANS = (
    *("DE89 3704 0044 0532 0130 00", "DE89370400440532013000", "de89 3704 0044 0532 0130 00"),
    *("GB82WEST12345698765432", "GB82 WEST 1234 5698 7654 32", "FR14 2004 1010 0505 0001 3M02 606"),
    *(
        "NL91ABNA0417164300",
        "ES91 2100 0418 4502 0005 1332",
        "NO93 8601 1117 947",
        "MT84MALT011000012345MTLCAST001S",
    ),
    *("BR15 0000 0000 0000 1093 2840 814P 2", "SA03-8000-0000-6080-1016-7519", "CH93 0076 2011 6238 5295 7"),
)
NATIONAL_IDS = (
    *("123-45-6789", "AB 12 34 56 C", "AB123456C", "529.982.247-25", "12345678Z", "12345678-Z", "X1234567L"),
    *("RSSMRA85T10A562S", "756.9217.0769.85", "7569217076985", "131052-308T", "85.07.30-033.28"),
    *("2 55 08 14 168 025 38", "255081416802538", "11010519491231002X", "86 095 742 719", "900101-1234567"),
    *("HEGG560427MVZRRL04",),
)
TOLD_IDS = ("SSN 123 45 6789", "ssn: 123456789", "CPF 52998224725", "Steuer-ID: 86095742719", "DNI 12345675B")
ADDRESSES = (
    *("192.168.0.17", "10.0.0.1", "172.16.5.4", "203.0.113.7", "8.8.200.8", "2001:db8::1", "fe80::1"),
    *(
        "::ffff:192.0.2.1",
        "2001:0db8:85a3:0000:0000:8a2e:0370:7334",
        "fd12:3456:789a::1",
        "2606:4700:4700::1111",
    ),
)
KINDS = {
    "email": EMAILS,
    "phone": PHONES,
    "card": CARDS,
    "iban": IBANS,
    "national-id": NATIONAL_IDS,
    "ip": ADDRESSES,
}
FOUND = [(kind, text) for kind, texts in KINDS.items() for text in texts]

DATES = (
    *(
        "2024-01-15",
        "2024/01/15",
        "2024.01.15",
        "15.01.2024",
        "15/01/2024",
        "01/15/2024",
        "15-01-2024",
        "15.1.24",
    ),
    *("2024-01-15 12:30", "2024-01-15T12:30:45Z", "2024-01-15T12:30:45.123+01:00", "15/01/24 16/01/24"),
    *("2024-01-15 to 2024-02-20", "20240115", "20240115T123045", "2024 01 15 12 30", "01 02 2024 10 30"),
    *(
        "01-02-2024 10-11-2024",
        "12:30:45",
        "12:30:45.678",
        "2024-W03-1",
        "2024-015",
        "1731650000000",
        "Jan 15, 2024",
    ),
)
NUMBERS = (
    *("1234567890", "0123456789", "123456789012", "1,234,567.89", "1 234 567", "1.234.567,89", "123 456 789"),
    *(
        "3.14159265358979",
        "0.4111111111111111",
        "200 300 400 500",
        "01 02 03 04 05",
        "640x480",
        "#12345",
        "port 8080",
    ),
    *(
        "10485760B",
        "12345678 bytes",
        "1e10",
        "file.py:123:45",
        "0x1F4",
        "100-200-300",
        "02110-1301",
        "42%",
        "-17",
    ),
    *(
        "4111111111111112",
        "1234567890123456",
        "13,178,002.113936031",
        "5 10 15 20 25 30 35",
        "0001 0002 0003 0004",
    ),
    *(
        "call 2 of 3",
        "+1000000",
        "+20 -3",
        "1+2",
        "C++11",
        "RFC 3339",
        "ISO 8601-1:2019",
        "000-12-3456",
        "666-12-3456",
    ),
    *("900-12-3456", "529.982.247-26", "DE89 3704 0044 0532 0130 01", "XX89370400440532013000", "GB12345678"),
)
VERSIONS = (
    *(
        "1.2.3",
        "v1.2.3.4",
        "v131.2.3.4",
        "==131.2.3.4",
        ">=131.2.3.4",
        "~=131.2.3.4",
        "^131.2.3.4",
        "version 131.2.3.4",
    ),
    *(
        "1.2.3-rc.1+build.5",
        "131.2.3.4-rc1",
        "pkg-131.2.3.4",
        "10.0.19041.1234",
        "1.8.1.4",
        "1.3.6.1.4.1.311",
    ),
    *("2024.1.15.1", "Chrome/120.0.0.0", "section 2.3.4.1", "版本 131.2.3.4", "131.2.3.4.5", "numpy==1.26.4"),
)
OTHERS = (
    *(
        "git@github.com:acme/x",
        "git@git.example:team/app.git",
        "@decorator",
        "@scope/pkg",
        "pkg@1.2.3",
        "user@host",
    ),
    *(
        "react@18.0.0-rc.1",
        "@types/node@20.11.5",
        "actions/checkout@v4",
        "user@1000.service",
        "getty@tty1.service",
    ),
    *(
        "icon@2x.png",
        "a@b.transpose()",
        "x@",
        "@example.com",
        "a @ b.com",
        "a@b",
        "a@.com",
        "a@b..com",
        "a@-b.com",
    ),
    *(
        "d41d8cd98f00b204e9800998ecf8427e",
        "123e4567-e89b-12d3-a456-426614174000",
        "12345678-1234-1234-1234-123456789012",
    ),
    *(
        "127.0.0.1",
        "127.0.0.1:8080",
        "0.0.0.0",
        "localhost",
        "::1",
        "::",
        "[::1]:7717",
        "255.255.255.0",
        "224.0.0.1",
    ),
    *(
        "std::cout",
        "a::b",
        "dead::beef",
        "Foo::Bar1",
        "rows[2000::2]",
        "aa:bb:cc:dd:ee:ff",
        "01-23-45-67-89-01",
    ),
    *(
        "aa:bb:cc:dd:ee:ff:00:11",
        "300.1.2.3",
        "1.2.3",
        "01.02.03.04",
        "a/555-123-4567/b",
        "x-212-555-0123",
        "1::2::3",
    ),
    *(
        "<redacted:email>",
        "<redacted:private-key>",
        "<redacted:de89370400440532013000>",
        "<redacted:phone> <redacted:ip>",
        "BG123456A",
        "ab123456c",
        "12345678z",
        "",
        " ",
        "\u200b",
    ),
)
LEFT = (*DATES, *NUMBERS, *VERSIONS, *OTHERS)


@pytest.mark.parametrize(("kind", "text"), FOUND)
def test_personal_data_is_replaced_by_its_kind_wherever_it_stands(kind: str, text: str) -> None:
    for frame in FRAMES:
        assert redact_personal_data(frame.format(text)) == (frame.format(f"<redacted:{kind}>"), 1)


@pytest.mark.parametrize("text", LEFT)
def test_what_only_looks_like_it_stays(text: str) -> None:
    for frame in ("{}", "see {}.", "({})", "a\n{}\nb", "x: {}, y"):
        assert redact_personal_data(frame.format(text)) == (frame.format(text), 0)


@pytest.mark.parametrize("text", TOLD_PHONES)
def test_a_word_for_phone_makes_grouped_digits_one(text: str) -> None:
    clean, count = redact_personal_data(text)

    assert count == 1
    assert clean.endswith("<redacted:phone>")
    number = text[len(clean) - len("<redacted:phone>") :]
    assert redact_personal_data(f"total {number}") == (f"total {number}", 0)


@pytest.mark.parametrize("text", TOLD_IDS)
def test_the_name_of_a_national_id_makes_plain_digits_one(text: str) -> None:
    clean, count = redact_personal_data(text)

    assert count == 1
    assert clean.endswith("<redacted:national-id>")
    number = text[len(clean) - len("<redacted:national-id>") :]
    assert redact_personal_data(f"total {number}") == (f"total {number}", 0)


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("http://10.1.2.3:8080/x", "http://<redacted:ip>:8080/x"),
        ("10.0.0.0/24", "<redacted:ip>/24"),
        ("root@10.1.2.3", "root@<redacted:ip>"),
        ("host=10.1.2.3", "host=<redacted:ip>"),
        ("10.0.0.1-10.0.0.5", "<redacted:ip>-<redacted:ip>"),
        ("fe80::1%eth0", "<redacted:ip>%eth0"),
        ("addr:fe80::1: up", "addr:<redacted:ip>: up"),
        ("[2001:db8::1]:443", "[<redacted:ip>]:443"),
        (
            "1.2.3.4:80, ping 1.2.3.4, ssh://1.2.3.4",
            "<redacted:ip>:80, ping <redacted:ip>, ssh://<redacted:ip>",
        ),
        ("请写 用户@例子.广告。", "请写 <redacted:email>。"),
        ("a@b.co-4111111111111111 x", "<redacted:email>-<redacted:card> x"),
        ("<redacted:jane@example.com>", "<redacted:<redacted:email>>"),
        ("mailto:jane@example.com?subject=x", "mailto:<redacted:email>?subject=x"),
        ("Jane <jane@example.com>, Bob <bob@example.org>", "Jane <<redacted:email>>, Bob <<redacted:email>>"),
        ("Jane,212-555-0123,jane@example.com", "Jane,<redacted:phone>,<redacted:email>"),
        ("scp jane@host.example.com:/tmp", "scp <redacted:email>:/tmp"),
        ("2024-01-15 212-555-0123 12:30", "2024-01-15 <redacted:phone> 12:30"),
        ("+44 20 7946 0958 2024-01-15", "<redacted:phone> 2024-01-15"),
        ("+44 20 7946 0958 12:30", "<redacted:phone> 12:30"),
        ("212-555-0123 3 times", "<redacted:phone> 3 times"),
        ("order 17 4111 1111 1111 1111 done", "order 17 <redacted:card> done"),
        ("tel:+12125550123;ext=5", "tel:<redacted:phone>;ext=5"),
        ("写信给zhang@example.com或138-1234-5678吧", "写信给<redacted:email>或<redacted:phone>吧"),
    ],
)
def test_what_is_around_it_stays(text: str, clean: str) -> None:
    assert redact_personal_data(text)[0] == clean
    assert redact_personal_data(clean) == (clean, 0)


def test_addresses_that_hang_together_are_all_found() -> None:
    chained = "-".join(["a@b.co"] * 400)

    assert redact_personal_data(chained) == ("-".join(["<redacted:email>"] * 400), 400)
