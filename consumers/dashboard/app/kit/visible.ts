// Texts of models, tools, and pages are untrusted. Characters that could mislead a reader are replaced by visible marks: control
// characters, bidirectional controls, and zero-width characters. Terminal color codes are removed.

const ESCAPES = new RegExp(`${String.fromCharCode(27)}\\[[0-9;?]*[ -/]*[@-~]`, 'g');
const HIDDEN =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb]/g;

/** The text with each hidden character written as `‹U+202E›`. */
export const visible = (text: string): string =>
  text.replace(ESCAPES, '').replace(HIDDEN, (hidden) => `‹U+${hidden.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}›`);
