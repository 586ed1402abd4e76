// Checks the versions of a run with an external trainer: each names the one that it comes from, weights have the committed hashes, and no
// trajectory was trained on twice along the ancestors of any version, despite released leases, repeated calls, and rewinds.
import { repeated, type Case } from './case.ts';
import { eventsOf, type FactOf } from './facts.ts';
import { chainOf, versionsOf, type ChainVersion } from './made-versions.ts';
import { problemsOf, type TortureProblem } from './problem.ts';

export function checkLineage({ facts, steps, rewinds }: Case): readonly TortureProblem[] {
  const versions = versionsOf(facts.training);
  const lineages = new Map(versions.map(({ version, lineage }) => [version, lineage]));
  const unfounded = steps
    .filter(({ event }) => event.batch_id !== '' && event.lineage !== lineages.get(event.version_before))
    .map(({ event }) => `step ${event.step} does not name the entry of version ${event.version_before} as its lineage`);
  const parents = new Set(versions.map(({ parent }) => parent));
  const tips = versions.filter(({ version }) => !parents.has(version));
  const twice = tips.flatMap((tip) =>
    repeated(chainOf(versions, tip).flatMap(({ trained }) => trained)).map(
      (id) => `${id} was trained on twice along the chain of version ${tip.version}`,
    ),
  );
  const astray = rewinds.flatMap(({ event }) => rewindProblems(event, versions));
  return problemsOf('lineage', [...unfounded, ...new Set(twice), ...astray]);
}

function rewindProblems(rewound: FactOf<'RunRewound'>['event'], versions: readonly ChainVersion[]): readonly string[] {
  const { version, to_version: to } = rewound;
  const before = versions.find((one) => one.version === version - 1);
  const chain = before === undefined ? [] : chainOf(versions, before);
  const goal = chain.find((one) => one.version === to);
  if (goal === undefined) return [`version ${version} goes back to version ${to}, which version ${version - 1} does not come from`];
  const left = chain.slice(0, chain.indexOf(goal)).reverse();
  const trained = left.reduce((sum, one) => sum + one.trained.length, 0);
  return [
    ...(left.map((one) => one.version).join() === rewound.abandoned.join()
      ? []
      : [`version ${version} abandons versions ${rewound.abandoned.join()}, the chain has ${left.map((one) => one.version).join()}`]),
    ...(trained === rewound.trajectories
      ? []
      : [`version ${version} abandons ${rewound.trajectories} trajectories, the steps trained ${trained}`]),
    ...(goal.sha256 === rewound.weights_sha256 ? [] : [`version ${version} has other weights than version ${to}`]),
  ];
}

/** Versions are 0, 1, 2, …; every publication of a version has its parent and its hash, however late or often it is published. */
export function checkMadeVersions({ facts }: Case): readonly TortureProblem[] {
  const versions = versionsOf(facts.training);
  const gaps = versions.flatMap(({ version, parent }, i) =>
    version === i && (i === 0 ? parent === -1 : parent >= 0 && parent < i) ? [] : [`version ${version} of ${parent} stands at place ${i}`],
  );
  const published = eventsOf(facts.policies, 'PolicyPublished').map(({ event }) => event);
  const wrong = published.flatMap((policy) => {
    const made = versions[policy.version];
    if (made === undefined || made.parent !== policy.parent)
      return [`version ${policy.version} was published as coming from ${policy.parent}, the ledger does not have that`];
    return made.sha256 === policy.sha256 ? [] : [`version ${policy.version} was published with other weights than were committed`];
  });
  const seen = new Set(published.map(({ version }) => version));
  const missing = versions.filter(({ version, sha256 }) => sha256 !== '' && !seen.has(version));
  return problemsOf('version', [
    ...gaps,
    ...wrong,
    ...missing.map(({ version }) => `version ${version} has weights and was not published`),
  ]);
}
