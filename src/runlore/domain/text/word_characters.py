"""Which characters make words, pinned to Unicode 14, so that every Python splits a text alike.

Newer Pythons know more characters. Asking `str.isalpha` or normalising a character that an older Python does
not know would give two machines two rankings; what is not in these tables is therefore left alone and
separates words. For the characters of Unicode 14, normalisation and case folding are fixed for good by its
stability policy. Every name here is the inside of a regular expression's brackets.
"""


def _ranges(table: str) -> str:
    """Read a table: the hexadecimal distance from the end of the last range, then `+` its length less one."""
    ranges, end = [], 0
    for entry in table.split():
        distance, _, length = entry.partition("+")
        start = end + int(distance, 16)
        end = start + int(length or "0", 16)
        ranges.append(f"\\U{start:08x}-\\U{end:08x}")
    return "".join(ranges)


# Written without spaces between words. Hangul has spaces, but glues its particles to the words.
HAN = (
    r"\u2e80-\u2fdf\u3005\u3007\u3021-\u3029\u3038-\u303b\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    r"\U00020000-\U0003fffd"
)
_KANA = r"\u3041-\u3096\u3099\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
_THAI_LAO = r"\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ebd\u0ec0-\u0ecd\u0edc-\u0edf"
_KHMER = r"\u1780-\u17d3\u17dc\u17dd"
_MYANMAR = r"\u1000-\u103f\u1050-\u108f\u109a-\u109d\ua9e0-\ua9ef\ua9fa-\ua9fe\uaa60-\uaa7f"
_HANGUL = r"\u1100-\u11ff\u3131-\u318e\ua960-\ua97c\uac00-\ud7a3\ud7b0-\ud7fb"
UNSPACED = HAN + _KANA + _THAI_LAO + _KHMER + _MYANMAR + _HANGUL

# Signs of those scripts that hang on the character before them and are one unit with it.
UNSPACED_MARK = (
    r"\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ecd\u102b-\u103e\u1056-\u1059\u105e-\u1060"
    r"\u1062-\u1064\u1067-\u106d\u1071-\u1074\u1082-\u108d\u108f\u109a-\u109d\u17b4-\u17d3\u17dd\u3099\u309a"
    r"\ua9e5\uaa7b-\uaa7d"
)

# Letters, marks and numbers of all other scripts, without enclosing marks and what is ignorable.
SPACED = _ranges(
    """
    30+9 8+19 7+19 30 8+1 2 4+1 2+2 2+16 2+1e 2+1c9 5+b f+4 8 2 12+4e 2+24 2+1 3+3 2 7 2+2 2 2+13 2+52 2+8a
    2+4 3+a5 2+25 3 7+28 9+2c 2 2+1 2+1 2 9+1a 5+3 1e+a 6+49 5+65 2+7 3+9 2+12 3 11+3a 3+64 f+35 5 3 3+2d
    13+1b 5+a 6+17 2+5 a+49 2+80 3+9 2+12 2+7 3+1 3+15 2+6 2 4+3 3+8 3+1 3+3 9 5+1 2+4 3+b 3+5 3 2 3+2 2+5
    5+1 3+15 2+6 2+1 2+1 2+1 3 2+4 5+1 3+2 4 8+3 2 8+f c+2 2+8 2+2 2+15 2+6 2+1 2+4 3+9 2+2 2+2 3 10+3 3+9
    a+6 2+2 2+7 3+1 3+15 2+6 2+1 2+4 3+8 3+1 3+2 8+2 5+1 2+4 3+9 2+6 b+1 2+5 4+2 2+3 4+1 2 2+1 4+1 4+2 4+b
    5+4 4+2 2+3 3 7 f+c e+c 2+2 2+16 2+f 3+8 2+2 2+3 8+1 2+2 3 3+3 3+9 9+6 2+3 2+7 2+2 2+16 2+9 2+4 3+8 2+2
    2+3 8+1 7+1 2+3 3+9 2+1 e+c 2+2 2+32 2+2 2+4 6+f 3+12 2+5 2+2 2+11 4+17 2+8 2 3+6 4 5+5 2 2+7 7+9 3+1
    5d+9 77+9 27 18+1 7+13 2 2 2 5+9 2+23 5+13 2+11 2+23 a 7a+9 47+9 7+25 2 6 3+2a 2+3 101+48 2+3 3+6 2 2+3
    3+28 2+3 3+20 2+3 3+6 2 2+3 3+e 2+38 2+3 3+42 3+2 a+13 4+f 11+55 3+5 4+26b 3+10 2+19 6+4a 4+a 8+15 a+15
    c+13 d+c 2+2 2+1 64 9+9 7+9 17+9 7+58 8+2a 6+45 b+1e 2+b 5+b b+27 3+4 c+2b 5+19 7+a 26+1b 5+3e 2+1c 3+a
    7+9 e 9+d 2+f 32+4c 4+9 12+8 d+73 d+37 9+9 4+30 3+8 8+2a 3+2 11+2 2+26 6+215 3+5 3+25 3+5 3+7 2 2 2 2+1e
    3+34 2+6 2 4+2 2+6 4+3 3+5 5+c 6+2 2+6 74+1 3+5 6+a 7+c 34+c 5 4+b 12 5 3+9 2 4+4 7 2 2 2+3 2+a 3+3 6+4
    5 2+39 2d7+3b 4f+15 277+1d 46d+e4 7+8 a 3+25 2 6 3+37 8 10+17 a+6 2+6 2+6 2+6 2+6 2+6 2+6 2+6 2+1f 30
    1d7 24+5 2+4 7 c9+2a 63+3 b+1f 61+9 1f+7 2+e 21+9 28+e 6d41+48c 44+2d 3+10c 4+1b 15+2f 5+9 2+72 26+8
    3+66 3+3f 6+1 2 2+4 19+35 5 4+5 b+33 d+45 b+9 7+17 4 2+30 3+23 2d+40 f+a 17+9 7+36 a+d 3+9 27+42 19+2
    3+f 3+4 b+5 3+5 3+5 a+6 2+6 2+2a 2+d 7+7a 2+1 3+9 4f07+6 d+4 6+b 2+c 2+4 2 2+1 2+1 2+6b 22+16a 13+3f
    3+35 29+b 25+f 41+4 2+86 14+9 8+19 7+19 c+58 4+5 3+5 3+5 3+2 24+b 2+19 2+12 2+1 2+e 3+d 23+7a d+2c d+38
    12+1 72 83+1c 4+30 10+1b 5+23 a+1d 6+2a 6+1d 3+23 5+7 2+4 2b+9d 3+9 7+23 5+23 5+27 9+33 d+a 2+e 2+6 2+1
    2+a 2+e 2+6 2+1 44+136 a+15 b+7 19+5 2+29 2+8 46+5 3 2+2b 2+1 4 3+16 3+1e 3+25 9+8 31+12 2+1 6+20 5+19
    47+37 5+13 3+31 2+1 6+7 2+2 2+1c 3+2 5+9 18+1e 2+1f 21+7 2+1d 5+4 11+35 b+15 3+1a 6+19 18+6 51+48 38+32
    e+32 8+2d 9+9 127+1e 2+29 2+1 4+1 4f+27 9+24 1c+15 2b+1b 15+16 a+46 c+23 a+3b 8 e+18 8+9 7+34 2+9 5+3
    9+23 3 a+44 5+3 2+c 2 5+13 c+11 2+24 7 42+6 2 2+3 2+e 2+9 8+3a 6+9 7+3 2+7 3+1 3+15 2+6 2+1 2+4 2+9 3+1
    3+2 3 7 6+6 3+6 4+4 8c+4a 6+9 5+3 1f+45 2 9+9 a7+35 3+8 18+5 23+40 4 c+9 27+38 8+9 37+1a 3+e 5+b 5+6
    ba+3a 66+52 d+7 3 3+7 2+1 2+1d 2+1 3+8 d+9 47+7 3+2d 3+7 2+1 1c+3e 9 9+49 4 13+48 108+8 2+2c 2+8 10+1c
    6+1d 3+15 2+d 4a+6 2+1 2+2b 4 2+1 2+8 9+9 7+5 2+1 2+24 2+1 2+5 8+9 137+16 ba 10+14 2c+399 67+6e 12+c3
    a4d+60 10+42e fd2+246 21ba+238 8+1e 2+9 7+4e 2+9 7+1d 3+4 c+36 a+3 d+9 2+6 2+14 6+12 2b1+56 6a+4a 5+38
    8+10 41+1 2+1 c+1 f+17f7 9+4d5 2b+8 22e8+3 2+6 2+1 2+122 2e+2 12+3 9+18b 905+6a 6+c 4+8 8+9 4+1 1262+2d
    3+16 21f+4 4+5 9+7 3+6 1f+3 95+2 9c+13 6d+18 88+54 2+46 2+1 3 3+1 3+3 2+b 2 2+6 2+40 2+3 3+7 2+6 2+1b
    2+3 2+4 2 4+6 2+153 3+18 2+18 2+1e 2+18 2+1e 2+18 2+1e 2+18 2+1e 2+18 2+7 3+31 201+36 5+31 9 f 17+4 2+e
    451+1e e2+6 2+10 3+6 2+1 2+4 d6+2c 4+d 3+9 5 142+1e 12+39 4e7+6 2+3 2+1 2+e 2+c4 3+f 2a+4b 5+9 318+3a
    2+2 2+3 4d+2c 2+e c3+3 2+1a 2+1 2 3 2+9 2+3 2 2 7 5 2 2 2+2 2+1 2 3 2 2 2 2 2+1 2 3+3 2+6 2+3 2+3 2 2+9
    2+10 6+2 2+4 2+10 245+c ae4+9
    """
)

# What else NFKC or case folding changes: wide punctuation, ligated symbols, special spaces.
_FOLDED_SYMBOLS = _ranges(
    """
    a0 8 7 5 4 220+5 a1 6+1 2 b85 10b1 2+2 c+2 e+2 e+2 e+1 2+a 7 6 d+2 9 4+1 2+1 5 2 9+2 e 8 1b+4 c+4 1a
    58+1 2 2+1 3 d a+2 19 5 ec+1 2+1 f9+1 172+4d 523 68+2 66 524 36 65+1 fa+9 61+1e c+1d 9 10+1e c+26 10+13f
    c72a 2d3 14+9 17+14 3+b 2+12 2+3 96+e b+6 1b+5 1b+a 7b+6 2+6 d170+6 57+5 501 1a 20 1a 20 1a 20 1a 20 1a
    194d+1e 2+1f 1b+2 24 70+2 e+2b 5+8 8+1
    """
)

WORD = SPACED + UNSPACED
FOLDABLE = r"\x00-\x7f" + WORD + _FOLDED_SYMBOLS

# Joiners, variation selectors, soft hyphen, byte order mark: nobody sees them.
IGNORABLE = r"\u00ad\u034f\u061c\u180b-\u180f\u200c\u200d\u2060\ufe00-\ufe0f\ufeff\U000e0100-\U000e01ef"
