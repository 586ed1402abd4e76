// Texts of models, tools, and pages are untrusted. Characters that could mislead a reader are replaced by visible marks: control
// characters, bidirectional controls, line separators, and everything that Unicode draws as nothing, such as zero-width characters, tags,
// and variation selectors. Tabs and line breaks stay. Terminal color codes are removed.

const ESCAPES = new RegExp(`${String.fromCharCode(27)}\\[[0-9;?]*[ -/]*[@-~]`, 'g');
const HIDDEN = /(?![\t\n\r])[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2028\u2029]/gu;

const markOf = (hidden: string): string => `‹U+${(hidden.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}›`;

/** The text with each hidden character written as `‹U+202E›`. */
export const visible = (text: string): string => text.replace(ESCAPES, '').replace(HIDDEN, markOf);
