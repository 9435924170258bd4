"""The operations of TensorFlow that may run: they compute on tensors, or keep their state in the model.

Every other operation is refused, and so are those of later releases. TensorFlow has more than a hundred that read or
write files, call Python or connect to other machines, some under names that hide it, such as GenerateVocabRemapping.
"""

from __future__ import annotations

from collections.abc import Iterable

_COMPUTING = """
    Abs AccumulateNV2 Acos Acosh Add AddN AddV2 AdjustContrast AdjustContrastv2 AdjustHue AdjustSaturation All Angle
    Any ApproxTopK ApproximateEqual ArgMax ArgMin AsString Asin Asinh Atan Atan2 Atanh AudioSpectrogram AvgPool
    AvgPool3D AvgPool3DGrad AvgPoolGrad BandedTriangularSolve BatchCholesky BatchCholeskyGrad BatchFFT BatchFFT2D
    BatchFFT3D BatchIFFT BatchIFFT2D BatchIFFT3D BatchMatMul BatchMatMulV2 BatchMatMulV3 BatchMatrixBandPart
    BatchMatrixDeterminant BatchMatrixDiag BatchMatrixDiagPart BatchMatrixInverse BatchMatrixSetDiag BatchMatrixSolve
    BatchMatrixSolveLs BatchMatrixTriangularSolve BatchNormWithGlobalNormalization
    BatchNormWithGlobalNormalizationGrad BatchSelfAdjointEig BatchSelfAdjointEigV2 BatchSvd BatchToSpace
    BatchToSpaceND BesselI0 BesselI0e BesselI1 BesselI1e BesselJ0 BesselJ1 BesselK0 BesselK0e BesselK1 BesselK1e
    BesselY0 BesselY1 Betainc BiasAdd BiasAddGrad BiasAddV1 Bincount Bitcast BitwiseAnd BitwiseOr BitwiseXor BlockLSTM
    BlockLSTMGrad BlockLSTMGradV2 BlockLSTMV2 BroadcastArgs BroadcastGradientArgs BroadcastTo Bucketize
    CTCBeamSearchDecoder CTCGreedyDecoder CTCLoss CTCLossV2 Cast Ceil Cholesky CholeskyGrad ClipByValue
    CombinedNonMaxSuppression Complex ComplexAbs ComputeAccidentalHits Concat ConcatOffset ConcatV2 Conj
    ConjugateTranspose Const ControlTrigger Conv Conv2D Conv2DBackpropFilter Conv2DBackpropFilterV2
    Conv2DBackpropInput Conv2DBackpropInputV2 Conv3D Conv3DBackpropFilter Conv3DBackpropFilterV2 Conv3DBackpropInput
    Conv3DBackpropInputV2 Cos Cosh CropAndResize CropAndResizeGradBoxes CropAndResizeGradImage Cross Cumprod Cumsum
    CumulativeLogsumexp DataFormatDimMap DataFormatVecPermute Dawsn DecodeAndCropJpeg DecodeBase64 DecodeBmp DecodeGif
    DecodeImage DecodeJpeg DecodeJxl DecodePaddedRaw DecodePng DecodeRaw DecodeWav DecodeWebP DenseBincount
    DenseCountSparseOutput DenseToDenseSetOperation DenseToSparseSetOperation DepthToSpace DepthwiseConv2dNative
    DepthwiseConv2dNativeBackpropFilter DepthwiseConv2dNativeBackpropInput Dequantize DeserializeManySparse
    DeserializeSparse Diag DiagPart Digamma Dilation2D Dilation2DBackpropFilter Dilation2DBackpropInput Div DivNoNan
    DrawBoundingBoxes DrawBoundingBoxesV2 DynamicPartition DynamicStitch EditDistance Eig Einsum Elu EluGrad
    EmptyTensorList EncodeBase64 EncodeJpeg EncodeJpegVariableQuality EncodePng EncodeWav EnsureShape Enter Equal Erf
    Erfc Erfinv EuclideanNorm Exit Exp ExpandDims Expint Expm1 ExtractGlimpse ExtractGlimpseV2 ExtractImagePatches
    ExtractJpegShape ExtractVolumePatches FFT FFT2D FFT3D FFTND Fact FakeParam FakeQuantWithMinMaxArgs
    FakeQuantWithMinMaxArgsGradient FakeQuantWithMinMaxVars FakeQuantWithMinMaxVarsGradient
    FakeQuantWithMinMaxVarsPerChannel FakeQuantWithMinMaxVarsPerChannelGradient Fill Floor FloorDiv FloorMod
    FractionalAvgPool FractionalAvgPoolGrad FractionalMaxPool FractionalMaxPoolGrad FresnelCos FresnelSin
    FusedBatchNorm FusedBatchNormGrad FusedBatchNormGradV2 FusedBatchNormGradV3 FusedBatchNormV2 FusedBatchNormV3
    FusedPadConv2D FusedResizeAndPadConv2D GRUBlockCell GRUBlockCellGrad Gather GatherNd GatherV2
    GenerateBoundingBoxProposals Greater GreaterEqual HSVToRGB HistogramFixedWidth IFFT IFFT2D IFFT3D IFFTND IRFFT
    IRFFT2D IRFFT3D IRFFTND Identity IdentityN Igamma IgammaGradA Igammac Imag ImageProjectiveTransformV2
    ImageProjectiveTransformV3 InTopK InTopKV2 Inv InvGrad Invert InvertPermutation IsFinite IsInf IsNan
    IsotonicRegression KthOrderStatistic L2Loss LRN LRNGrad LSTMBlockCell LSTMBlockCellGrad LeakyRelu LeakyReluGrad
    LeftShift Less LessEqual Lgamma LinSpace ListDiff Log Log1p LogMatrixDeterminant LogSoftmax LogicalAnd LogicalNot
    LogicalOr LoopCond LowerBound Lu MatMul MatrixBandPart MatrixDeterminant MatrixDiag MatrixDiagPart
    MatrixDiagPartV2 MatrixDiagPartV3 MatrixDiagV2 MatrixDiagV3 MatrixExponential MatrixInverse MatrixLogarithm
    MatrixSetDiag MatrixSetDiagV2 MatrixSetDiagV3 MatrixSolve MatrixSolveLs MatrixSquareRoot MatrixTriangularSolve Max
    MaxPool MaxPool3D MaxPool3DGrad MaxPool3DGradGrad MaxPoolGrad MaxPoolGradGrad MaxPoolGradGradV2
    MaxPoolGradGradWithArgmax MaxPoolGradV2 MaxPoolGradWithArgmax MaxPoolV2 MaxPoolWithArgmax Maximum Mean Merge Mfcc
    Min Minimum MirrorPad MirrorPadGrad Mod Mul MulNoNan Ndtri Neg NextAfter NextIteration NoOp NonMaxSuppression
    NonMaxSuppressionV2 NonMaxSuppressionV3 NonMaxSuppressionV4 NonMaxSuppressionV5 NonMaxSuppressionWithOverlaps
    NotEqual NthElement OneHot OnesLike Pack Pad PadV2 ParallelDynamicStitch ParseExample ParseExampleV2
    ParseSequenceExample ParseSequenceExampleV2 ParseSingleExample ParseSingleSequenceExample ParseTensor
    PartitionedCall Placeholder PlaceholderV2 PlaceholderWithDefault Polygamma PopulationCount Pow PreventGradient
    Prod Qr QuantizeAndDequantize QuantizeAndDequantizeV2 QuantizeAndDequantizeV3 QuantizeAndDequantizeV4
    QuantizeAndDequantizeV4Grad QuantizeDownAndShrinkRange QuantizeV2 QuantizedAdd QuantizedAvgPool
    QuantizedBatchNormWithGlobalNormalization QuantizedBiasAdd QuantizedConcat QuantizedConcatV2 QuantizedConv2D
    QuantizedConv2DAndRelu QuantizedConv2DAndReluAndRequantize QuantizedConv2DAndRequantize QuantizedConv2DPerChannel
    QuantizedConv2DWithBias QuantizedConv2DWithBiasAndRelu QuantizedConv2DWithBiasAndReluAndRequantize
    QuantizedConv2DWithBiasAndRequantize QuantizedConv2DWithBiasSignedSumAndReluAndRequantize
    QuantizedConv2DWithBiasSumAndRelu QuantizedConv2DWithBiasSumAndReluAndRequantize QuantizedDepthwiseConv2D
    QuantizedDepthwiseConv2DWithBias QuantizedDepthwiseConv2DWithBiasAndRelu
    QuantizedDepthwiseConv2DWithBiasAndReluAndRequantize QuantizedInstanceNorm QuantizedMatMul QuantizedMatMulWithBias
    QuantizedMatMulWithBiasAndDequantize QuantizedMatMulWithBiasAndRelu QuantizedMatMulWithBiasAndReluAndRequantize
    QuantizedMatMulWithBiasAndRequantize QuantizedMaxPool QuantizedMul QuantizedRelu QuantizedRelu6 QuantizedReluX
    QuantizedReshape QuantizedResizeBilinear RFFT RFFT2D RFFT3D RFFTND RGBToHSV RaggedBincount RaggedCountSparseOutput
    RaggedCross RaggedFillEmptyRows RaggedFillEmptyRowsGrad RaggedGather RaggedRange RaggedTensorFromVariant
    RaggedTensorToSparse RaggedTensorToTensor RaggedTensorToVariant RaggedTensorToVariantGradient RandomGammaGrad
    RandomIndexShuffle Range Rank Real RealDiv Reciprocal ReciprocalGrad ReduceJoin RegexFullMatch RegexReplace Relu
    Relu6 Relu6Grad ReluGrad RequantizationRange RequantizationRangePerChannel Requantize RequantizePerChannel Reshape
    ResizeArea ResizeBicubic ResizeBicubicGrad ResizeBilinear ResizeBilinearGrad ResizeNearestNeighbor
    ResizeNearestNeighborGrad Reverse ReverseSequence ReverseV2 RightShift Rint Roll Round Rsqrt RsqrtGrad
    ScaleAndTranslate ScaleAndTranslateGrad ScatterNd ScatterNdNonAliasingAdd SegmentMax SegmentMaxV2 SegmentMean
    SegmentMin SegmentMinV2 SegmentProd SegmentProdV2 SegmentSum SegmentSumV2 Select SelectV2 SelfAdjointEig
    SelfAdjointEigV2 Selu SeluGrad SerializeManySparse SerializeSparse SerializeTensor SetSize Shape ShapeN Sigmoid
    SigmoidGrad Sign Sin Sinh Size Slice Snapshot SobolSample Softmax SoftmaxCrossEntropyWithLogits Softplus
    SoftplusGrad Softsign SoftsignGrad SpaceToBatch SpaceToBatchND SpaceToDepth SparseAdd SparseAddGrad SparseBincount
    SparseConcat SparseCountSparseOutput SparseCross SparseCrossHashed SparseCrossV2 SparseDenseCwiseAdd
    SparseDenseCwiseDiv SparseDenseCwiseMul SparseFillEmptyRows SparseFillEmptyRowsGrad SparseMatMul SparseReduceMax
    SparseReduceMaxSparse SparseReduceSum SparseReduceSumSparse SparseReorder SparseReshape SparseSegmentMean
    SparseSegmentMeanGrad SparseSegmentMeanGradV2 SparseSegmentMeanWithNumSegments SparseSegmentSqrtN
    SparseSegmentSqrtNGrad SparseSegmentSqrtNGradV2 SparseSegmentSqrtNWithNumSegments SparseSegmentSum
    SparseSegmentSumGrad SparseSegmentSumGradV2 SparseSegmentSumWithNumSegments SparseSlice SparseSliceGrad
    SparseSoftmax SparseSoftmaxCrossEntropyWithLogits SparseSparseMaximum SparseSparseMinimum SparseSplit
    SparseTensorDenseAdd SparseTensorDenseMatMul SparseToDense SparseToSparseSetOperation Spence Split SplitV Sqrt
    SqrtGrad Square SquaredDifference Squeeze StatelessCase StatelessIf StatelessMultinomial
    StatelessParameterizedTruncatedNormal StatelessRandomBinomial StatelessRandomGammaV2 StatelessRandomGammaV3
    StatelessRandomGetKeyCounter StatelessRandomGetKeyCounterAlg StatelessRandomNormal StatelessRandomNormalV2
    StatelessRandomPoisson StatelessRandomUniform StatelessRandomUniformFullInt StatelessRandomUniformFullIntV2
    StatelessRandomUniformInt StatelessRandomUniformIntV2 StatelessRandomUniformV2 StatelessSampleDistortedBoundingBox
    StatelessShuffle StatelessTruncatedNormal StatelessTruncatedNormalV2 StatelessWhile StaticRegexFullMatch
    StaticRegexReplace StochasticCastToInt StopGradient StridedSlice StridedSliceGrad StringFormat StringJoin
    StringLength StringLower StringNGrams StringSplit StringSplitV2 StringStrip StringToHashBucket
    StringToHashBucketFast StringToHashBucketStrong StringToNumber StringUpper Sub Substr Sum Svd Switch Tan Tanh
    TanhGrad TensorListConcat TensorListConcatLists TensorListConcatV2 TensorListElementShape TensorListFromTensor
    TensorListGather TensorListGetItem TensorListLength TensorListPopBack TensorListPushBack TensorListPushBackBatch
    TensorListReserve TensorListResize TensorListScatter TensorListScatterIntoExistingList TensorListScatterV2
    TensorListSetItem TensorListSplit TensorListStack TensorScatterAdd TensorScatterMax TensorScatterMin
    TensorScatterSub TensorScatterUpdate TensorStridedSliceUpdate Tile TileGrad ToBool TopK TopKV2 Transpose
    TridiagonalMatMul TridiagonalSolve TruncateDiv TruncateMod UnicodeDecode UnicodeDecodeWithOffsets UnicodeEncode
    UnicodeScript UnicodeTranscode UniformDequantize UniformQuantize UniformQuantizedAdd UniformQuantizedClipByValue
    UniformQuantizedConvolution UniformQuantizedConvolutionHybrid UniformQuantizedDot UniformQuantizedDotHybrid
    UniformRequantize Unique UniqueV2 UniqueWithCounts UniqueWithCountsV2 Unpack UnravelIndex UnsortedSegmentJoin
    UnsortedSegmentMax UnsortedSegmentMin UnsortedSegmentProd UnsortedSegmentSum UpperBound Where Xdivy Xlog1py Xlogy
    ZerosLike Zeta
"""
"""Operations without a state, whose outputs are functions of their inputs (TensorFlow 2.21). Trained graphs may hold
gradients."""

_STATE = """
    Assert AssignVariableOp Case HashTableV2 If LookupTableImportV2 Multinomial MutableHashTableV2 RandomStandardNormal
    RandomUniform RandomUniformInt ReadVariableOp ResourceGather ResourceGatherNd StatefulPartitionedCall
    TruncatedNormal VarHandleOp While
"""
"""Operations whose state belongs to the model: variables, tables, random numbers, and calls."""

_LOADING = """
    Assign AssignAddVariableOp AssignSubVariableOp DestroyResourceOp DisableCopyOnRead IsVariableInitialized
    LookupTableExportV2 LookupTableFindV2 LookupTableInsertV2 LookupTableSizeV2 MergeV2Checkpoints RestoreV2 SaveV2
    ShardedFilename ShardedFilespec TensorArrayCloseV3 TensorArrayConcatV3 TensorArrayGatherV3 TensorArrayReadV3
    TensorArrayScatterV3 TensorArraySizeV3 TensorArraySplitV3 TensorArrayV3 TensorArrayWriteV3 VarIsInitializedOp
    VariableV2
"""
"""Further operations of a SavedModel, outside its signatures, which save, restore and train it."""

RUN = frozenset((_COMPUTING + _STATE).split())
"""Operations that a graph may run."""
LOADED = RUN | frozenset(_LOADING.split())
"""Operations that a SavedModel may hold, which TensorFlow loads to run one of its signatures. Before, those that write
files lose their effect, and those that read them are confined to the model."""

WRITING, RESTORING = frozenset({"MergeV2Checkpoints", "SaveV2"}), "RestoreV2"
"""Operations of these that write files, and the one that reads them."""


def first_other(types: Iterable[str], allowed: frozenset[str]) -> str | None:
    """Return the first type of operation that is not allowed; None if there is none."""
    return next((kind for kind in types if kind not in allowed), None)
