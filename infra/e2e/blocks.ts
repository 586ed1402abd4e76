/** The code blocks of a language in a Markdown text, in order, without the fences. */
export const blocksOf = (markdown: string, language: string): readonly string[] =>
  [...markdown.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(([, block = '']) => block);
