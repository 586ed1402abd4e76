// Inference engines that turnstream updates, and where weights may be read from; part of the table in descriptors.ts.

export const engineDescriptors = {
  engines: {
    env: 'TURNSTREAM_ENGINES',
    kind: 'list',
    fallback: [],
    pattern: /^(vllm|sglang)=https?:\/\/[^\s/@?#,=]+(\/[^\s@?#,]*)?$/,
    shape: 'vllm=<http(s) URL> or sglang=<http(s) URL>, without a user',
    help: 'External trainer: inference engines of the run, comma separated, such as vllm=http://127.0.0.1:8000,sglang=http://127.0.0.1:30000. The trainer role gives them each new version, with the label <run>/<version>.',
  },
  engineKey: {
    env: 'TURNSTREAM_ENGINE_KEY',
    kind: 'text',
    fallback: '',
    help: 'API key for the routes that update engines; empty sends none.',
    secret: true,
  },
  engineTimeoutMs: {
    env: 'TURNSTREAM_ENGINE_TIMEOUT_MS',
    kind: 'whole',
    min: 1_000,
    max: 86_400_000,
    fallback: 600_000,
    help: 'How long an engine may take to load new weights.',
  },
  weightsHosts: {
    env: 'TURNSTREAM_WEIGHTS_HOSTS',
    kind: 'list',
    fallback: [],
    pattern: /^[^\s:,]+:\d{1,5}$/,
    shape: 'host:port',
    help: 'Private hosts that http(s) URIs of weights may name, as written in the URI. Every other private address is refused.',
  },
  weightsMaxMb: {
    env: 'TURNSTREAM_WEIGHTS_MAX_MB',
    kind: 'whole',
    min: 1,
    max: 10_000_000,
    fallback: 65_536,
    help: 'Maximum size of the weights of a version that are read from a URI, MB.',
  },
} as const;
