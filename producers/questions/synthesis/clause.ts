// A country as a question describes it: by name, or by clauses that all have to hold.
import type { Profile } from '../../rollouts/tools/factbook-profiles.ts';
import type { Attribute } from '../attributes.ts';
import type { Quantity } from './quantities.ts';
import type { Relation } from './relations.ts';

export type Clause =
  /** The field names the value, whatever else it says. */
  | { readonly kind: 'says'; readonly attribute: Attribute; readonly value: string }
  /** One of the values of the field has the word in it. */
  | { readonly kind: 'contains'; readonly attribute: Attribute; readonly word: string }
  /** One of the values of the field begins with the letter. */
  | { readonly kind: 'begins'; readonly attribute: Attribute; readonly letter: string }
  /** The year is undefined where the figure lasts, or where the field names none. */
  | { readonly kind: 'figure'; readonly quantity: Quantity; readonly year: number | undefined; readonly value: number }
  | {
      readonly kind: 'between';
      readonly quantity: Quantity;
      readonly year: number | undefined;
      readonly low: number;
      readonly high: number;
    }
  | { readonly kind: 'related'; readonly relation: Relation; readonly year: number | undefined; readonly to: Description };

export type Description =
  { readonly kind: 'name'; readonly profile: Profile } | { readonly kind: 'clauses'; readonly clauses: readonly Clause[] };

/** Lower-case words of a text between single spaces. */
export const spaced = (text: string): string =>
  ` ${text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()} `;
