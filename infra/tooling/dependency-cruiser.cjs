const test = '\\.(test|contract|testing)\\.ts$|^infra/testing/';
const rule = (name, comment, from, to) => ({ name, comment, severity: 'error', from: { pathNot: test, ...from }, to });
const only = (lib, home) =>
  rule(
    `${lib.replace(/[^a-z]/g, '-')}-has-one-home`,
    `Only ${home} may import ${lib}.`,
    { pathNot: [home, test] },
    { path: `node_modules/${lib}/` },
  );

/** What each subfolder (room) of a folder may import from the others. */
const rooms = (folder, allowed, why) =>
  Object.entries(allowed).map(([room, others]) =>
    rule(
      `${folder.replace(/^infra\//, '').replaceAll('/', '-')}-${room}`,
      `${why[room] ?? room} From the other subfolders it may import: ${others.join(', ') || 'none'}.`,
      { path: `^${folder}/${room}/` },
      { path: `^${folder}/[^/]+/`, pathNot: `^${folder}/(${[room, ...others].join('|')})/` },
    ),
  );

const kafkaRooms = rooms(
  'infra/kafka',
  {
    records: [],
    patches: ['records'],
    topics: ['patches', 'records'],
    texts: ['records', 'topics'],
    reading: ['patches', 'records', 'topics', 'texts'],
    writing: ['patches', 'records', 'texts'],
    broker: ['patches', 'records', 'transactions'],
    transactions: ['patches'],
  },
  {
    records: 'The record format and messages: our own code, with kafkajs only as types.',
    patches: 'Adapters to the insides of kafkajs.',
    topics: 'Topics and the admin client.',
    texts: 'Long texts that turns share.',
    reading: 'Readers and consumer groups.',
    writing: 'Writers and producers.',
    broker: 'The local broker.',
    transactions: 'Transactions, as the brokers see them.',
  },
);

const appRooms = [
  ...rooms(
    'infra/app',
    { open: [], roles: ['open'], fleet: ['open'] },
    {
      open: 'Connections, addresses, and what is prepared behind them.',
      roles: 'What a role process does; it does not know who supervises it.',
      fleet: 'What `up` supervises. Roles are child processes: their code is never loaded here.',
    },
  ),
  ...rooms('infra/app/roles', { trainer: [], worker: [], evaluator: ['worker'] }, { evaluator: 'An evaluation has a worker of its own.' }),
  rule('app-shared', 'What every subfolder uses imports none of them.', { path: '^infra/app/[^/]+\\.ts$' }, { path: '^infra/app/[^/]+/' }),
  rule(
    'roles-shared',
    'Code that several roles use imports none of them.',
    { path: '^infra/app/roles/[^/]+\\.ts$' },
    { path: '^infra/app/roles/[^/]+/' },
  ),
  rule('app-below-cli', 'Commands use roles and connections, not the other way around.', { path: '^infra/app/' }, { path: '^infra/cli/' }),
];

const commandRooms = [
  rule(
    'commands-are-islands',
    'A command imports no other command; what several of them show is in infra/cli/views.',
    // `serve` is `up` without training, `up` ends with the summary of `status`, `warehouse rebuild` with an audit
    { path: '^infra/cli/([^/]+)/', pathNot: ['^infra/cli/(serve|up|warehouse)/', test] },
    { path: '^infra/cli/[^/]+/', pathNot: '^infra/cli/($1|views)/' },
  ),
  ...rooms('infra/cli', { serve: ['up'], up: ['status', 'views'], warehouse: ['audit', 'views'] }, {}),
  rule(
    'main-knows-commands',
    'Code that commands share imports none of them, and main.ts imports only the command.ts of each.',
    { path: '^infra/cli/[^/]+\\.ts$' },
    { path: '^infra/cli/[^/]+/', pathNot: '^infra/cli/([^/]+/command\\.ts$|views/)' },
  ),
];

module.exports = {
  forbidden: [
    rule('no-cycles', 'A cycle hides a missing third module.', {}, { circular: true }),
    rule(
      'schemas-are-leaves',
      'schemas/ imports nothing of ours.',
      { path: '^schemas/' },
      { path: '^(streams|consumers|producers|infra)/' },
    ),
    rule('core-is-pure', 'streams/ may import schemas/ only.', { path: '^streams/' }, { path: '^(consumers|producers|infra)/' }),
    rule(
      'trainer-decides-from-the-core',
      'streams/trainer may import the other folders of streams/; none of them imports it.',
      { path: '^streams/(?!trainer/)' },
      { path: '^streams/trainer/' },
    ),
    rule(
      'lanes-are-islands',
      'A consumer lane never imports another lane.',
      { path: '^consumers/([^/]+)/' },
      { path: '^consumers/', pathNot: '^consumers/(common|$1)/' },
    ),
    rule('read-side-not-write-side', 'Both go through streams/ and schemas/.', { path: '^consumers/' }, { path: '^producers/' }),
    rule('write-side-not-read-side', 'Both go through streams/ and schemas/.', { path: '^producers/' }, { path: '^consumers/' }),
    rule('sides-get-ports', 'Adapters are injected by a composition root.', { path: '^(consumers|producers)/' }, { path: '^infra/' }),
    rule(
      'adapters-below-roots',
      'Only roots see the sides.',
      { path: '^infra/', pathNot: ['^infra/(app|cli|bench|testing|e2e)/', test] },
      { path: '^(consumers|producers)/' },
    ),
    rule(
      'nobody-imports-a-root',
      'Roots assemble; they are never assembled.',
      { pathNot: ['^infra/(app|cli|bench|e2e)/', test] },
      { path: '^infra/(app|cli|bench|e2e)/' },
    ),
    rule(
      'questions-and-rollouts-apart',
      'What both use is in producers/factbook or producers/judge.',
      { path: '^producers/questions/' },
      { path: '^producers/rollouts/' },
    ),
    rule(
      'factbook-knows-nobody',
      'It holds facts and the tools that look them up, and imports no other producer.',
      { path: '^producers/factbook/' },
      { path: '^producers/(?!factbook/)' },
    ),
    rule(
      'web-and-models-apart',
      'Both are clients of external services; what both use is in streams/core.',
      { path: '^infra/(web|llm)/' },
      { path: '^infra/(web|llm)/', pathNot: '^infra/$1/' },
    ),
    rule(
      'store-client-and-server-apart',
      'The client imports no part of the embedded store; what both use is next to them.',
      { path: '^infra/clickhouse/[^/]+\\.ts$', pathNot: ['^infra/clickhouse/store-process\\.ts$', test] },
      { path: '^infra/clickhouse/store/' },
    ),
    ...kafkaRooms,
    ...appRooms,
    ...commandRooms,
    rule(
      'kafkajs-is-loaded-patched',
      'Types aside, kafkajs comes from infra/kafka/patches/kafkajs.ts, which replaces some of its modules first.',
      { path: '^infra/', pathNot: ['^infra/kafka/patches/kafkajs\\.ts$', '^infra/bench/', test] },
      { path: 'node_modules/kafkajs/', dependencyTypesNot: ['type-only'] },
    ),
    // benchmarks measure them directly
    only('kafkajs', '^infra/(kafka|bench)/'),
    only('@clickhouse/client', '^infra/(clickhouse|e2e/clients)/'),
    only('chdb', '^infra/clickhouse/'),
    only('avsc', '^(schemas|infra/(registry|bench))/'),
    only('fastify', '^infra/(http|app)/|^consumers/(api|dashboard)/'),
    ...['preact', '@preact', 'uplot'].map((lib) => only(lib, '^consumers/dashboard/app/')),
    rule(
      'pages-ask-the-api',
      'What runs in a browser imports no code of the server.',
      { path: '^consumers/dashboard/app/' },
      { path: '^(consumers/(?!dashboard/app/)|streams|schemas|producers|infra)' },
    ),
    only('pino', '^infra/telemetry/'),
    only('prom-client', '^infra/telemetry/'),
    only('@tensorflow', '^infra/tfjs/'),
    only('commander', '^infra/cli/'),
    only('snappy', '^infra/kafka/records/'),
    only('eventsource-parser', '^infra/llm/'),
    rule('no-orphans', 'Dead file?', { orphan: true, pathNot: ['^infra/(app|cli|bench|tooling)/', test] }, {}),
  ],
  options: {
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    tsConfig: { fileName: 'tsconfig.json' },
    exclude: '^(dist|infra/tooling|infra/clients/typescript/dist)',
  },
};
