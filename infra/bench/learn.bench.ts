// Tests whether the built-in policy learns: agent, ranker, scorer and learner in one process, without the log in between, with decisions
// that are some versions old. Held-out questions are answered four times each, sampled from the policy; greedy decoding is reported as
// well, but is not a measure of learning. `npx tsx infra/bench/learn.bench.ts --seeds 1,2,3 --steps 150`
import { parseArgs } from 'node:util';
import { runAgent } from '../../producers/rollouts/agent/run-agent.ts';
import type { AgentResult } from '../../producers/rollouts/agent/run-agent.ts';
import type { TurnOutcome } from '../../producers/rollouts/agent/turn-outcome.ts';
import { RANKER_WIDTH } from '../../producers/rollouts/policies/ranker/features.ts';
import { createRankerPolicy } from '../../producers/rollouts/policies/ranker/ranker.ts';
import { createFactbookTools } from '../../producers/factbook/tools.ts';
import { writeFactbookQuestions } from '../../producers/questions/write-questions.ts';
import type { QuestionAccepted } from '../../schemas/generated/events.ts';
import { intervalOf } from '../../streams/evaluation/figures.ts';
import { groupAdvantages, isUniform } from '../../streams/advantage/advantage.ts';
import type { Policy } from '../../streams/core/agents.ts';
import type { Scorer, TrainingTrajectory } from '../../streams/core/learning.ts';
import { createRandom, deriveSeed } from '../../streams/core/random.ts';
import { questionAt } from '../../streams/questions/order.ts';
import { loadBackend } from '../tfjs/backend.ts';
import { packBatch } from '../tfjs/decisions.ts';
import { hyperOf } from '../tfjs/hyper.ts';
import { createScorerFactory } from '../tfjs/scorer.ts';
import { createUpdater } from '../tfjs/updater.ts';
import { systemClock } from '../lifecycle/clock.ts';

const { values: flags } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1,2,3,4,5' },
    steps: { type: 'string', default: '150' },
    turns: { type: 'string', default: '12' },
    lag: { type: 'string', default: '3' },
    rate: { type: 'string', default: '0.003' },
    backend: { type: 'string', default: 'wasm' },
    heldout: { type: 'string', default: '200' },
    wave: { type: 'string', default: '8' },
    entropy: { type: 'string', default: '0.2' },
    quiet: { type: 'boolean', default: false },
    kinds: { type: 'boolean', default: false },
  },
});

const GROUP = 8;
const BATCH = 8;
const steps = Number(flags.steps);
const maxTurns = Number(flags.turns);
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const mean = (numbers: readonly number[]): number => numbers.reduce((sum, number) => sum + number, 0) / Math.max(1, numbers.length);
const shown = (number: number): string => number.toFixed(3);

const backend = await loadBackend(flags.backend as 'wasm');
const factory = createScorerFactory(backend);
const architecture = { format: 'mlp-f32-v1', inputs: RANKER_WIDTH, hidden: [32] } as const;
const tools = createFactbookTools();
const { accepted } = writeFactbookQuestions(20_250_101, { occurredAt: 0, producer: 'bench' });
const training = accepted.filter(({ split }) => split === 'train');
const held = accepted.filter(({ split }) => split === 'heldout').slice(0, Number(flags.heldout));

interface AgentAttempt {
  readonly result: AgentResult;
  readonly turns: readonly TurnOutcome[];
}

interface SwappablePolicy {
  readonly policy: Policy;
  publish(bytes: Buffer): void;
}

/** Versions as a worker has them: the last few, of which an attempt may use one that is not the newest. */
function createVersions(): SwappablePolicy {
  const scorers: Scorer[] = [];
  let newest = -1;
  const policy = createRankerPolicy({
    newest: () => newest,
    async scorer(version) {
      const wanted = Math.max(0, version < 0 ? newest : version);
      const scorer = scorers[wanted];
      if (scorer === undefined) throw new RangeError(`no version ${wanted}`);
      return { version: wanted, scorer };
    },
  });
  return {
    policy,
    publish(bytes) {
      newest += 1;
      scorers.push(factory.load({ version: newest, architecture, bytes }));
      if (newest > 10) scorers[newest - 10]?.dispose();
    },
  };
}

interface Draw {
  readonly seed: number;
  readonly version: number;
  readonly greedy: boolean;
}

async function attempt(policy: Policy, question: QuestionAccepted, { seed, version, greedy }: Draw): Promise<AgentAttempt> {
  const turns: TurnOutcome[] = [];
  const result = await runAgent({
    policy,
    tools,
    task: {
      question: question.question,
      answers: question.answers,
      aug_answers: question.aug_answers,
      reward: 'f1',
      decoding: greedy ? 'greedy' : 'sample',
      policy_version: version,
      max_turns: maxTurns,
      max_tokens: 1_000_000,
      max_wall_ms: 60_000,
    },
    clock: systemClock,
    random: createRandom(seed),
    signal: new AbortController().signal,
    toolTimeoutMs: 10_000,
    onTurn: (turn) => void turns.push(turn),
  });
  return { result, turns };
}

const SAMPLES = 4;

interface Evaluated {
  /** Avg@4 with its 95 % interval over questions. */
  readonly f1: number;
  readonly low: number;
  readonly high: number;
  readonly greedy: number;
  readonly turns: number;
  readonly two: number;
  readonly three: number;
  /** Mean F1 and number of questions by question type. */
  readonly kinds: string;
}

async function evaluate(policy: Policy): Promise<Evaluated> {
  const results = await Promise.all(
    held.map(async (question) => {
      const draws = Array.from({ length: SAMPLES }, (_, sample) => deriveSeed(question.question_id, sample));
      const answers = await Promise.all(draws.map((seed) => attempt(policy, question, { seed, version: -1, greedy: false })));
      const greedy = await attempt(policy, question, { seed: 1, version: -1, greedy: true });
      const [own, turns] = [answers.map(({ result }) => result.f1), answers.map(({ result }) => result.turns)];
      return { question, f1: mean(own), turns: mean(turns), greedy: greedy.result.f1 };
    }),
  );
  const f1 = (which: (question: QuestionAccepted) => boolean): number =>
    mean(results.filter(({ question }) => which(question)).map((result) => result.f1));
  const asked = (question: QuestionAccepted): string => question.kind.split('>').at(-1) ?? '';
  const found = (question: QuestionAccepted): string => question.kind.split('>')[0] ?? '';
  const by = (key: (question: QuestionAccepted) => string): string =>
    [...new Set(held.map(key))].map((kind) => `${kind} ${shown(f1((question) => key(question) === kind))}`).join(', ');
  return {
    f1: f1(() => true),
    ...intervalOf(results.map((result) => result.f1)),
    greedy: mean(results.map(({ greedy }) => greedy)),
    turns: mean(results.map(({ turns }) => turns)),
    two: f1(({ hops }) => hops === 2),
    three: f1(({ hops }) => hops === 3),
    kinds: `asked: ${by(asked)}; identified by: ${by(found)}`,
  };
}

function toTrajectory(one: AgentAttempt, advantage: number, id: string): TrainingTrajectory {
  const turns = one.turns.flatMap(({ decision, policy_spans }) =>
    decision === null ? [] : [{ ...decision, features: decision.features, version: policy_spans[0]?.version ?? -1, reward: 0 }],
  );
  return { trajectoryId: id, reward: one.result.reward, advantage, turns };
}

interface LearnFigures {
  readonly all: number;
  readonly trained: number;
  readonly groups: number;
  readonly turns: number;
  readonly entropy: number;
}

const score = ({ f1, low, high }: Evaluated): string => `${shown(f1)} (${shown(low)} to ${shown(high)})`;

async function run(seed: number): Promise<void> {
  const versions = createVersions();
  const updater = createUpdater({
    ...{ backend, architecture },
    hyper: hyperOf('grpo', Number(flags.rate), { entropyBonus: Number(flags.entropy) }),
  });
  versions.publish(updater.initial(seed).weights);
  const before = await evaluate(versions.policy);
  const lags = createRandom(seed, 7);
  const figures: LearnFigures[] = [];
  let admitted = 0;
  let turnsMade = 0;
  const ready: AgentAttempt[][] = [];
  const began = performance.now();
  let scoring = 0;
  const checkpoints: string[] = [];
  for (let step = 1; step <= steps; step += 1) {
    const seen: AgentAttempt[][] = [];
    while (ready.length < BATCH) {
      const wave = await Promise.all(
        Array.from({ length: Number(flags.wave) }, async () => {
          const index = admitted++;
          const question = training[questionAt(seed, index, training.length)]!;
          const version = Math.max(0, step - 1 - Math.floor(lags() * (Number(flags.lag) + 1)));
          return Promise.all(
            Array.from({ length: GROUP }, (_, sample) =>
              attempt(versions.policy, question, { seed: deriveSeed(`${seed}/${index}`, sample), version, greedy: false }),
            ),
          );
        }),
      );
      seen.push(...wave);
      ready.push(...wave.filter((group) => !isUniform(group.map(({ result }) => result.reward))));
    }
    const batch = ready.splice(0, BATCH);
    const rewardsOf = (groups: readonly AgentAttempt[][]): number => mean(groups.flat().map(({ result }) => result.reward));
    turnsMade += seen.flat().reduce((sum, { turns }) => sum + turns.length, 0);
    const trajectories = batch.flatMap((group, at) => {
      const advantages = groupAdvantages(group.map(({ result }) => result.reward));
      return group.map((one, sample) => toTrajectory(one, advantages[sample] ?? 0, `${step}.${at}.${sample}`));
    });
    const from = performance.now();
    const packed = packBatch({ step, trajectories }, RANKER_WIDTH, (trajectory) => trajectory.turns.map(() => trajectory.advantage));
    const updated = updater.train(packed);
    scoring += performance.now() - from;
    versions.publish(updated.weights);
    figures.push({
      all: rewardsOf(seen),
      trained: rewardsOf(batch),
      groups: seen.length,
      turns: mean(seen.flat().map(({ turns }) => turns.length)),
      entropy: updated.metrics.entropy,
    });
    if (step % 10 === 0 && !flags.quiet) {
      const last = figures.slice(-10);
      const of = (key: keyof LearnFigures): string => shown(mean(last.map((figure) => figure[key])));
      say(
        `seed ${seed} step ${step}: all ${of('all')} trained ${of('trained')} groups ${of('groups')} turns ${of('turns')} entropy ${of('entropy')}`,
      );
    }
    if (step === 60 || step === 80) checkpoints.push(`@${step} ${score(await evaluate(versions.policy))}`);
  }
  const seconds = (performance.now() - began) / 1_000;
  const after = await evaluate(versions.policy);
  const part = (key: 'all' | 'trained'): string => {
    const [first, last] = [mean(figures.slice(0, 20).map((f) => f[key])), mean(figures.slice(-20).map((f) => f[key]))];
    return `${key} ${shown(first)} -> ${shown(last)} (x${(last / first).toFixed(1)})`;
  };
  say(
    `SEED ${seed}: ${part('all')}; ${part('trained')}; held out Avg@${SAMPLES} ${score(before)} -> ${checkpoints.join(' ')} -> ${score(after)} (greedy ${shown(before.greedy)} -> ${shown(after.greedy)}, 2 hops ${shown(after.two)}, 3 hops ${shown(after.three)}, turns ${shown(after.turns)}); ${Math.round(turnsMade / seconds)} turns/s, ${shown(seconds)} s of which training ${shown(scoring / 1_000)} s`,
  );
  if (flags.kinds) say(after.kinds);
}

for (const seed of flags.seeds.split(',').map(Number)) await run(seed);
