// Asynchrony and what it is measured with; part of the table in descriptors.ts.

export const modeDescriptors = {
  mode: {
    env: 'TURNSTREAM_MODE',
    kind: 'choice',
    choices: ['async', 'sync'],
    fallback: 'async',
    help: 'async: rollouts go on while the trainer trains, up to TURNSTREAM_MAX_STALENESS versions ahead. sync: batch generation, for comparison; one batch is asked for, waited for and trained on, and TURNSTREAM_MAX_STALENESS is 0.',
  },
  latencyModel: {
    env: 'TURNSTREAM_LATENCY_MODEL',
    kind: 'choice',
    choices: ['none', 'log-normal'],
    fallback: 'none',
    help: 'For measuring: log-normal makes workers wait as if a large model generated and tools were far away. A model, no measurement: the times that it records are its own.',
  },
  latencyGenerationMs: {
    env: 'TURNSTREAM_LATENCY_GENERATION_MS',
    kind: 'whole',
    min: 0,
    max: 3_600_000,
    fallback: 400,
    help: 'Latency model: mean time of the generation of a turn. A factor drawn once a trajectory multiplies all of its turns.',
  },
  latencyToolMs: {
    env: 'TURNSTREAM_LATENCY_TOOL_MS',
    kind: 'whole',
    min: 0,
    max: 3_600_000,
    fallback: 100,
    help: 'Latency model: mean time of a tool call.',
  },
  latencySigma: {
    env: 'TURNSTREAM_LATENCY_SIGMA',
    kind: 'number',
    min: 0,
    max: 3,
    fallback: 0.75,
    help: 'Latency model: deviation of the logarithm. At 0.75 the slowest of 2,048 takes ten times the mean, as in the published runs of ASearcher.',
  },
} as const;
