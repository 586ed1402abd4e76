// Stores the progress of an audit, so that an interrupted audit can resume. The file is removed when the audit completes.
import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { AuditState } from '../../../consumers/warehouse/audit-findings.ts';
import type { Config } from '../../config/descriptors.ts';
import { replaceFile } from '../../lifecycle/replace-file.ts';

const VERSION = 1;

export interface KeptAudit {
  /** When the last slice was compared, RFC 3339. */
  readonly at: string;
  readonly state: AuditState;
}

export interface AuditFile {
  /** Reads the saved progress of an audit of the same log and the same tables. */
  read(): Promise<KeptAudit | undefined>;
  write(kept: KeptAudit): Promise<void>;
  remove(): Promise<void>;
}

type AuditFileLocation = Pick<Config, 'dataDir' | 'namespace' | 'clickhouseDatabase'>;

export function auditFile({ dataDir, namespace, clickhouseDatabase }: AuditFileLocation): AuditFile {
  const path = join(dataDir, 'audit.json');
  const of = `${namespace} in ${clickhouseDatabase}`;
  return {
    async read() {
      try {
        const found = JSON.parse(await readFile(path, 'utf8')) as KeptAudit & { readonly version: number; readonly of: string };
        return found.version === VERSION && found.of === of ? found : undefined;
      } catch {
        return undefined;
      }
    },
    async write(kept) {
      await mkdir(dataDir, { recursive: true });
      await replaceFile(path, JSON.stringify({ version: VERSION, of, ...kept }));
    },
    remove: () => rm(path, { force: true }),
  };
}
