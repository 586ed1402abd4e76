// The ids of workers that a supervisor runs one after the other under one name: the newer one proves that the older one has ended.

/** One of the processes that successively had the same place, which is a name on a machine. */
export interface WorkerIncarnation {
  readonly place: string;
  /** When it began by the clock of its machine, ms since the epoch. */
  readonly number: number;
}

const MARK = '~';
const PATTERN = /^(.+)~([0-9a-z]+)(?:-[a-z-]+)?$/;

export const incarnationId = ({ place, number }: WorkerIncarnation): string => `${place}${MARK}${number.toString(36)}`;

/** Undefined for a worker without a supervisor, which has a new id at each start. */
export function incarnationOf(workerId: string): WorkerIncarnation | undefined {
  const [, place, number] = PATTERN.exec(workerId) ?? [];
  return place === undefined || number === undefined ? undefined : { place, number: Number.parseInt(number, 36) };
}
