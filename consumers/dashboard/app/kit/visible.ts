// Texts of models, tools, and pages are data. Characters that could mislead a reader are shown as marks: controls, marks of
// direction, and characters of no width. Terminal colors are taken out.

const ESCAPES = new RegExp(`${String.fromCharCode(27)}\\[[0-9;?]*[ -/]*[@-~]`, 'g');
const HIDDEN =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb]/g;

/** The text with every hidden character as `‹U+202E›`. */
export const visible = (text: string): string =>
  text.replace(ESCAPES, '').replace(HIDDEN, (hidden) => `‹U+${hidden.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}›`);
