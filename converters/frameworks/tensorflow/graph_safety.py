"""Operations of TensorFlow graphs that reach outside the graph: a file that has one is not run."""

from __future__ import annotations

import re
from collections.abc import Iterable

HARMLESS = frozenset(
    {
        "Assert", "Case", "If", "StatefulPartitionedCall", "While",
        "AssignVariableOp", "ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VarHandleOp",
        "HashTableV2", "LookupTableImportV2", "MutableHashTableV2",
        "Multinomial", "RandomStandardNormal", "RandomUniform", "RandomUniformInt", "TruncatedNormal",
    }
)  # fmt: skip
"""Operations with a state that is that of the model; every other one that TensorFlow calls stateful is refused."""
_OUTSIDE = re.compile(
    r".*(PyFunc|Dataset|ReadFile|WriteFile|MatchingFiles|Rpc|RemoteCall|RemoteFused|Reader|Summary|Compile|Xla"
    r"|Debug|ImmutableConst|Collective|Send|Recv|BigQuery|Lookup.*Text|TextFile|Timestamp|Print|Assert.*File).*"
)
"""Python code, files, other machines and just-in-time compilers."""


def reaching_outside(types: Iterable[str]) -> str | None:
    """Return the first type of operation that reaches outside its graph; None if there is none."""
    return next((kind for kind in types if _OUTSIDE.fullmatch(kind)), None)
