// Addresses that are compared by processes that must not know them, because they may contain a secret.
import { createHash } from 'node:crypto';
import { safeUrl } from '../llm/model-card.ts';

const WITHHELD = /^http:\/\/([0-9a-f]{32})\.withheld\.invalid$/;

/** Equal for equal addresses, whatever their user, password, and query; that of a withheld address is that of the original. */
export const addressHash = (url: string): string =>
  WITHHELD.exec(url)?.[1] ?? createHash('sha256').update(safeUrl(url)).digest('hex').slice(0, 32);

/** An address that leads nowhere and has the hash of the original. */
export const withheldAddress = (url: string): string => `http://${addressHash(url)}.withheld.invalid`;
