// Names of attempts in addresses: trajectory id, `#`, attempt number.

export interface MarkedAttempt {
  readonly trajectory_id: string;
  readonly attempt: number;
}

export const attemptName = ({ trajectory_id, attempt }: MarkedAttempt): string => `${trajectory_id}#${attempt}`;

/** Parses a name. The last `#` separates the number, because the id may contain `#`. */
export function attemptOf(name: string): MarkedAttempt {
  const at = name.lastIndexOf('#');
  const attempt = Number(name.slice(at + 1));
  return at < 0 || !Number.isInteger(attempt) ? { trajectory_id: name, attempt: 0 } : { trajectory_id: name.slice(0, at), attempt };
}
