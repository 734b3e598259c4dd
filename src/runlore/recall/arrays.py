"""The kinds of arrays that the index is made of."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

# Two rows, the high and the low half of each digest.
Keys: TypeAlias = NDArray[np.uint64]
# Row numbers as they are stored, and as they are worked with.
Rows: TypeAlias = NDArray[np.uint32]
Positions: TypeAlias = NDArray[np.int64]
Impacts: TypeAlias = NDArray[np.uint8]
# Sums of impact times rarity: at most 512 terms x 255 x 1,024, so 32 bits are enough.
Points: TypeAlias = NDArray[np.int32]
Mask: TypeAlias = NDArray[np.bool_]
Numbers: TypeAlias = NDArray[np.int64]
AnyArray: TypeAlias = NDArray[Any]
