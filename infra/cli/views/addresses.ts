// Formats addresses for commands.

/** Why the API is not at its default port. */
export const takenText = (port: number | null | undefined): string =>
  port === null || port === undefined ? '' : ` (another program has port ${port})`;

/** A URL without its user and password. */
export function withoutSecrets(address: string): string {
  try {
    const url = new URL(address);
    url.username = '';
    url.password = '';
    return url.href.replace(/\/$/, '');
  } catch {
    return address;
  }
}
