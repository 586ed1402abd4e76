import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { workerSettingsOf } from './learning.ts';
import { loadConfig } from './load.ts';
import { promptsHash, readPromptFiles } from './prompt-files.ts';

const root = mkdtempSync(join(tmpdir(), 'turnstream-prompts-'));
afterAll(() => {
  rmSync(root, { recursive: true, force: true });
});

function folderOf(name: string, files: Readonly<Record<string, string>>): string {
  const folder = join(root, name);
  mkdirSync(folder, { recursive: true });
  for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text);
  return folder;
}

describe('prompts in files', () => {
  it('are read by their names', () => {
    const folder = folderOf('good', { 'system.txt': 'be brief', 'act.txt': '{question}', 'notes.md': 'not a prompt' });
    expect(readPromptFiles(folder, ['system', 'act', 'read'])).toEqual({ system: 'be brief', act: '{question}' });
  });
  it('are refused when there is none, or one with an unknown name', () => {
    expect(() => readPromptFiles(folderOf('none', {}), ['act'])).toThrow(/its files are act\.txt, .*there are none/);
    expect(() => readPromptFiles(folderOf('odd', { 'akt.txt': '' }), ['act'])).toThrow('there is akt.txt');
    expect(() => readPromptFiles(join(root, 'nowhere'), ['act'])).toThrow(/TURNSTREAM_LLM_PROMPTS .*nowhere/);
  });
  it('are recorded with a run by their hash, whatever their folder', () => {
    const texts = { 'system.txt': 'be brief', 'act.txt': '{question}' };
    const [one, same, other] = [folderOf('a', texts), folderOf('b', texts), folderOf('c', { ...texts, 'act.txt': '{question}!' })];
    expect(promptsHash(one)).toBe(promptsHash(same));
    expect(promptsHash(one)).not.toBe(promptsHash(other));
    const recorded = (llmPrompts: string, policy: 'llm' | 'ranker' = 'llm'): unknown =>
      workerSettingsOf(loadConfig({}, { policy, llmUrl: 'http://a', llmModel: 'm', llmPrompts }))['llmPrompts'];
    expect(recorded(one)).toBe(`sha256:${promptsHash(one)}`);
    expect(recorded(one)).toBe(recorded(same));
    expect([recorded(''), recorded(one, 'ranker')]).toEqual([undefined, undefined]);
  });
});
