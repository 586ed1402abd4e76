// Function calls in a response, whole or streamed, from the server's own field. Arguments stay text: this code does not decide whether they
// are JSON.
import type { FunctionCall } from '../../streams/core/agents.ts';
import { at, countAt, listAt, textAt } from './json.ts';

interface Building {
  id: string;
  name: string;
  readonly pieces: string[];
}

/** Some servers send an object where OpenAI sends its text. */
function argumentsIn(call: unknown): string {
  const given = at(call, 'function', 'arguments');
  if (typeof given === 'string') return given;
  return given === undefined || given === null ? '' : JSON.stringify(given);
}

export class CallsBuilder {
  readonly #calls = new Map<number, Building>();

  /** Returns how many characters the choice added. */
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

  /** In the order of the response; a call without an id gets one from its index. */
  all(): readonly FunctionCall[] {
    return [...this.#calls.entries()]
      .sort(([a], [b]) => a - b)
      .map(([index, { id, name, pieces }]) => ({ id: id === '' ? `call_${index}` : id, name, arguments: pieces.join('') }));
  }
}
