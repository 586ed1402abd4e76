// Which file renders which page. The server reads this to preload a page's files together with the document.

/** Path of a page to its file in `pages/`. */
export const pageFiles = {
  '/': 'runs',
  '/runs/:run': 'overview',
  '/runs/:run/curves': 'curves',
  '/runs/:run/steps': 'steps',
  '/runs/:run/steps/:step': 'step',
  '/runs/:run/trajectories': 'trajectories',
  '/runs/:run/t/:trajectory': 'trajectory',
  '/runs/:run/flow': 'flow',
  '/runs/:run/advisories': 'advisories',
  '/runs/:run/dropped': 'dropped',
  '/runs/:run/questions': 'questions',
  '/runs/:run/questions/:question': 'questions',
  '/runs/:run/groups/:group': 'group',
  '/runs/:run/diff': 'diff',
  '/runs/:run/tools/:tool': 'tool',
  '/runs/:run/tools': 'tools',
  '/runs/:run/workers': 'workers',
  '/runs/:run/ledger': 'ledger',
  '/compare': 'compare',
  '/evaluations': 'evaluations',
  '/evaluations/:evaluation': 'evaluations',
  '/live': 'live',
  '/search': 'search',
  '/dead-letters': 'dead-letters',
  '/sql': 'sql',
} as const;

export type PagePath = keyof typeof pageFiles;
