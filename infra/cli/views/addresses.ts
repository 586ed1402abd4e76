// Addresses as commands show them.

/** Why the API is not where guides say. */
export const takenText = (port: number | null | undefined): string =>
  port === null || port === undefined ? '' : ` (another program has port ${port})`;

/** A URL without user and password. */
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
