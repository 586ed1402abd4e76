// Names of attempts in addresses: the id of the trajectory, `#`, and the number of the attempt.

export interface MarkedAttempt {
  readonly trajectory_id: string;
  readonly attempt: number;
}

export const attemptName = ({ trajectory_id, attempt }: MarkedAttempt): string => `${trajectory_id}#${attempt}`;

/** The attempt of a name; `#` and a number is at its end, whatever the id holds. */
export function attemptOf(name: string): MarkedAttempt {
  const at = name.lastIndexOf('#');
  const attempt = Number(name.slice(at + 1));
  return at < 0 || !Number.isInteger(attempt) ? { trajectory_id: name, attempt: 0 } : { trajectory_id: name.slice(0, at), attempt };
}
