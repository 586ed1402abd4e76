"""The vocabulary: padding, one token for each marker of a transcript, and one for each of `CHARACTERS`.

Angle brackets occur only inside markers, so text and tokens determine each other: what the model wrote, sent back as a part of the next
prompt, gives the same ids. A trainer of a real model cannot rely on that and uses the ids that the engine returned.
"""

import hashlib
import re
import string

PAD = "<pad>"
#: The tags around a call, a result, and a thought in the transcript that a worker sends.
MARKERS = (
    "\n\n<think>\n",
    "\n\n<information>\n",
    "\n</information>",
    "<calc> ",
    " </calc>",
    "<look> ",
    " </look>",
    "<answer> ",
    " </answer>",
)
CHARACTERS = " " + string.digits + string.ascii_letters + "+-*/?.,:;'()_%&\n"
TOKENS = (PAD, *MARKERS, *CHARACTERS)
IDS = {token: at for at, token in enumerate(TOKENS)}
#: The ids that end a generation: the closing markers of calls and of the answer.
ENDS = frozenset(IDS[token] for token in MARKERS if token.startswith(" </"))
SHA256 = hashlib.sha256("\0".join(TOKENS).encode()).hexdigest()

_PIECES = re.compile("|".join(re.escape(marker) for marker in MARKERS) + "|.", re.DOTALL)


def encode(text: str) -> list[int]:
    """Ids of a text. Characters that are not in the vocabulary become question marks."""
    unknown = IDS["?"]
    return [IDS.get(piece, unknown) for piece in _PIECES.findall(text)]


def decode(ids: list[int]) -> str:
    return "".join(TOKENS[i] for i in ids)
