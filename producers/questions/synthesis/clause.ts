// A country as a question describes it: by name, or by clauses that must all hold.
import type { Profile } from '../../factbook/profiles.ts';
import type { Attribute } from '../attributes.ts';
import type { Quantity } from './quantities.ts';
import type { Relation } from './relations.ts';

export type Clause =
  /** The field names the value, possibly among other text. */
  | { readonly kind: 'says'; readonly attribute: Attribute; readonly value: string }
  /** One of the field's values contains the word. */
  | { readonly kind: 'contains'; readonly attribute: Attribute; readonly word: string }
  /** One of the field's values begins with the letter. */
  | { readonly kind: 'begins'; readonly attribute: Attribute; readonly letter: string }
  /** The year is undefined when the figure does not change, or when the field states none. */
  | { readonly kind: 'figure'; readonly quantity: Quantity; readonly year: number | undefined; readonly value: number }
  | {
      readonly kind: 'between';
      readonly quantity: Quantity;
      readonly year: number | undefined;
      readonly low: number;
      readonly high: number;
    }
  | { readonly kind: 'related'; readonly relation: Relation; readonly year: number | undefined; readonly to: CountryDescription };

export type CountryDescription =
  { readonly kind: 'name'; readonly profile: Profile } | { readonly kind: 'clauses'; readonly clauses: readonly Clause[] };

/** The lowercase words of a text, separated and enclosed by single spaces. */
export const spaced = (text: string): string =>
  ` ${text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()} `;
