// Permissions that the engine enforces itself: its only user has the grants for the project's tables and none for external sources, and
// cannot change a setting that names a file, a server or a condition. The engine checks them on its own parse of every statement, wherever
// a table function or a table engine appears.
import { closedTableSettings, closedTextSettings } from './text-settings.ts';

/** Table engines that keep their rows in the store, or nowhere. */
export const localEngines = [
  ...['MergeTree', 'AggregatingMergeTree', 'CoalescingMergeTree', 'CollapsingMergeTree', 'ReplacingMergeTree'],
  ...['SummingMergeTree', 'VersionedCollapsingMergeTree', 'GraphiteMergeTree'],
  ...[
    'Memory',
    'Null',
    'Log',
    'StripeLog',
    'TinyLog',
    'Set',
    'Join',
    'Buffer',
    'Merge',
    'Alias',
    'GenerateRandom',
    'View',
    'MaterializedView',
  ],
] as const;

/** Without FREEZE, FETCH and MOVE PARTITION, which name paths and disks. */
const privileges = [
  ...['SELECT', 'INSERT', 'SHOW', 'CHECK', 'OPTIMIZE', 'TRUNCATE', 'KILL QUERY', 'UNDROP TABLE'],
  ...['CREATE DATABASE', 'CREATE TABLE', 'CREATE VIEW', 'CREATE TEMPORARY TABLE', 'CREATE TEMPORARY VIEW'],
  ...['DROP DATABASE', 'DROP TABLE', 'DROP VIEW'],
  ...['ALTER UPDATE', 'ALTER DELETE', 'ALTER COLUMN', 'ALTER MODIFY COMMENT', 'ALTER INDEX', 'ALTER STATISTICS', 'ALTER PROJECTION'],
  ...['ALTER CONSTRAINT', 'ALTER TTL', 'ALTER MATERIALIZE TTL', 'ALTER SETTINGS', 'ALTER ORDER BY', 'ALTER SAMPLE BY', 'ALTER VIEW'],
  ...['SYSTEM MERGES', 'SYSTEM TTL MERGES', 'SYSTEM FLUSH LOGS', 'SYSTEM DROP MARK CACHE', 'SYSTEM DROP QUERY CACHE'],
];

/** Rows of VALUES must be literals: an expression among them could call an unchecked function. */
const rowExpressions = ['input_format_values_interpret_expressions', 'input_format_values_deduce_templates_of_expressions'];

/** The engine's users file. `open` removes all limits, for a measurement that needs the engine's own connectors. */
export function usersConfig(open = false): string {
  if (open)
    return '<clickhouse><profiles><default/></profiles><quotas><default/></quotas><users><default><password></password></default></users></clickhouse>\n';
  const closed = [...rowExpressions, ...closedTextSettings, ...closedTableSettings.map((name) => `merge_tree_${name}`)];
  return [
    '<clickhouse>',
    '  <profiles><default>',
    `    ${rowExpressions.map((name) => `<${name}>0</${name}>`).join('')}`,
    `    <constraints>${closed.map((name) => `<${name}><readonly/></${name}>`).join('')}</constraints>`,
    '  </default></profiles>',
    '  <quotas><default/></quotas>',
    '  <users><default>',
    '    <password></password><networks><ip>::/0</ip></networks><profile>default</profile><quota>default</quota>',
    '    <grants>',
    `      <query>GRANT ${privileges.join(', ')} ON *.*</query>`,
    ...localEngines.map((engine) => `      <query>GRANT TABLE ENGINE ON ${engine}</query>`),
    '    </grants>',
    '  </default></users>',
    '</clickhouse>',
    '',
  ].join('\n');
}
