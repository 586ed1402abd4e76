// The cost of the rollout side without tensors: tool calls, and whole turns of the ranker with a scorer that gives all candidates the same
// score. `npx tsx infra/bench/agent.bench.ts`
import { runAgent } from '../../producers/rollouts/agent/run-agent.ts';
import { createRankerPolicy } from '../../producers/rollouts/policies/ranker/ranker.ts';
import { createFactbookTools } from '../../producers/factbook/tools.ts';
import { writeFactbookQuestions } from '../../producers/questions/write-questions.ts';
import { createRandom } from '../../streams/core/random.ts';
import { systemClock } from '../lifecycle/clock.ts';

const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** CPU time in ms, so that other programs on the machine have little influence. */
async function measured<T>(work: () => Promise<T>): Promise<{ readonly ms: number; readonly value: T }> {
  const before = process.cpuUsage();
  const value = await work();
  const { user, system } = process.cpuUsage(before);
  return { ms: (user + system) / 1_000, value };
}

const { signal } = new AbortController();
const loaded = await measured(async () => createFactbookTools());
say(`profiles and index: ${Math.round(loaded.ms)} ms`);
const tools = loaded.value;
const [search, access] = tools;
if (search === undefined || access === undefined) throw new Error('the factbook has two tools');

const { accepted } = writeFactbookQuestions(1, { occurredAt: 0, producer: 'bench' });
const queries = accepted.map(({ question }) => question.slice(question.lastIndexOf('whose ')));
for (const pass of ['new queries', 'the same again']) {
  const { ms } = await measured(async () => {
    for (const query of queries) await access.call((await search.call(query, signal)).items[0]?.url ?? '', signal);
  });
  say(`${pass}: ${Math.round((2_000 * queries.length) / ms)} tool calls a second`);
}

const scorer = { score: async (_features: Float32Array, candidates: number) => new Float32Array(candidates), dispose: () => undefined };
const policy = createRankerPolicy({ newest: () => 0, scorer: async () => ({ version: 0, scorer }) });
for (const pass of ['first questions', 'more questions']) {
  const offset = pass === 'first questions' ? 0 : 200;
  const { ms, value: turns } = await measured(async () => {
    let made = 0;
    for (const question of accepted.slice(offset, offset + 200)) {
      for (let sample = 0; sample < 8; sample += 1) {
        const { turns: some } = await runAgent({
          policy,
          tools,
          task: {
            ...question,
            reward: 'f1',
            decoding: 'sample',
            policy_version: -1,
            max_turns: 12,
            max_tokens: 1_000_000,
            max_wall_ms: 60_000,
          },
          clock: systemClock,
          random: createRandom(offset, sample),
          signal,
          toolTimeoutMs: 10_000,
          onTurn: () => undefined,
        });
        made += some;
      }
    }
    return made;
  });
  say(`${pass}: ${Math.round((1_000 * turns) / ms)} turns a second, ${(turns / 1_600).toFixed(1)} turns a trajectory`);
}
