"""The operation sets of OpenVINO, and which of them have a layer type, and an attribute of it."""

from __future__ import annotations

from ir_interp.errors import ReadError, UnsupportedLayerError
from ir_interp.ir.net import Layer

NEWEST = 16
"""The newest operation set that is known; a later one may change what a layer computes."""

_ADDED = {
    2: "batchtospace gelu mvn reorgyolo roipooling spacetobatch",
    3: "assign bucketize cumsum embeddingbagoffsetssum embeddingbagpackedsum embeddingsegmentssum extractimagepatches "
    "grucell nonzero readvalue rnncell roialign scatterelementsupdate scatterupdate shufflechannels",
    4: "acosh asinh atanh ctcloss hswish mish reducel1 reducel2 scatterndupdate softplus swish",
    5: "gathernd grusequence hsigmoid logsoftmax loop lstmsequence rnnsequence round",
    6: "ctcgreedydecoderseqlen experimentaldetectrondetectionoutput "
    "experimentaldetectrongenerateproposalssingleimage experimentaldetectronpriorgridgenerator "
    "experimentaldetectronroifeatureextractor experimentaldetectrontopkrois gatherelements",
    7: "dft einsum idft roll",
    8: "adaptiveavgpool adaptivemaxpool i420tobgr i420torgb if matrixnms multiclassnms nv12tobgr nv12torgb "
    "randomuniform slice",
    9: "eye generateproposals gridsample irdft rdft softsign",
    10: "isfinite isinf isnan unique",
    12: "groupnormalization",
    13: "bitwiseand bitwisenot bitwiseor bitwisexor fakeconvert multinomial nmsrotated scaleddotproductattention",
    14: "convertpromotetypes inverse",
    15: "bitwiseleftshift bitwiserightshift col2im embeddingbagoffsets embeddingbagpacked roialignrotated searchsorted "
    "slicescatter stft stringtensorpack stringtensorunpack",
    16: "identity istft segmentmax sparsefillemptyrows",
}
"""The types that each set added to those of the first; every later set has them, too."""

_ONLY_FIRST = frozenset(("reverse",))
_READ_IN_FIRST = frozenset(("mvn", "reorgyolo", "rnncell", "roipooling", "shufflechannels"))
"""Types that OpenVINO reads in the first set as well, which lacks them. It writes RNNCell and ShuffleChannels so."""

SINCE = {kind: number for number, kinds in _ADDED.items() for kind in kinds.split()}
"""The first operation set of each layer type in lower case that the first set lacks."""

_ATTRIBUTES_SINCE = {
    "avgpool": {"dilations": 16},
    "deformableconvolution": {"bilinear_interpolation_pad": 8},
    "gather": {"batch_dims": 7},
    "gelu": {"approximation_mode": 7},
    "maxpool": {"axis": 8, "dilations": 8},
    "onehot": {"negative_indices_mode": 16},
    "priorbox": {"min_max_aspect_ratios_order": 8},
    "roialign": {"aligned_mode": 9},
    "scatterelementsupdate": {"reduction": 12, "use_init_val": 12},
    "scatterndupdate": {"reduction": 15},
    "squeeze": {"allow_axis_skip": 15},
}
"""The first operation set of attributes that earlier versions of a layer lack; OpenVINO ignores them there."""


def has_attribute(layer: Layer, name: str) -> bool:
    """Return whether the version of a layer has an attribute that its latest version has."""
    return (layer.version or 0) >= _ATTRIBUTES_SINCE.get(layer.type.lower(), {}).get(name, 0)


def check(layer: Layer) -> None:
    """Raise UnsupportedLayerError if the operation set of a layer is unknown, or has no such type."""
    where = f"{layer.where}@version"
    if layer.version is None:
        raise ReadError("missing; expected opset1 and up", where)
    if layer.version == 0:
        raise UnsupportedLayerError("not an operation set of OpenVINO's own", where)
    if layer.version > NEWEST:
        raise UnsupportedLayerError(f"opset{layer.version} is unknown; expected opset{NEWEST} or earlier", where)
    kind = layer.type.lower()
    since = SINCE.get(kind, 1)
    if layer.version < since and (kind not in _READ_IN_FIRST or layer.version > 1):
        raise UnsupportedLayerError(f"opset{layer.version} has no {layer.type}; expected opset{since} or later", where)
    if layer.version > 1 and kind in _ONLY_FIRST:
        raise UnsupportedLayerError(f"opset{layer.version} has no {layer.type}; expected opset1", where)
