// Which environment variables a child process inherits. A shell may hold keys of clouds, registries and models that turnstream does not
// need: variables that are not on the list are dropped.

export type ProcessEnv = Readonly<Record<string, string | undefined>>;

/** To find programs and libraries, use the user's language and write temporary files. */
const SYSTEM = [
  /^(PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|TZ|TZDIR|TMPDIR|TEMP|TMP|HOSTNAME|TERM)$/,
  /^LC_/,
  /^(LD_LIBRARY_PATH|LD_PRELOAD|DYLD_LIBRARY_PATH)$/,
  /^(SYSTEMROOT|WINDIR|COMSPEC|PATHEXT|APPDATA|LOCALAPPDATA|USERPROFILE|PROGRAMFILES)$/i,
];
/** Flags of Node, of V8's coverage and of the allocator. */
const RUNTIME = [/^NODE_(OPTIONS|EXTRA_CA_CERTS|V8_COVERAGE|ENV|PATH|COMPILE_CACHE)$/, /^UV_/, /^(MALLOC|GLIBC)_/, /^SSL_CERT_(FILE|DIR)$/];
const JAVA = [/^(JAVA_HOME|JAVA_TOOL_OPTIONS|JDK_JAVA_OPTIONS)$/];
/** To reach other machines; the address of a proxy may contain a password. */
const PROXIES = [/^(https?|all|no)_proxy$/i];
/** Flags of the tensor backend and its devices. */
const TENSORS = [/^(TF|CUDA|NVIDIA|NCCL|XLA|OMP|MKL|KMP|HIP|ROCM|HSA)_/];

const kinds = {
  /** A program without external connections. */
  alone: [...SYSTEM, ...RUNTIME],
  java: [...SYSTEM, ...JAVA],
  /** A program that connects to other services. */
  connected: [...SYSTEM, ...RUNTIME, ...PROXIES, ...TENSORS],
} as const;

/** The part of `parent` that a child of this kind inherits. Default: the environment of this process. */
// eslint-disable-next-line no-restricted-properties -- it is handed on, not read
export const inheritedEnv = (kind: keyof typeof kinds, parent: ProcessEnv = process.env): ProcessEnv =>
  Object.fromEntries(Object.entries(parent).filter(([name]) => kinds[kind].some((pattern) => pattern.test(name))));
