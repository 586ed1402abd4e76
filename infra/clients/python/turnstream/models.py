"""Request and response types of the API. Generated from the API's OpenAPI document by `npm run generate:reference`. Do not edit."""

from __future__ import annotations

from typing import Any, Literal, TypedDict


class Admission(TypedDict):
    sequence: int
    version: int
    capacity: int
    running: int
    accepted: int
    max_concurrent: int
    max_staleness: int
    groups: int
    at: str | None


class AdmissionPage(TypedDict):
    items: list[Admission | AdmissionPart | AdmissionSpan]
    next_cursor: str | None


class AdmissionPart(TypedDict, total=False):
    sequence: int
    version: int
    capacity: int
    running: int
    accepted: int
    max_concurrent: int
    max_staleness: int
    groups: int
    at: str | None


class AdmissionSpan(TypedDict):
    sequence: int
    version: int
    capacity: int
    running: int
    accepted: int
    max_concurrent: int
    max_staleness: int
    groups: int
    at: str | None
    admissions: int
    capacity_min: int
    capacity_max: int
    running_min: int
    running_max: int


class Advisories(TypedDict):
    run_id: str
    items: list[Advisory]
    outages: list[ToolOutage]
    behind: int | None
    state: RunState


class Advisory(TypedDict):
    rule: str
    severity: str
    title: str
    detail: str
    is_over: bool
    page: str
    sql: str


class AnswerOfVersion(TypedDict):
    version: int
    answer: str
    tries: int
    right_answers: int
    reward_mean: float | None
    turns_mean: float | None
    trajectory_id: str
    attempt: int
    finished_at: str | None


class AttachedReward(TypedDict):
    run_id: str
    trajectory_id: str
    attempt: int
    turn: int
    name: str
    value: float | None
    source: str
    identifier: str
    in_time: bool
    late: bool
    counted: bool
    occurred_at: str | None


class AttachedRewardPage(TypedDict):
    items: list[AttachedReward | AttachedRewardPart]
    next_cursor: str | None


class AttachedRewardPart(TypedDict, total=False):
    run_id: str
    trajectory_id: str
    attempt: int
    turn: int
    name: str
    value: float | None
    source: str
    identifier: str
    in_time: bool
    late: bool
    counted: bool
    occurred_at: str | None


class Attempt(TypedDict):
    attempt: int
    status: str
    requested_at: str | None
    started_at: str | None
    worker_id: str
    expired_reason: str
    expired_at: str | None
    result: Trajectory | None


class BatchCommitSkipped(TypedDict):
    row: int
    reason: str


class _BatchCommit(TypedDict):
    epoch: int
    batch_sha256: str
    policy: CommittedWeights | None
    metrics: dict[str, float]


class _BatchCommitMaybe(TypedDict, total=False):
    skipped: list[BatchCommitSkipped]
    train_ms: float


class BatchCommit(_BatchCommit, _BatchCommitMaybe):
    pass


class _BatchRelease(TypedDict):
    epoch: int


class _BatchReleaseMaybe(TypedDict, total=False):
    reason: str


class BatchRelease(_BatchRelease, _BatchReleaseMaybe):
    pass


class CommittedBatch(TypedDict):
    step: int
    version: int
    lineage: str
    replayed: bool


class CommittedWeightsManifest(TypedDict):
    name: str
    sha256: str


class _CommittedWeights(TypedDict):
    uri: str
    sha256: str
    format: str


class _CommittedWeightsMaybe(TypedDict, total=False):
    bytes: int
    loadable: bool
    manifest: list[CommittedWeightsManifest]


class CommittedWeights(_CommittedWeights, _CommittedWeightsMaybe):
    pass


class ComparedFigure(TypedDict):
    name: str
    a: float
    b: float
    difference: float
    low: float
    high: float
    greater: float


class Compatibility(TypedDict):
    is_compatible: bool
    messages: list[str]


class Cost(TypedDict):
    version: int
    trajectories: int
    reward_sum: float | None
    prompt_tokens_per_reward: float | None
    completion_tokens_per_reward: float | None
    tool_calls_per_reward: float | None
    seconds_per_reward: float | None


class CostPage(TypedDict):
    items: list[Cost | CostPart]
    next_cursor: str | None


class CostPart(TypedDict, total=False):
    version: int
    trajectories: int
    reward_sum: float | None
    prompt_tokens_per_reward: float | None
    completion_tokens_per_reward: float | None
    tool_calls_per_reward: float | None
    seconds_per_reward: float | None


class _Curves(TypedDict):
    run_id: str
    every: int
    steps: list[int]
    series: dict[str, list[float | str | None]]


class _CurvesMaybe(TypedDict, total=False):
    first_steps: list[int]
    low: dict[str, list[float | str | None]]
    high: dict[str, list[float | str | None]]
    others: list[CurvesOfOther]


class Curves(_Curves, _CurvesMaybe):
    pass


class _CurvesOfOther(TypedDict):
    run_id: str
    every: int
    steps: list[int]
    series: dict[str, list[float | str | None]]


class _CurvesOfOtherMaybe(TypedDict, total=False):
    first_steps: list[int]
    low: dict[str, list[float | str | None]]
    high: dict[str, list[float | str | None]]


class CurvesOfOther(_CurvesOfOther, _CurvesOfOtherMaybe):
    pass


class _DeadLetter(TypedDict):
    original_topic: str
    original_partition: int
    original_offset: int
    original_timestamp: str | None
    original_value_bytes: int
    step: str
    reason: str
    error: str
    run_id: str
    event_id: str
    occurred_at: str | None
    _topic: str
    _partition: int
    _offset: int
    _timestamp: str | None


class _DeadLetterMaybe(TypedDict, total=False):
    original_key_base64: str
    original_value_base64: str
    header_names: list[str]
    header_values_base64: list[str]


class DeadLetter(_DeadLetter, _DeadLetterMaybe):
    pass


class DeadLetterPage(TypedDict):
    items: list[DeadLetter | DeadLetterPart]
    next_cursor: str | None


class DeadLetterPart(TypedDict, total=False):
    original_topic: str
    original_partition: int
    original_offset: int
    original_timestamp: str | None
    original_value_bytes: int
    step: str
    reason: str
    error: str
    run_id: str
    event_id: str
    occurred_at: str | None
    _topic: str
    _partition: int
    _offset: int
    _timestamp: str | None
    original_key_base64: str
    original_value_base64: str
    header_names: list[str]
    header_values_base64: list[str]


class Dependency(TypedDict):
    name: str
    state: Literal["up", "down"]
    detail: str
    ms: int


class Difference(TypedDict):
    kind: str
    name: str
    this_run: str
    other_run: str
    differs: bool
    other_runs: list[str]


class DifferenceList(TypedDict):
    items: list[Difference]


class Discard(TypedDict):
    reason: str
    version: int
    sequence: int
    run_id: str
    group_id: str
    trajectory_id: str
    attempt: int
    question_id: str
    reward: float | None
    tokens: int
    generated_tokens: int
    turns: int
    version_first: int
    version_last: int
    staleness_total: int
    staleness_in_flight: int
    staleness_in_queue: int
    staleness_worst: int
    staleness_best: int
    staleness_span: int
    staleness_token_mean: float | None
    staleness_token_p95: int
    staleness_token_max: int
    unknown_tokens: int
    flight_ms: int
    queue_ms: int
    at: str | None


class DiscardPage(TypedDict):
    items: list[Discard | DiscardPart]
    next_cursor: str | None


class DiscardPart(TypedDict, total=False):
    reason: str
    version: int
    sequence: int
    run_id: str
    group_id: str
    trajectory_id: str
    attempt: int
    question_id: str
    reward: float | None
    tokens: int
    generated_tokens: int
    turns: int
    version_first: int
    version_last: int
    staleness_total: int
    staleness_in_flight: int
    staleness_in_queue: int
    staleness_worst: int
    staleness_best: int
    staleness_span: int
    staleness_token_mean: float | None
    staleness_token_p95: int
    staleness_token_max: int
    unknown_tokens: int
    flight_ms: int
    queue_ms: int
    at: str | None


class ErrorsOfTool(TypedDict):
    status: str
    error_type: str
    calls: int
    ms_p50: float | None
    last_at: str | None


class Evaluation(TypedDict):
    run_id: str
    evaluation_id: str
    status: str
    dataset: str
    split: str
    policy_version: int
    decoding: str
    questions: int
    samples: int
    avg_f1: float | None
    avg_em: float | None
    avg_cem: float | None
    pass_f1: float | None
    pass_em: float | None
    reward_mean: float | None
    turns_mean: float | None
    tool_calls_mean: float | None
    started_at: str | None
    completed_at: str | None
    repeat: int
    left_out: int
    subject: str


class EvaluationComparison(TypedDict):
    a: str
    b: str
    paired_by: str
    questions: int
    only_a: int
    only_b: int
    left_out_a: list[str]
    left_out_b: list[str]
    draws: int
    confidence: float
    figures: list[ComparedFigure]


class EvaluationLevel(TypedDict):
    level: str
    questions: int
    answers: int
    avg_f1: float | None
    avg_f1_low: float | None
    avg_f1_high: float | None
    avg_em: float | None
    avg_cem: float | None
    avg_judge: float | None
    pass_f1: float | None
    pass_em: float | None
    pass_judge: float | None
    success_rate: float | None
    turns_mean: float | None
    tool_calls_mean: float | None
    prompt_tokens_mean: float | None
    generated_tokens_mean: float | None
    unanswered: int


class EvaluationPage(TypedDict):
    items: list[Evaluation | EvaluationPart]
    next_cursor: str | None


class EvaluationPart(TypedDict, total=False):
    run_id: str
    evaluation_id: str
    status: str
    dataset: str
    split: str
    policy_version: int
    decoding: str
    questions: int
    samples: int
    avg_f1: float | None
    avg_em: float | None
    avg_cem: float | None
    pass_f1: float | None
    pass_em: float | None
    reward_mean: float | None
    turns_mean: float | None
    tool_calls_mean: float | None
    started_at: str | None
    completed_at: str | None
    repeat: int
    left_out: int
    subject: str


class EvaluationResults(TypedDict):
    overall: EvaluationLevel | None
    levels: list[EvaluationLevel]


class FateCounts(TypedDict):
    reason: str
    counts: list[int]


class FlowColumns(TypedDict):
    attempt: list[int]
    start_ms: list[int]
    end_ms: list[int]
    decided_ms: list[int]
    version_first: list[int]
    version_last: list[int]
    step: list[int]
    staleness: list[int]
    worker: list[int]
    fate: list[int]
    reason: list[int]


class FlowVersions(TypedDict):
    numbers: list[int]
    at_ms: list[int]


class FlowSteps(TypedDict):
    numbers: list[int]
    at_ms: list[int]


class Flow(TypedDict):
    run_id: str
    trajectories: int
    is_whole: bool
    max_staleness: int | None
    fates: list[str]
    reasons: list[str]
    workers: list[str]
    ids: list[str]
    columns: FlowColumns
    versions: FlowVersions
    steps: FlowSteps


class FoundText(TypedDict):
    trajectory_id: str
    attempt: int
    turn: int
    worker_id: str
    policy_version_max: int
    match: str
    occurred_at: str | None
    offset: int
    head: str


class FoundTextPage(TypedDict):
    items: list[FoundText]
    next_cursor: str | None


class FoundTurn(TypedDict):
    turn: int
    field: str
    offset: int
    head: str
    match: str


class FoundTurns(TypedDict):
    run_id: str
    trajectory_id: str
    attempt: int
    turns: int
    is_whole: bool
    items: list[FoundTurn]


class Group(TypedDict):
    group_id: str
    run_id: str
    question_id: str
    question: str
    purpose: str
    group_size: int
    reward_mean: float | None
    reward_min: float | None
    reward_max: float | None
    trajectories: list[Trajectory]
    requested: list[Task]


class Health(TypedDict):
    alive: bool
    state: str
    detail: str
    figures: dict[str, float]
    uptime_s: int
    dependencies: list[Dependency]
    services: list[Service]


class HeldoutScore(TypedDict):
    version: int
    evaluation_id: str
    dataset: str
    samples: int
    questions: int
    answers: int
    avg_f1: float | None
    avg_f1_low: float | None
    avg_f1_high: float | None
    avg_em: float | None
    avg_em_low: float | None
    avg_em_high: float | None
    pass_f1: float | None
    pass_em: float | None
    success_rate: float | None
    turns_mean: float | None
    tool_calls_mean: float | None
    prompt_tokens_mean: float | None
    generated_tokens_mean: float | None
    reward_mean: float | None
    completed_at: str | None


class HeldoutScorePage(TypedDict):
    items: list[HeldoutScore | HeldoutScorePart]
    next_cursor: str | None


class HeldoutScorePart(TypedDict, total=False):
    version: int
    evaluation_id: str
    dataset: str
    samples: int
    questions: int
    answers: int
    avg_f1: float | None
    avg_f1_low: float | None
    avg_f1_high: float | None
    avg_em: float | None
    avg_em_low: float | None
    avg_em_high: float | None
    pass_f1: float | None
    pass_em: float | None
    success_rate: float | None
    turns_mean: float | None
    tool_calls_mean: float | None
    prompt_tokens_mean: float | None
    generated_tokens_mean: float | None
    reward_mean: float | None
    completed_at: str | None


class LatencySpan(TypedDict):
    from_ms: float | None
    to_ms: float | None
    calls: int
    failed: int


class LeaseDeadline(TypedDict):
    deadline: str


class _LeaseExtension(TypedDict):
    epoch: int


class _LeaseExtensionMaybe(TypedDict, total=False):
    progress: float


class LeaseExtension(_LeaseExtension, _LeaseExtensionMaybe):
    pass


class _LeaseRequest(TypedDict):
    epoch: int
    lineage: str


class _LeaseRequestMaybe(TypedDict, total=False):
    held: list[str]
    wait_ms: int
    format: Literal["arrow", "ndjson"]


class LeaseRequest(_LeaseRequest, _LeaseRequestMaybe):
    pass


class LeasedBatchGroups(TypedDict):
    group_id: str
    trajectories: int


class LeasedBatchData(TypedDict):
    href: str
    formats: list[str]
    shards: int


class LeasedBatch(TypedDict):
    batch_id: str
    step: int
    version_before: int
    batch_sha256: str
    rows: int
    trainable_rows: int
    tokens: int
    bytes: int
    deadline: str
    groups: list[LeasedBatchGroups]
    data: LeasedBatchData


class LedgerLastStep(TypedDict):
    step: int
    batch_sha256: str
    weights_sha256: str
    optimizer_sha256: str
    previous_sha256: str


class LedgerFirstDifference(TypedDict):
    step: int
    batch_sha256: str
    other_batch_sha256: str
    weights_sha256: str
    other_weights_sha256: str


Ledger = TypedDict(
    "Ledger",
    {
        "run_id": "str",
        "entries": "int",
        "last_sequence": "int",
        "missing": "int",
        "last_step": "LedgerLastStep | None",
        "with": "str | None",
        "shared_steps": "int | None",
        "first_difference": "LedgerFirstDifference | None",
    },
)


class LedgerCheckChecksBroken(TypedDict):
    sequence: int
    problem: str


class LedgerCheckChecks(TypedDict):
    check: Literal["sequence", "start", "chain", "steps", "weights"]
    checked: int
    broken: LedgerCheckChecksBroken | None


class LedgerCheckFirstBroken(TypedDict):
    check: Literal["sequence", "start", "chain", "steps", "weights"]
    sequence: int
    problem: str


class LedgerCheck(TypedDict):
    run_id: str
    state: Literal["none", "intact", "incomplete", "broken"]
    entries: int
    checks: list[LedgerCheckChecks]
    first_broken: LedgerCheckFirstBroken | None


class Length(TypedDict):
    turns: int
    early: int
    late: int
    early_reward: float | None
    late_reward: float | None
    early_share: float | None
    late_share: float | None
    by_length: float | None
    at_same_length: float | None


class LengthReport(TypedDict):
    items: list[Length]
    by_length: float
    at_same_length: float


class LineageTurn(TypedDict):
    run_id: str
    step: int
    version_before: int
    version_after: int
    trained_at: str | None
    group_id: str
    trajectory_id: str
    attempt: int
    question_id: str
    trajectory_reward: float | None
    advantage: float | None
    staleness_total: int
    staleness_in_flight: int
    staleness_in_queue: int
    turn: int
    policy_version_min: int
    policy_version_max: int
    completion_tokens: int
    tool: str
    call_id: str
    tool_status: str
    tool_error_type: str
    tool_ms: float | None
    tool_arguments: str
    tool_result_head: str
    occurred_at: str | None
    _topic: str
    _partition: int
    _offset: int


class LineageTurnPage(TypedDict):
    items: list[LineageTurn | LineageTurnPart]
    next_cursor: str | None


class LineageTurnPart(TypedDict, total=False):
    run_id: str
    step: int
    version_before: int
    version_after: int
    trained_at: str | None
    group_id: str
    trajectory_id: str
    attempt: int
    question_id: str
    trajectory_reward: float | None
    advantage: float | None
    staleness_total: int
    staleness_in_flight: int
    staleness_in_queue: int
    turn: int
    policy_version_min: int
    policy_version_max: int
    completion_tokens: int
    tool: str
    call_id: str
    tool_status: str
    tool_error_type: str
    tool_ms: float | None
    tool_arguments: str
    tool_result_head: str
    occurred_at: str | None
    _topic: str
    _partition: int
    _offset: int


class MergedFlowColumns(TypedDict):
    trained: list[int]
    collected: list[int]
    discarded: list[int]
    lost: list[int]
    open: list[int]
    running: list[int]
    staleness_max: list[int]
    version_first: list[int]


class MergedFlow(TypedDict):
    run_id: str
    trajectories: int
    every_s: int
    at_ms: list[int]
    columns: MergedFlowColumns


class NamedWeights(TypedDict):
    version: int
    uri: str
    sha256: str
    format: str
    weights: Literal["elsewhere", "in_log", "unpublished"]


class OneTool(TypedDict):
    run_id: str
    tool: str
    calls: int
    failed: int
    cache_hits: int
    ms_p50: float | None
    ms_p95: float | None
    ms_p99: float | None
    ms_max: float | None
    latencies: list[LatencySpan]
    error_types: list[ErrorsOfTool]
    slowest: list[SlowCall]


class OutcomeHistogram(TypedDict):
    figure: str
    low: float
    width: float
    fates: list[FateCounts]


class OutcomeHistograms(TypedDict):
    run_id: str
    items: list[OutcomeHistogram]


class OutlineColumns(TypedDict):
    at_ms: list[float | None]
    tool_at_ms: list[float | None]
    turn: list[float | None]
    version_min: list[float | None]
    version_max: list[float | None]
    prompt_tokens: list[float | None]
    completion_tokens: list[float | None]
    generation_ms: list[float | None]
    generation_queue_ms: list[float | None]
    tool_ms: list[float | None]
    tool_queue_ms: list[float | None]
    result_chars: list[float | None]
    reward: list[float | None]
    worker: list[float | None]
    tool: list[float | None]
    status: list[float | None]
    error_type: list[float | None]


class Outline(TypedDict):
    run_id: str
    trajectory_id: str
    attempt: int
    turns: int
    is_whole: bool
    tools: list[str]
    statuses: list[str]
    error_types: list[str]
    workers: list[str]
    columns: OutlineColumns


class Policy(TypedDict):
    run_id: str
    version: int
    parent: int
    sha256: str
    format: str
    weights_bytes: int
    uri: str
    optimizer_bytes: int
    optimizer_sha256: str
    architecture: str
    backend: str
    occurred_at: str | None


class PolicyPage(TypedDict):
    items: list[Policy | PolicyPart]
    next_cursor: str | None


class PolicyPart(TypedDict, total=False):
    run_id: str
    version: int
    parent: int
    sha256: str
    format: str
    weights_bytes: int
    uri: str
    optimizer_bytes: int
    optimizer_sha256: str
    architecture: str
    backend: str
    occurred_at: str | None


class _PostedEvent(TypedDict):
    type: Literal["RewardAttached"]
    trajectory_id: str
    value: float


class _PostedEventMaybe(TypedDict, total=False):
    attempt: int
    turn: int
    name: str
    source: str
    identifier: str
    run_id: str
    event_id: str


class PostedEvent(_PostedEvent, _PostedEventMaybe):
    pass


class ProblemErrors(TypedDict):
    parameter: str
    message: str


class ProblemRestore(TypedDict):
    version: int
    uri: str
    sha256: str
    format: str
    weights: Literal["elsewhere", "in_log", "unpublished"]


class _Problem(TypedDict):
    type: str
    title: str
    status: int
    detail: str
    code: Literal["CONFIG_INVALID", "USAGE_INVALID", "TOOLCHAIN_MISSING", "PORT_IN_USE", "DATA_DIR_IN_USE", "DATA_DIR_UNUSABLE", "KAFKA_UNAVAILABLE", "LOG_CUT", "DISK_FULL", "TOPIC_MISMATCH", "PRODUCER_FENCED", "GROUP_FENCED", "OFFSETS_OUT_OF_RANGE", "RECORD_TOO_LARGE", "LEDGER_BROKEN", "WEIGHTS_MISMATCH", "WEIGHTS_UNAVAILABLE", "ENGINE_UNAVAILABLE", "ENGINE_REFUSED", "RUN_CONFLICT", "RUN_FINISHED", "COORDINATOR_UNAVAILABLE", "FENCED", "LINEAGE_MISMATCH", "LINEAGE_UNKNOWN", "REWIND_REFUSED", "WEIGHTS_CONFLICT", "BATCH_COMMITTED", "BATCH_RELEASED", "BATCH_OUT_OF_ORDER", "BATCH_MISMATCH", "BACKEND_UNAVAILABLE", "SCHEMA_INCOMPATIBLE", "ROWS_GONE", "RANGE_UNSATISFIABLE", "SCHEMA_INVALID", "SCHEMA_NOT_FOUND", "REGISTRY_UNAVAILABLE", "STORE_UNAVAILABLE", "STORE_LOCKED", "STORE_REFUSED", "STORE_FULL", "MIGRATION_MISMATCH", "QUESTIONS_INVALID", "EVALUATIONS_UNRELATED", "AUDIT_FAILED", "REPLAY_DIFFERS", "REQUEST_INVALID", "CURSOR_MISMATCH", "NOT_FOUND", "METHOD_NOT_ALLOWED", "UNAUTHENTICATED", "FORBIDDEN", "FOREIGN_ORIGIN", "BODY_TOO_LARGE", "MEDIA_TYPE_UNSUPPORTED", "RATE_LIMITED", "SQL_REFUSED", "SQL_INVALID", "SQL_LIMIT", "MODEL_UNAVAILABLE", "MODEL_REFUSED", "TOOLS_UNAVAILABLE", "NOT_READY", "INTERNAL"]
    request_id: str


class _ProblemMaybe(TypedDict, total=False):
    errors: list[ProblemErrors]
    restore: ProblemRestore


class Problem(_Problem, _ProblemMaybe):
    pass


class PublishedVersion(TypedDict):
    version: int
    sha256: str
    replayed: bool


class PublishedWeightsManifest(TypedDict):
    name: str
    sha256: str


class _PublishedWeights(TypedDict):
    version: int
    uri: str
    sha256: str
    format: str


class _PublishedWeightsMaybe(TypedDict, total=False):
    epoch: int
    bytes: int
    loadable: bool
    manifest: list[PublishedWeightsManifest]


class PublishedWeights(_PublishedWeights, _PublishedWeightsMaybe):
    pass


class Question(TypedDict):
    question_id: str
    dataset: str
    split: str
    accepted: bool
    reason: str
    run_id: str
    question: str
    answers: list[str]
    aug_answers: list[str]
    hops: int
    kind: str
    gates: list[str]
    gates_passed: list[bool]
    closed_book_right: int
    closed_book_asked: int
    drawn_for_review: bool
    review: str
    occurred_at: str | None


class QuestionHistory(TypedDict):
    run_id: str
    question_id: str
    question: str
    items: list[AnswerOfVersion]
    is_whole: bool


class QuestionPage(TypedDict):
    items: list[Question | QuestionPart]
    next_cursor: str | None


class QuestionPart(TypedDict, total=False):
    question_id: str
    dataset: str
    split: str
    accepted: bool
    reason: str
    run_id: str
    question: str
    answers: list[str]
    aug_answers: list[str]
    hops: int
    kind: str
    gates: list[str]
    gates_passed: list[bool]
    closed_book_right: int
    closed_book_asked: int
    drawn_for_review: bool
    review: str
    occurred_at: str | None


class Readiness(TypedDict):
    ready: bool


class RecordedEvents(TypedDict):
    recorded: int
    event_ids: list[str]


class RegistryConfig(TypedDict):
    compatibilityLevel: Literal["FULL_TRANSITIVE"]


class RegistryConfigChange(TypedDict):
    compatibility: Literal["FULL_TRANSITIVE"]


class RegistryError(TypedDict):
    error_code: int
    message: str
    request_id: str


class RegistryMode(TypedDict):
    mode: Literal["READWRITE"]


class ReleasedBatches(TypedDict):
    released: list[str]


class _Run(TypedDict):
    run_id: str
    status: str
    reason: str
    dataset: str
    algorithm: str
    backend: str
    learner: str
    seed: int
    group_size: int
    batch_groups: int
    max_staleness: int
    max_concurrent: int
    max_attempts: int
    stale_policy: str
    planned_steps: int
    steps: int
    version: int
    reward_mean: float | None
    reward_mean_first_20: float | None
    reward_mean_last_20: float | None
    trained: int
    discarded: int
    tokens: int
    staleness_max: float | None
    started_at: str | None
    finished_at: str | None
    last_step_at: str | None
    purposes: list[str]
    is_trained: bool
    last_at: str | None


class _RunMaybe(TypedDict, total=False):
    reward_spark: list[float | None]


class Run(_Run, _RunMaybe):
    pass


class RunPage(TypedDict):
    items: list[Run | RunPart]
    next_cursor: str | None


class RunPart(TypedDict, total=False):
    run_id: str
    status: str
    reason: str
    dataset: str
    algorithm: str
    backend: str
    learner: str
    seed: int
    group_size: int
    batch_groups: int
    max_staleness: int
    max_concurrent: int
    max_attempts: int
    stale_policy: str
    planned_steps: int
    steps: int
    version: int
    reward_mean: float | None
    reward_mean_first_20: float | None
    reward_mean_last_20: float | None
    trained: int
    discarded: int
    tokens: int
    staleness_max: float | None
    started_at: str | None
    finished_at: str | None
    last_step_at: str | None
    purposes: list[str]
    is_trained: bool
    last_at: str | None
    reward_spark: list[float | None]


class RunQuestion(TypedDict):
    question_id: str
    text: str
    tries: int
    right_answers: int
    f1_mean: float | None
    reward_mean: float | None
    outcome: str
    flips: int
    first_version: int
    last_version: int


class RunQuestionPage(TypedDict):
    items: list[RunQuestion | RunQuestionPart]
    next_cursor: str | None


class RunQuestionPart(TypedDict, total=False):
    question_id: str
    text: str
    tries: int
    right_answers: int
    f1_mean: float | None
    reward_mean: float | None
    outcome: str
    flips: int
    first_version: int
    last_version: int


class RunState(TypedDict):
    continued: int
    capacity: int
    running: int
    max_concurrent: int
    admitted_at: str | None
    worst_step: int
    worst_trajectory_id: str
    worst_attempt: int
    worst_reward: float | None
    trainer: str
    ledger_entry: str
    ledger_at: str | None


class _SchemaInput(TypedDict):
    schema: str


class _SchemaInputMaybe(TypedDict, total=False):
    schemaType: Literal["AVRO"]
    references: list[Any]


class SchemaInput(_SchemaInput, _SchemaInputMaybe):
    pass


class SchemaText(TypedDict):
    schema: str


class SchemaUse(TypedDict):
    subject: str
    version: int


class SchemaVersion(TypedDict):
    subject: str
    version: int
    id: int
    schema: str
    schemaType: Literal["AVRO"]


class Score(TypedDict):
    evaluation_id: str
    run_id: str
    question_id: str
    trajectory_id: str
    sample: int
    attempt: int
    answer: str
    status: str
    reward: float | None
    f1: float | None
    em: float | None
    cem: float | None
    turns: int
    tool_calls: int
    tokens: int
    prompt_tokens: int
    generated_tokens: int
    content_id: str
    level: str
    task_id: str
    attachment: str
    judge: str
    verdict: str
    judge_reason: str
    judge_tries: int
    occurred_at: str | None


class ScorePage(TypedDict):
    items: list[Score | ScorePart]
    next_cursor: str | None


class ScorePart(TypedDict, total=False):
    evaluation_id: str
    run_id: str
    question_id: str
    trajectory_id: str
    sample: int
    attempt: int
    answer: str
    status: str
    reward: float | None
    f1: float | None
    em: float | None
    cem: float | None
    turns: int
    tool_calls: int
    tokens: int
    prompt_tokens: int
    generated_tokens: int
    content_id: str
    level: str
    task_id: str
    attachment: str
    judge: str
    verdict: str
    judge_reason: str
    judge_tries: int
    occurred_at: str | None


class SelectionBias(TypedDict):
    step: int
    kept: int
    kept_reward_mean: float | None
    kept_reward_p50: float | None
    kept_reward_p95: float | None
    kept_turns_mean: float | None
    kept_turns_p50: float | None
    kept_turns_p95: float | None
    kept_tokens_mean: float | None
    kept_tokens_p50: float | None
    kept_tokens_p95: float | None
    kept_staleness_mean: float | None
    kept_flight_ms_mean: float | None
    discarded: int
    discarded_reward_mean: float | None
    discarded_reward_p50: float | None
    discarded_reward_p95: float | None
    discarded_turns_mean: float | None
    discarded_turns_p50: float | None
    discarded_turns_p95: float | None
    discarded_tokens_mean: float | None
    discarded_tokens_p50: float | None
    discarded_tokens_p95: float | None
    discarded_staleness_mean: float | None
    discarded_flight_ms_mean: float | None
    reward_ks: float | None
    turns_ks: float | None
    tokens_ks: float | None


class SelectionBiasFigures(TypedDict):
    kept: int
    kept_reward_mean: float | None
    kept_reward_p50: float | None
    kept_reward_p95: float | None
    kept_turns_mean: float | None
    kept_turns_p50: float | None
    kept_turns_p95: float | None
    kept_tokens_mean: float | None
    kept_tokens_p50: float | None
    kept_tokens_p95: float | None
    kept_staleness_mean: float | None
    kept_flight_ms_mean: float | None
    discarded: int
    discarded_reward_mean: float | None
    discarded_reward_p50: float | None
    discarded_reward_p95: float | None
    discarded_turns_mean: float | None
    discarded_turns_p50: float | None
    discarded_turns_p95: float | None
    discarded_tokens_mean: float | None
    discarded_tokens_p50: float | None
    discarded_tokens_p95: float | None
    discarded_staleness_mean: float | None
    discarded_flight_ms_mean: float | None
    reward_ks: float | None
    turns_ks: float | None
    tokens_ks: float | None


class SelectionBiasOfReason(TypedDict):
    reason: str
    trajectories: int
    reward_mean: float | None
    reward_p50: float | None
    reward_p95: float | None
    turns_mean: float | None
    turns_p50: float | None
    turns_p95: float | None
    tokens_mean: float | None
    tokens_p50: float | None
    tokens_p95: float | None
    staleness_mean: float | None
    flight_ms_mean: float | None
    reward_ks: float | None
    turns_ks: float | None
    tokens_ks: float | None


class SelectionBiasPage(TypedDict):
    items: list[SelectionBias]
    next_cursor: str | None
    overall: SelectionBiasFigures | None
    by_reason: list[SelectionBiasOfReason]


class Service(TypedDict):
    name: str
    state: str
    detail: str
    restarts: int
    since: str


class Session(TypedDict):
    needs_key: bool
    signed_in: bool
    scopes: list[str]


class SlowCall(TypedDict):
    trajectory_id: str
    attempt: int
    turn: int
    worker_id: str
    status: str
    error_type: str
    ms: float | None
    arguments: str
    occurred_at: str | None


class _SqlQuery(TypedDict):
    query: str


class _SqlQueryMaybe(TypedDict, total=False):
    params: dict[str, Any]
    format: Literal["JSON", "JSONCompact", "JSONEachRow", "JSONCompactEachRow", "CSV", "CSVWithNames", "TSV", "TSVWithNames", "Parquet", "Arrow", "ArrowStream", "Pretty", "PrettyCompact", "Markdown"]


class SqlQuery(_SqlQuery, _SqlQueryMaybe):
    pass


class Step(TypedDict):
    run_id: str
    step: int
    version_before: int
    version_after: int
    groups: int
    trajectories: int
    tokens: int
    generated_tokens: int
    reward_mean: float | None
    f1_mean: float | None
    em_mean: float | None
    format_mean: float | None
    turns_mean: float | None
    tool_calls_mean: float | None
    loss: float | None
    approx_kl: float | None
    behave_kl: float | None
    clip_fraction: float | None
    capped_fraction: float | None
    ess: float | None
    entropy: float | None
    grad_norm: float | None
    staleness_mean: float | None
    staleness_p95: float | None
    staleness_max: float | None
    staleness_in_flight_mean: float | None
    staleness_in_queue_mean: float | None
    staleness_token_mean: float | None
    staleness_token_p95: float | None
    staleness_token_max: float | None
    unknown_tokens: int
    wait_ms: float | None
    train_ms: float | None
    batch_sha256: str
    weights_sha256: str
    optimizer_sha256: str
    previous_sha256: str
    sequence: int
    at: str | None


class StepPage(TypedDict):
    items: list[Step | StepPart]
    next_cursor: str | None


class StepPart(TypedDict, total=False):
    run_id: str
    step: int
    version_before: int
    version_after: int
    groups: int
    trajectories: int
    tokens: int
    generated_tokens: int
    reward_mean: float | None
    f1_mean: float | None
    em_mean: float | None
    format_mean: float | None
    turns_mean: float | None
    tool_calls_mean: float | None
    loss: float | None
    approx_kl: float | None
    behave_kl: float | None
    clip_fraction: float | None
    capped_fraction: float | None
    ess: float | None
    entropy: float | None
    grad_norm: float | None
    staleness_mean: float | None
    staleness_p95: float | None
    staleness_max: float | None
    staleness_in_flight_mean: float | None
    staleness_in_queue_mean: float | None
    staleness_token_mean: float | None
    staleness_token_p95: float | None
    staleness_token_max: float | None
    unknown_tokens: int
    wait_ms: float | None
    train_ms: float | None
    batch_sha256: str
    weights_sha256: str
    optimizer_sha256: str
    previous_sha256: str
    sequence: int
    at: str | None


class StepReport(TypedDict):
    step: Step
    trajectories: list[TrainedTrajectory]
    discarded: list[Discard]
    truncated: bool


class StepSpread(TypedDict):
    step: int
    at: str | None
    trajectories: int
    finished: int
    reward_all_mean: float | None
    reward_p25: float | None
    reward_p50: float | None
    reward_p75: float | None
    f1_p25: float | None
    f1_p50: float | None
    f1_p75: float | None
    turns_p25: int
    turns_p50: int
    turns_p75: int
    tool_calls_p25: int
    tool_calls_p50: int
    tool_calls_p75: int
    prompt_tokens_mean: float | None
    prompt_tokens_p25: int
    prompt_tokens_p50: int
    prompt_tokens_p75: int
    prompt_tokens_p95: int
    generated_tokens_mean: float | None
    generated_tokens_p25: int
    generated_tokens_p50: int
    generated_tokens_p75: int
    generated_tokens_p95: int


class StepSpreadPage(TypedDict):
    items: list[StepSpread | StepSpreadPart]
    next_cursor: str | None


class StepSpreadPart(TypedDict, total=False):
    step: int
    at: str | None
    trajectories: int
    finished: int
    reward_all_mean: float | None
    reward_p25: float | None
    reward_p50: float | None
    reward_p75: float | None
    f1_p25: float | None
    f1_p50: float | None
    f1_p75: float | None
    turns_p25: int
    turns_p50: int
    turns_p75: int
    tool_calls_p25: int
    tool_calls_p50: int
    tool_calls_p75: int
    prompt_tokens_mean: float | None
    prompt_tokens_p25: int
    prompt_tokens_p50: int
    prompt_tokens_p75: int
    prompt_tokens_p95: int
    generated_tokens_mean: float | None
    generated_tokens_p25: int
    generated_tokens_p50: int
    generated_tokens_p75: int
    generated_tokens_p95: int


class StepStaleness(TypedDict):
    run_id: str
    step: int
    trajectories: int
    staleness_mean: float | None
    staleness_in_flight_mean: float | None
    staleness_in_queue_mean: float | None
    staleness_worst: int
    staleness_token_mean: float | None
    unknown_tokens: int
    tokens: int
    turns_mean: float | None
    reward_mean: float | None
    flight_ms_mean: float | None
    queue_ms_mean: float | None
    discarded: int
    discarded_staleness_mean: float | None
    discarded_staleness_in_flight_mean: float | None
    discarded_staleness_in_queue_mean: float | None
    discarded_staleness_worst: int
    discarded_staleness_token_mean: float | None
    discarded_unknown_tokens: int
    discarded_tokens: int
    discarded_turns_mean: float | None
    discarded_reward_mean: float | None
    discarded_flight_ms_mean: float | None
    discarded_queue_ms_mean: float | None


class StepStalenessPage(TypedDict):
    items: list[StepStaleness | StepStalenessPart]
    next_cursor: str | None


class StepStalenessPart(TypedDict, total=False):
    run_id: str
    step: int
    trajectories: int
    staleness_mean: float | None
    staleness_in_flight_mean: float | None
    staleness_in_queue_mean: float | None
    staleness_worst: int
    staleness_token_mean: float | None
    unknown_tokens: int
    tokens: int
    turns_mean: float | None
    reward_mean: float | None
    flight_ms_mean: float | None
    queue_ms_mean: float | None
    discarded: int
    discarded_staleness_mean: float | None
    discarded_staleness_in_flight_mean: float | None
    discarded_staleness_in_queue_mean: float | None
    discarded_staleness_worst: int
    discarded_staleness_token_mean: float | None
    discarded_unknown_tokens: int
    discarded_tokens: int
    discarded_turns_mean: float | None
    discarded_reward_mean: float | None
    discarded_flight_ms_mean: float | None
    discarded_queue_ms_mean: float | None


class Sync(TypedDict):
    version: int
    worker_id: str
    published_at: str | None
    first_turn_at: str | None
    last_turn_at: str | None
    turns: int
    lag_ms: float | None


class Syncs(TypedDict):
    run_id: str
    items: list[Sync]


class Table(TypedDict):
    table: str
    engine: str
    columns: list[TableColumn]


class TableColumn(TypedDict):
    name: str
    type: str
    comment: str


class TableList(TypedDict):
    items: list[Table]


class Task(TypedDict):
    run_id: str
    group_id: str
    trajectory_id: str
    attempt: int
    sample: int
    group_size: int
    purpose: str
    question_id: str
    question: str
    decoding: str
    policy_version: int
    admitted_version: int
    max_turns: int
    max_tokens: int
    max_wall_ms: int
    occurred_at: str | None


class Tool(TypedDict):
    run_id: str
    tool: str
    calls: int
    ok: int
    errors: int
    timeouts: int
    refused: int
    failure_rate: float | None
    cache_hits: int
    truncated_results: int
    ms_mean: float | None
    ms_p50: float | None
    ms_p95: float | None
    ms_p99: float | None
    ms_max: float | None
    result_chars_mean: float | None
    first_at: str | None
    last_at: str | None


class _ToolCall(TypedDict):
    run_id: str
    group_id: str
    trajectory_id: str
    attempt: int
    turn: int
    purpose: str
    worker_id: str
    call_id: str
    tool: str
    status: str
    error_type: str
    started_at: str | None
    ms: float | None
    arguments: str
    result_head: str
    result_chars: int
    truncated: bool
    cache_hit: bool
    policy_version_min: int
    policy_version_max: int
    occurred_at: str | None


class _ToolCallMaybe(TypedDict, total=False):
    result: str
    item_urls: list[str]
    item_titles: list[str]


class ToolCall(_ToolCall, _ToolCallMaybe):
    pass


class ToolCallPage(TypedDict):
    items: list[ToolCall | ToolCallPart]
    next_cursor: str | None


class ToolCallPart(TypedDict, total=False):
    run_id: str
    group_id: str
    trajectory_id: str
    attempt: int
    turn: int
    purpose: str
    worker_id: str
    call_id: str
    tool: str
    status: str
    error_type: str
    started_at: str | None
    ms: float | None
    arguments: str
    result_head: str
    result_chars: int
    truncated: bool
    cache_hit: bool
    policy_version_min: int
    policy_version_max: int
    occurred_at: str | None
    result: str
    item_urls: list[str]
    item_titles: list[str]


class ToolChange(TypedDict):
    tool: str
    error_type: str
    calls_before: int
    calls_since: int
    ms_p50_before: float | None
    ms_p50_since: float | None
    ms_p95_before: float | None
    ms_p95_since: float | None
    slower: float | None
    slowest_arguments_since: str


class ToolError(TypedDict):
    tool: str
    error_type: str
    status: str
    calls: int
    last_at: str | None


ToolOutage = TypedDict(
    "ToolOutage",
    {
        "tool": "str",
        "from": "str | None",
        "to": "str | None",
        "calls": "int",
        "failed": "int",
        "usual_failure_rate": "float | None",
        "from_step": "int",
        "to_step": "int",
    },
)


class _ToolReport(TypedDict):
    items: list[Tool]
    error_types: list[ToolError]


class _ToolReportMaybe(TypedDict, total=False):
    changes: list[ToolChange]


class ToolReport(_ToolReport, _ToolReportMaybe):
    pass


class ToolSpan(TypedDict):
    tool: str
    at: str | None
    calls: int
    failed: int
    ms_p50: float | None
    ms_p95: float | None


class ToolWeather(TypedDict):
    run_id: str
    every_s: int
    items: list[ToolSpan]
    outages: list[ToolOutage]


class TrainedTrajectory(TypedDict):
    step: int
    advantage: float | None
    run_id: str
    group_id: str
    trajectory_id: str
    attempt: int
    question_id: str
    reward: float | None
    tokens: int
    generated_tokens: int
    turns: int
    version_first: int
    version_last: int
    staleness_total: int
    staleness_in_flight: int
    staleness_in_queue: int
    staleness_worst: int
    staleness_best: int
    staleness_span: int
    staleness_token_mean: float | None
    staleness_token_p95: int
    staleness_token_max: int
    unknown_tokens: int
    flight_ms: int
    queue_ms: int
    at: str | None


class TrainerClaimPrepared(TypedDict):
    batch_id: str
    weights_sha256: str


class _TrainerClaimRewind(TypedDict):
    to_version: int


class _TrainerClaimRewindMaybe(TypedDict, total=False):
    reason: str


class TrainerClaimRewind(_TrainerClaimRewind, _TrainerClaimRewindMaybe):
    pass


class _TrainerClaim(TypedDict):
    trainer_id: str


class _TrainerClaimMaybe(TypedDict, total=False):
    framework: str
    lineage: str
    prepared: TrainerClaimPrepared
    rewind: TrainerClaimRewind


class TrainerClaim(_TrainerClaim, _TrainerClaimMaybe):
    pass


class _TrainerClaimed(TypedDict):
    epoch: int
    version: int
    lineage: str
    lease_ms: int


class _TrainerClaimedMaybe(TypedDict, total=False):
    restore: NamedWeights


class TrainerClaimed(_TrainerClaimed, _TrainerClaimedMaybe):
    pass


class Training(TypedDict):
    step: int
    attempt: int
    run_id: str
    reward: float | None
    advantage: float | None
    staleness_total: int
    staleness_in_flight: int
    staleness_in_queue: int
    staleness_worst: int
    staleness_token_mean: float | None
    unknown_tokens: int
    flight_ms: int
    queue_ms: int
    at: str | None


class _Trajectory(TypedDict):
    run_id: str
    group_id: str
    trajectory_id: str
    attempt: int
    purpose: str
    worker_id: str
    question_id: str
    question: str
    answer: str
    status: str
    error: str
    reward: float | None
    f1: float | None
    em: float | None
    cem: float | None
    format_ok: bool
    turns: int
    tool_calls: int
    tool_errors: int
    prompt_tokens: int
    completion_tokens: int
    version_first: int
    version_last: int
    started_at: str | None
    finished_at: str | None
    judge: str
    verdict: str
    judge_reason: str
    judge_tries: int
    judge_ms: float | None
    judge_served: str
    judge_version: int
    judge_prompt_sha256: str
    asked_as: str
    called_invalid: bool
    _topic: str
    _partition: int
    _offset: int
    _timestamp: str | None


class _TrajectoryMaybe(TypedDict, total=False):
    fate: str
    fate_step: int
    fate_reason: str
    fate_reward: float | None
    advantage: float | None


class Trajectory(_Trajectory, _TrajectoryMaybe):
    pass


class TrajectoryCollection(TypedDict):
    batch: int
    attempt: int
    run_id: str
    reward: float | None
    advantage: float | None
    staleness_total: int
    staleness_in_flight: int
    staleness_in_queue: int
    staleness_worst: int
    staleness_token_mean: float | None
    unknown_tokens: int
    flight_ms: int
    queue_ms: int
    at: str | None


class TrajectoryDiscard(TypedDict):
    attempt: int
    run_id: str
    reason: str
    version: int
    staleness_total: int
    at: str | None


class TrajectoryNeighbor(TypedDict):
    trajectory_id: str
    attempt: int


class TrajectoryNeighbors(TypedDict):
    previous: TrajectoryNeighbor | None
    next: TrajectoryNeighbor | None


class TrajectoryPage(TypedDict):
    items: list[Trajectory | TrajectoryPart]
    next_cursor: str | None


class TrajectoryPart(TypedDict, total=False):
    run_id: str
    group_id: str
    trajectory_id: str
    attempt: int
    purpose: str
    worker_id: str
    question_id: str
    question: str
    answer: str
    status: str
    error: str
    reward: float | None
    f1: float | None
    em: float | None
    cem: float | None
    format_ok: bool
    turns: int
    tool_calls: int
    tool_errors: int
    prompt_tokens: int
    completion_tokens: int
    version_first: int
    version_last: int
    started_at: str | None
    finished_at: str | None
    judge: str
    verdict: str
    judge_reason: str
    judge_tries: int
    judge_ms: float | None
    judge_served: str
    judge_version: int
    judge_prompt_sha256: str
    asked_as: str
    called_invalid: bool
    _topic: str
    _partition: int
    _offset: int
    _timestamp: str | None
    fate: str
    fate_step: int
    fate_reason: str
    fate_reward: float | None
    advantage: float | None


class TrajectoryReport(TypedDict):
    trajectory_id: str
    run_id: str
    group_id: str
    purpose: str
    question_id: str
    question: str
    attempts: list[Attempt]
    training: list[Training]
    collected: list[TrajectoryCollection]
    discarded: list[TrajectoryDiscard]
    rewound: list[TrajectoryRewind]


class TrajectoryRewind(TypedDict):
    attempt: int
    run_id: str
    step: int
    version: int
    to_version: int
    at: str | None


class _Turn(TypedDict):
    run_id: str
    group_id: str
    trajectory_id: str
    attempt: int
    turn: int
    purpose: str
    worker_id: str
    policy_version_min: int
    policy_version_max: int
    unknown_tokens: int
    policy_span_versions: list[int]
    policy_span_tokens: list[int]
    prompt_tokens: int
    completion_tokens: int
    generation_ms: float | None
    generation_queue_ms: float | None
    generation_retries: int
    generation_retry_ms: float | None
    generation_server_ms: float | None
    first_token_ms: float | None
    stop_text: str
    finish_reason: str
    text_head: str
    tool: str
    call_id: str
    tool_status: str
    tool_error_type: str
    tool_started_at: str | None
    tool_ms: float | None
    tool_queue_ms: float | None
    tool_retries: int
    tool_retry_ms: float | None
    tool_server_ms: float | None
    tool_arguments: str
    tool_result_head: str
    tool_result_chars: int
    tool_item_urls: list[str]
    tool_item_titles: list[str]
    truncated: bool
    cache_hit: bool
    reward: float | None
    decision_candidates: int
    decision_chosen: int
    decision_logprob: float | None
    decision_entropy: float | None
    request_id: str
    branch_parent: int
    prompt_keep: int
    prompt_sha256: str
    logprobs_kind: str
    model: str
    engine: str
    occurred_at: str | None
    _topic: str
    _partition: int
    _offset: int
    _timestamp: str | None


class _TurnMaybe(TypedDict, total=False):
    text: str
    token_ids: list[int]
    logprobs: list[float | None]
    tool_result: str
    prompt_ids: list[int]
    loss_mask: list[int]
    sampling: str
    tokenizer_sha256: str
    image_sha256s: list[str]
    image_mimes: list[str]
    image_bytes: list[int]
    image_uris: list[str]
    extra_kinds: list[str]
    extra_uris: list[str]
    extra_sha256s: list[str]
    extra_shapes: list[str]
    extra_dtypes: list[str]
    more_tools: list[str]
    more_call_ids: list[str]
    more_tool_arguments: list[str]
    more_tool_statuses: list[str]
    more_tool_error_types: list[str]
    more_tool_ms: list[float | None]
    more_tool_results: list[str]
    more_tool_result_chars: list[int]
    more_tool_result_sha256s: list[str]
    token_ends: list[int]


class Turn(_Turn, _TurnMaybe):
    pass


class TurnPage(TypedDict):
    items: list[Turn | TurnPart]
    next_cursor: str | None


class TurnPart(TypedDict, total=False):
    run_id: str
    group_id: str
    trajectory_id: str
    attempt: int
    turn: int
    purpose: str
    worker_id: str
    policy_version_min: int
    policy_version_max: int
    unknown_tokens: int
    policy_span_versions: list[int]
    policy_span_tokens: list[int]
    prompt_tokens: int
    completion_tokens: int
    generation_ms: float | None
    generation_queue_ms: float | None
    generation_retries: int
    generation_retry_ms: float | None
    generation_server_ms: float | None
    first_token_ms: float | None
    stop_text: str
    finish_reason: str
    text_head: str
    tool: str
    call_id: str
    tool_status: str
    tool_error_type: str
    tool_started_at: str | None
    tool_ms: float | None
    tool_queue_ms: float | None
    tool_retries: int
    tool_retry_ms: float | None
    tool_server_ms: float | None
    tool_arguments: str
    tool_result_head: str
    tool_result_chars: int
    tool_item_urls: list[str]
    tool_item_titles: list[str]
    truncated: bool
    cache_hit: bool
    reward: float | None
    decision_candidates: int
    decision_chosen: int
    decision_logprob: float | None
    decision_entropy: float | None
    request_id: str
    branch_parent: int
    prompt_keep: int
    prompt_sha256: str
    logprobs_kind: str
    model: str
    engine: str
    occurred_at: str | None
    _topic: str
    _partition: int
    _offset: int
    _timestamp: str | None
    text: str
    token_ids: list[int]
    logprobs: list[float | None]
    tool_result: str
    prompt_ids: list[int]
    loss_mask: list[int]
    sampling: str
    tokenizer_sha256: str
    image_sha256s: list[str]
    image_mimes: list[str]
    image_bytes: list[int]
    image_uris: list[str]
    extra_kinds: list[str]
    extra_uris: list[str]
    extra_sha256s: list[str]
    extra_shapes: list[str]
    extra_dtypes: list[str]
    more_tools: list[str]
    more_call_ids: list[str]
    more_tool_arguments: list[str]
    more_tool_statuses: list[str]
    more_tool_error_types: list[str]
    more_tool_ms: list[float | None]
    more_tool_results: list[str]
    more_tool_result_chars: list[int]
    more_tool_result_sha256s: list[str]
    token_ends: list[int]


class WallClockPhase(TypedDict):
    side: str
    phase: str
    seconds: float | None
    share: float | None


class WallClockPhaseList(TypedDict):
    items: list[WallClockPhase]


class Worker(TypedDict):
    worker_id: str
    started: int
    finished: int
    lost: int
    lost_share: float | None
    failed: int
    cancelled: int
    running: int
    late: int
    reward_mean: float | None
    tool_failure_rate: float | None
    ms_per_turn: float | None
    slowness: float | None
    longest_silence_s: float | None
    last_heartbeat_at: str | None


class WorkerList(TypedDict):
    items: list[Worker]


class ListRunsQuery(TypedDict, total=False):
    limit: int
    cursor: str
    fields: list[Literal["run_id", "status", "reason", "dataset", "algorithm", "backend", "learner", "seed", "group_size", "batch_groups", "max_staleness", "max_concurrent", "max_attempts", "stale_policy", "planned_steps", "steps", "version", "reward_mean", "reward_mean_first_20", "reward_mean_last_20", "trained", "discarded", "tokens", "staleness_max", "started_at", "finished_at", "last_step_at", "purposes", "is_trained", "last_at", "reward_spark"]]
    status: Literal["running", "finished", "recorded"]
    purpose: Literal["train", "eval", "external"]


class ListStalenessQuery(TypedDict, total=False):
    limit: int
    cursor: str
    fields: list[Literal["run_id", "step", "trajectories", "staleness_mean", "staleness_in_flight_mean", "staleness_in_queue_mean", "staleness_worst", "staleness_token_mean", "unknown_tokens", "tokens", "turns_mean", "reward_mean", "flight_ms_mean", "queue_ms_mean", "discarded", "discarded_staleness_mean", "discarded_staleness_in_flight_mean", "discarded_staleness_in_queue_mean", "discarded_staleness_worst", "discarded_staleness_token_mean", "discarded_unknown_tokens", "discarded_tokens", "discarded_turns_mean", "discarded_reward_mean", "discarded_flight_ms_mean", "discarded_queue_ms_mean"]]
    from_step: int
    to_step: int


class GetToolsQuery(TypedDict, total=False):
    since_step: int
    purpose: Literal["train", "eval", "external"]


class ListPoliciesQuery(TypedDict, total=False):
    limit: int
    cursor: str
    fields: list[Literal["run_id", "version", "parent", "sha256", "format", "weights_bytes", "uri", "optimizer_bytes", "optimizer_sha256", "architecture", "backend", "occurred_at"]]


class ListStepsQuery(TypedDict, total=False):
    limit: int
    cursor: str
    fields: list[Literal["run_id", "step", "version_before", "version_after", "groups", "trajectories", "tokens", "generated_tokens", "reward_mean", "f1_mean", "em_mean", "format_mean", "turns_mean", "tool_calls_mean", "loss", "approx_kl", "behave_kl", "clip_fraction", "capped_fraction", "ess", "entropy", "grad_norm", "staleness_mean", "staleness_p95", "staleness_max", "staleness_in_flight_mean", "staleness_in_queue_mean", "staleness_token_mean", "staleness_token_p95", "staleness_token_max", "unknown_tokens", "wait_ms", "train_ms", "batch_sha256", "weights_sha256", "optimizer_sha256", "previous_sha256", "sequence", "at"]]
    order: Literal["asc", "desc"]
    from_step: int
    to_step: int


class ListDiscardedQuery(TypedDict, total=False):
    limit: int
    cursor: str
    fields: list[Literal["reason", "version", "sequence", "run_id", "group_id", "trajectory_id", "attempt", "question_id", "reward", "tokens", "generated_tokens", "turns", "version_first", "version_last", "staleness_total", "staleness_in_flight", "staleness_in_queue", "staleness_worst", "staleness_best", "staleness_span", "staleness_token_mean", "staleness_token_p95", "staleness_token_max", "unknown_tokens", "flight_ms", "queue_ms", "at"]]
    reason: Literal["uniform_group", "stale", "incomplete", "expired", "lost", "rewound", "superseded", "invalid", "unknown_version"]
    version: int
    min_version: int
    max_version: int
    question_id: str
    min_reward: float
    max_reward: float
    min_turns: int
    max_turns: int
    min_staleness: int


class ListSelectionBiasQuery(TypedDict, total=False):
    limit: int
    cursor: str
    from_step: int
    to_step: int
    reason: Literal["uniform_group", "stale", "incomplete", "expired", "lost", "rewound", "superseded", "invalid", "unknown_version"]


GetCurvesQuery = TypedDict(
    "GetCurvesQuery",
    {
        "from_step": "int",
        "to_step": "int",
        "series": "list[Literal[\"at\", \"trajectories\", \"groups\", \"reward_mean\", \"reward_min\", \"reward_max\", \"reward_p95\", \"f1_mean\", \"f1_min\", \"f1_max\", \"f1_p95\", \"em_mean\", \"format_rate\", \"turns_mean\", \"turns_min\", \"turns_max\", \"turns_p95\", \"tool_calls_mean\", \"tool_calls_min\", \"tool_calls_max\", \"tool_calls_p95\", \"searches_mean\", \"searches_min\", \"searches_max\", \"searches_p95\", \"accesses_mean\", \"accesses_min\", \"accesses_max\", \"accesses_p95\", \"tool_errors_mean\", \"tokens_mean\", \"tokens_min\", \"tokens_max\", \"tokens_p95\", \"completion_tokens_mean\", \"completion_tokens_min\", \"completion_tokens_max\", \"completion_tokens_p95\", \"discarded\", \"discarded_stale\", \"discarded_uniform\", \"staleness_mean\", \"staleness_p95\", \"staleness_max\", \"staleness_in_flight_mean\", \"staleness_in_queue_mean\", \"staleness_token_mean\", \"staleness_token_p95\", \"staleness_token_max\", \"unknown_tokens\", \"loss\", \"entropy\", \"approx_kl\", \"behave_kl\", \"clip_fraction\", \"ess\", \"grad_norm\", \"wait_ms\", \"train_ms\", \"version_after\", \"reward_all_mean\", \"heldout_f1\", \"heldout_em\"]]",
        "points": "int",
        "with": "list[str]",
    }, total=False,
)


class ListHeldoutScoresQuery(TypedDict, total=False):
    limit: int
    cursor: str
    fields: list[Literal["version", "evaluation_id", "dataset", "samples", "questions", "answers", "avg_f1", "avg_f1_low", "avg_f1_high", "avg_em", "avg_em_low", "avg_em_high", "pass_f1", "pass_em", "success_rate", "turns_mean", "tool_calls_mean", "prompt_tokens_mean", "generated_tokens_mean", "reward_mean", "completed_at"]]


class ListStepSpreadsQuery(TypedDict, total=False):
    limit: int
    cursor: str
    fields: list[Literal["step", "at", "trajectories", "finished", "reward_all_mean", "reward_p25", "reward_p50", "reward_p75", "f1_p25", "f1_p50", "f1_p75", "turns_p25", "turns_p50", "turns_p75", "tool_calls_p25", "tool_calls_p50", "tool_calls_p75", "prompt_tokens_mean", "prompt_tokens_p25", "prompt_tokens_p50", "prompt_tokens_p75", "prompt_tokens_p95", "generated_tokens_mean", "generated_tokens_p25", "generated_tokens_p50", "generated_tokens_p75", "generated_tokens_p95"]]
    from_step: int
    to_step: int


class GetOutcomeHistogramsQuery(TypedDict, total=False):
    from_step: int
    to_step: int
    bins: int
    of: list[Literal["reward", "advantage", "turns", "tokens", "staleness"]]


class GetLengthsQuery(TypedDict, total=False):
    purpose: Literal["train", "eval", "external"]


class ListWorkersQuery(TypedDict, total=False):
    purpose: Literal["train", "eval", "external"]


class ListRunQuestionsQuery(TypedDict, total=False):
    limit: int
    cursor: str
    fields: list[Literal["question_id", "text", "tries", "right_answers", "f1_mean", "reward_mean", "outcome", "flips", "first_version", "last_version"]]
    outcome: Literal["never", "always", "flips"]
    min_tries: int
    min_flips: int
    purpose: Literal["train", "eval", "external"]


class GetWallClockQuery(TypedDict, total=False):
    from_step: int
    to_step: int
    purpose: Literal["train", "eval", "external"]


class ListCostsQuery(TypedDict, total=False):
    limit: int
    cursor: str
    fields: list[Literal["version", "trajectories", "reward_sum", "prompt_tokens_per_reward", "completion_tokens_per_reward", "tool_calls_per_reward", "seconds_per_reward"]]
    purpose: Literal["train", "eval", "external"]


CompareRunsQuery = TypedDict(
    "CompareRunsQuery",
    {
        "with": "str",
    },
)


class ListTrajectoriesQuery(TypedDict, total=False):
    limit: int
    cursor: str
    fields: list[Literal["run_id", "group_id", "trajectory_id", "attempt", "purpose", "worker_id", "question_id", "question", "answer", "status", "error", "reward", "f1", "em", "cem", "format_ok", "turns", "tool_calls", "tool_errors", "prompt_tokens", "completion_tokens", "version_first", "version_last", "started_at", "finished_at", "judge", "verdict", "judge_reason", "judge_tries", "judge_ms", "judge_served", "judge_version", "judge_prompt_sha256", "asked_as", "called_invalid", "_topic", "_partition", "_offset", "_timestamp", "fate", "fate_step", "fate_reason", "fate_reward", "advantage"]]
    sort: Literal["finished_at", "reward", "turns", "tokens"]
    order: Literal["asc", "desc"]
    status: Literal["answered", "max_turns", "max_tokens", "timeout", "cancelled", "failed", "refused"]
    purpose: Literal["train", "eval", "external"]
    group: str
    question_id: str
    worker: str
    attempt: int
    min_reward: float
    max_reward: float
    min_turns: int
    max_turns: int
    min_tokens: int
    max_tokens: int
    min_version: int
    max_version: int
    step: int
    min_step: int
    max_step: int
    tool: str
    tool_status: Literal["ok", "error", "timeout", "refused"]
    error_type: str
    question: str
    fate: Literal["trained", "collected", "discarded", "lost", "open"]


class GetTrajectoryNeighborsQuery(TypedDict, total=False):
    sort: Literal["finished_at", "reward", "turns", "tokens"]
    order: Literal["asc", "desc"]
    status: Literal["answered", "max_turns", "max_tokens", "timeout", "cancelled", "failed", "refused"]
    purpose: Literal["train", "eval", "external"]
    group: str
    question_id: str
    worker: str
    attempt: int
    min_reward: float
    max_reward: float
    min_turns: int
    max_turns: int
    min_tokens: int
    max_tokens: int
    min_version: int
    max_version: int
    step: int
    min_step: int
    max_step: int
    tool: str
    tool_status: Literal["ok", "error", "timeout", "refused"]
    error_type: str
    question: str
    fate: Literal["trained", "collected", "discarded", "lost", "open"]
    of_attempt: int


class GetTrajectoryQuery(TypedDict, total=False):
    run: str


class ListTurnsQuery(TypedDict, total=False):
    limit: int
    cursor: str
    fields: list[Literal["run_id", "group_id", "trajectory_id", "attempt", "turn", "purpose", "worker_id", "policy_version_min", "policy_version_max", "unknown_tokens", "policy_span_versions", "policy_span_tokens", "prompt_tokens", "completion_tokens", "generation_ms", "generation_queue_ms", "generation_retries", "generation_retry_ms", "generation_server_ms", "first_token_ms", "stop_text", "finish_reason", "text_head", "tool", "call_id", "tool_status", "tool_error_type", "tool_started_at", "tool_ms", "tool_queue_ms", "tool_retries", "tool_retry_ms", "tool_server_ms", "tool_arguments", "tool_result_head", "tool_result_chars", "tool_item_urls", "tool_item_titles", "truncated", "cache_hit", "reward", "decision_candidates", "decision_chosen", "decision_logprob", "decision_entropy", "request_id", "branch_parent", "prompt_keep", "prompt_sha256", "logprobs_kind", "model", "engine", "occurred_at", "_topic", "_partition", "_offset", "_timestamp", "text", "token_ids", "logprobs", "tool_result", "prompt_ids", "loss_mask", "sampling", "tokenizer_sha256", "image_sha256s", "image_mimes", "image_bytes", "image_uris", "extra_kinds", "extra_uris", "extra_sha256s", "extra_shapes", "extra_dtypes", "more_tools", "more_call_ids", "more_tool_arguments", "more_tool_statuses", "more_tool_error_types", "more_tool_ms", "more_tool_results", "more_tool_result_chars", "more_tool_result_sha256s", "token_ends"]]
    run: str
    attempt: int
    min_turn: int
    max_turn: int
    tool: str
    tool_status: Literal["ok", "error", "timeout", "refused"]
    error_type: str


class ListLineageQuery(TypedDict, total=False):
    limit: int
    cursor: str
    fields: list[Literal["run_id", "step", "version_before", "version_after", "trained_at", "group_id", "trajectory_id", "attempt", "question_id", "trajectory_reward", "advantage", "staleness_total", "staleness_in_flight", "staleness_in_queue", "turn", "policy_version_min", "policy_version_max", "completion_tokens", "tool", "call_id", "tool_status", "tool_error_type", "tool_ms", "tool_arguments", "tool_result_head", "occurred_at", "_topic", "_partition", "_offset"]]
    step: int
    trajectory: str
    tool: str


class ListRewardsQuery(TypedDict, total=False):
    limit: int
    cursor: str
    fields: list[Literal["run_id", "trajectory_id", "attempt", "turn", "name", "value", "source", "identifier", "in_time", "late", "counted", "occurred_at"]]
    run: str
    attempt: int


class GetOutlineQuery(TypedDict, total=False):
    run: str
    attempt: int
    limit: int


class FindInTrajectoryQuery(TypedDict, total=False):
    run: str
    attempt: int
    q: str
    regex: str
    limit: int


class ListToolCallsQuery(TypedDict, total=False):
    limit: int
    cursor: str
    fields: list[Literal["run_id", "group_id", "trajectory_id", "attempt", "turn", "purpose", "worker_id", "call_id", "tool", "status", "error_type", "started_at", "ms", "arguments", "result_head", "result_chars", "truncated", "cache_hit", "policy_version_min", "policy_version_max", "occurred_at", "result", "item_urls", "item_titles"]]
    trajectory: str
    group: str
    min_turn: int
    max_turn: int
    purpose: Literal["train", "eval", "external"]
    worker: str
    tool: str
    tool_status: Literal["ok", "error", "timeout", "refused"]
    error_type: str
    min_ms: float
    max_ms: float
    min_version: int
    max_version: int
    arguments: str
    result: str


class GetGroupQuery(TypedDict, total=False):
    run: str


class ListQuestionsQuery(TypedDict, total=False):
    limit: int
    cursor: str
    fields: list[Literal["question_id", "dataset", "split", "accepted", "reason", "run_id", "question", "answers", "aug_answers", "hops", "kind", "gates", "gates_passed", "closed_book_right", "closed_book_asked", "drawn_for_review", "review", "occurred_at"]]
    dataset: str
    split: str
    kind: str
    reason: str
    hops: int
    accepted: bool
    question_id: str
    question: str


class ListEvaluationsQuery(TypedDict, total=False):
    limit: int
    cursor: str
    fields: list[Literal["run_id", "evaluation_id", "status", "dataset", "split", "policy_version", "decoding", "questions", "samples", "avg_f1", "avg_em", "avg_cem", "pass_f1", "pass_em", "reward_mean", "turns_mean", "tool_calls_mean", "started_at", "completed_at", "repeat", "left_out", "subject"]]
    run: str
    dataset: str
    split: str


class ListScoresQuery(TypedDict, total=False):
    limit: int
    cursor: str
    fields: list[Literal["evaluation_id", "run_id", "question_id", "trajectory_id", "sample", "attempt", "answer", "status", "reward", "f1", "em", "cem", "turns", "tool_calls", "tokens", "prompt_tokens", "generated_tokens", "content_id", "level", "task_id", "attachment", "judge", "verdict", "judge_reason", "judge_tries", "occurred_at"]]


CompareEvaluationsQuery = TypedDict(
    "CompareEvaluationsQuery",
    {
        "with": "str",
    },
)


class ListDeadLettersQuery(TypedDict, total=False):
    limit: int
    cursor: str
    fields: list[Literal["original_topic", "original_partition", "original_offset", "original_timestamp", "original_value_bytes", "step", "reason", "error", "run_id", "event_id", "occurred_at", "_topic", "_partition", "_offset", "_timestamp", "original_key_base64", "original_value_base64", "header_names", "header_values_base64"]]
    topic: Literal["dead-letters", "evaluations", "policies", "questions", "rollouts", "tasks", "training"]
    partition: int
    offset: int
    reason: Literal["empty", "not_framed", "unknown_schema", "incompatible_schema", "undecodable", "wrong_topic", "refused"]
    run: str


GetLedgerQuery = TypedDict(
    "GetLedgerQuery",
    {
        "with": "str",
    }, total=False,
)


class FindInRunQuery(TypedDict, total=False):
    limit: int
    cursor: str
    q: str
    regex: str


GetFlowQuery = TypedDict(
    "GetFlowQuery",
    {
        "from": "str",
        "to": "str",
        "purpose": "Literal[\"train\", \"eval\", \"external\"]",
        "limit": "int",
    }, total=False,
)


class ListAdmissionsQuery(TypedDict, total=False):
    limit: int
    cursor: str
    fields: list[Literal["sequence", "version", "capacity", "running", "accepted", "max_concurrent", "max_staleness", "groups", "at"]]
    points: int


class GetSyncsQuery(TypedDict, total=False):
    versions: int
    to_version: int


class GetMergedFlowQuery(TypedDict, total=False):
    purpose: Literal["train", "eval", "external"]
    points: int


GetToolWeatherQuery = TypedDict(
    "GetToolWeatherQuery",
    {
        "from": "str",
        "to": "str",
        "points": "int",
    }, total=False,
)


class FollowEventsQuery(TypedDict, total=False):
    run: str
    type: list[Literal["DeadLetterRetried", "DeadLettered", "AnswerScored", "EvaluationCompleted", "EvaluationStarted", "PolicyPublished", "QuestionAccepted", "QuestionRejected", "RewardAttached", "TrajectoryFinished", "TrajectoryStarted", "TurnRecorded", "WorkerHeartbeat", "TrajectoryRequested", "BatchCollected", "BatchLeased", "BatchReleased", "GroupsAdmitted", "RewardsCounted", "RunContinued", "RunFinished", "RunRewound", "RunStarted", "StepCompleted", "TrainerClaimed", "TrajectoryDiscarded", "TrajectoryExpired", "WeightsNamed"]]
    last_event_id: str


class ReadBatchRowsQuery(TypedDict, total=False):
    shard: str
