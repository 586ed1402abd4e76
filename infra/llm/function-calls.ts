// The calls of functions in an answer, whole or in pieces, as the server's own field has them. Arguments stay the text that they are:
// whether it is JSON is not decided here.
import type { FunctionCall } from '../../streams/core/agents.ts';
import { at, countAt, listAt, textAt } from './json.ts';

interface Building {
  id: string;
  name: string;
  readonly pieces: string[];
}

/** Some servers give the object where OpenAI gives its text. */
function argumentsIn(call: unknown): string {
  const given = at(call, 'function', 'arguments');
  if (typeof given === 'string') return given;
  return given === undefined || given === null ? '' : JSON.stringify(given);
}

export class CallsBuilder {
  readonly #calls = new Map<number, Building>();

  /** Answers how many characters the choice brought. */
  add(choice: unknown): number {
    let chars = 0;
    for (const part of ['delta', 'message']) {
      for (const [place, call] of listAt(choice, part, 'tool_calls').entries()) {
        const piece = argumentsIn(call);
        const building = this.#at(countAt(call, 'index') ?? place);
        if (building.id === '') building.id = textAt(call, 'id');
        if (building.name === '') building.name = textAt(call, 'function', 'name');
        building.pieces.push(piece);
        chars += piece.length;
      }
    }
    return chars;
  }

  #at(index: number): Building {
    const known = this.#calls.get(index) ?? { id: '', name: '', pieces: [] };
    this.#calls.set(index, known);
    return known;
  }

  /** In the order of the answer; a call without an id has one of its place. */
  all(): readonly FunctionCall[] {
    return [...this.#calls.entries()]
      .sort(([a], [b]) => a - b)
      .map(([index, { id, name, pieces }]) => ({ id: id === '' ? `call_${index}` : id, name, arguments: pieces.join('') }));
  }
}
