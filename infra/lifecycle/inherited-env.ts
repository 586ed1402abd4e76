// What a child process gets of the environment of its parent. A shell holds keys of clouds, registries and models that
// are none of turnstream's business: what is not on the list stays behind.

export type Env = Readonly<Record<string, string | undefined>>;

/** How to find programs and libraries, speak the user's language and put temporary files. */
const SYSTEM = [
  /^(PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|TZ|TZDIR|TMPDIR|TEMP|TMP|HOSTNAME|TERM)$/,
  /^LC_/,
  /^(LD_LIBRARY_PATH|LD_PRELOAD|DYLD_LIBRARY_PATH)$/,
  /^(SYSTEMROOT|WINDIR|COMSPEC|PATHEXT|APPDATA|LOCALAPPDATA|USERPROFILE|PROGRAMFILES)$/i,
];
/** Flags of Node, of V8's coverage and of the allocator. */
const RUNTIME = [/^NODE_(OPTIONS|EXTRA_CA_CERTS|V8_COVERAGE|ENV|PATH|COMPILE_CACHE)$/, /^UV_/, /^(MALLOC|GLIBC)_/, /^SSL_CERT_(FILE|DIR)$/];
const JAVA = [/^(JAVA_HOME|JAVA_TOOL_OPTIONS|JDK_JAVA_OPTIONS)$/];
/** How to reach other machines; a proxy's address may hold a password. */
const PROXIES = [/^(https?|all|no)_proxy$/i];
/** Flags of the tensor backend and of its devices. */
const TENSORS = [/^(TF|CUDA|NVIDIA|NCCL|XLA|OMP|MKL|KMP|HIP|ROCM|HSA)_/];

const kinds = {
  /** A program that talks to nobody outside. */
  alone: [...SYSTEM, ...RUNTIME],
  java: [...SYSTEM, ...JAVA],
  /** A program that connects to other services. */
  connected: [...SYSTEM, ...RUNTIME, ...PROXIES, ...TENSORS],
} as const;

/** The part of `parent` that a child of this kind inherits; of the environment of this process unless given. */
// eslint-disable-next-line no-restricted-properties -- it is handed on, not read
export const inheritedEnv = (kind: keyof typeof kinds, parent: Env = process.env): Env =>
  Object.fromEntries(Object.entries(parent).filter(([name]) => kinds[kind].some((pattern) => pattern.test(name))));
