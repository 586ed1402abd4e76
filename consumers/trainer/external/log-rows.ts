// Rows of a batch, made from the turns in the log: a row for each trajectory. Its prompts are not recorded, so no row can be trained on as
// tokens; each says so.
import { createHash } from 'node:crypto';
import type { TurnRecorded } from '../../../schemas/generated/events.ts';
import { runEvents, type EventSource } from '../../../streams/core/read-log.ts';
import type { LogRecord } from '../../../streams/core/ports.ts';
import type { BatchRows, RowsSource } from '../../../streams/leases/batch-rows.ts';

type RowTurn = Pick<TurnRecorded, 'sequence' | 'policy_spans' | 'token_ids' | 'logprobs'>;

interface BatchRow {
  readonly row: number;
  readonly trajectory_id: string;
  readonly attempt: number;
  readonly group_id: string;
  readonly branch: number;
  readonly token_ids: readonly number[];
  readonly mask: readonly number[];
  readonly logprobs: readonly number[];
  readonly version_spans: readonly { readonly version: number; readonly tokens: number }[];
  readonly turn_starts: readonly number[];
  readonly prompt_len: number;
  readonly reward: number;
  readonly advantage: number;
  readonly trainable: boolean;
  readonly why_not: string;
}

export function createLogRows(source: EventSource): BatchRows {
  return {
    async measure(batch) {
      const hash = createHash('sha256');
      const rows = rowsOf(batch, await turnsOf(source, batch));
      const lines = rows.map(lineOf);
      for (const line of lines) hash.update(line);
      const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);
      return {
        rows: rows.length,
        tokens: sum(rows.map(({ token_ids: ids }) => ids.length)),
        bytes: sum(lines.map((line) => line.length)),
        sha256: hash.digest('hex'),
      };
    },
    async *ndjson(batch) {
      for (const row of rowsOf(batch, await turnsOf(source, batch))) yield lineOf(row);
    },
  };
}

const lineOf = (row: BatchRow): Buffer => Buffer.from(`${JSON.stringify(row)}\n`);
const keyOf = (trajectoryId: string, attempt: number): string => `${trajectoryId}/${attempt}`;

async function turnsOf(source: EventSource, batch: RowsSource): Promise<ReadonlyMap<string, readonly RowTurn[]>> {
  const turns = new Map(batch.trajectories.map((one) => [keyOf(one.trajectory_id, one.attempt), new Map<number, RowTurn>()]));
  const groups = new Set(batch.trajectories.map(({ group_id: id }) => id));
  const from = new Map(batch.rollouts.map(({ partition, offset }) => [partition, offset]));
  const to = new Map(batch.rollouts.map(({ partition, end }) => [partition, end]));
  const wants = ({ key }: LogRecord): boolean => key !== null && groups.has(key.toString());
  for await (const read of runEvents({ ...source, runId: batch.run_id }, 'rollouts', { from, to, wants })) {
    if (!read.ok || read.value.type !== 'TurnRecorded') continue;
    const { trajectory_id: id, attempt, sequence, policy_spans, token_ids, logprobs } = read.value.event;
    const known = turns.get(keyOf(id, attempt));
    if (known?.has(sequence) === false) known.set(sequence, { sequence, policy_spans, token_ids, logprobs });
  }
  return new Map([...turns].map(([key, known]) => [key, [...known.values()].sort((a, b) => a.sequence - b.sequence)]));
}

function rowsOf(batch: RowsSource, turns: ReadonlyMap<string, readonly RowTurn[]>): readonly BatchRow[] {
  return batch.trajectories.map(({ trajectory_id, attempt, group_id, reward, advantage }, row) => {
    const own = turns.get(keyOf(trajectory_id, attempt)) ?? [];
    const token_ids = own.flatMap((turn) => turn.token_ids);
    let start = 0;
    const turn_starts = own.map((turn) => (start += turn.token_ids.length) - turn.token_ids.length);
    return {
      ...{ row, trajectory_id, attempt, group_id, branch: 0, token_ids, mask: token_ids.map(() => 1) },
      ...{ logprobs: own.flatMap((turn) => turn.logprobs), version_spans: own.flatMap((turn) => turn.policy_spans) },
      ...{ turn_starts, prompt_len: 0, reward, advantage, trainable: false },
      why_not: token_ids.length === 0 ? 'no_token_ids' : 'no_prompt_ids',
    };
  });
}
