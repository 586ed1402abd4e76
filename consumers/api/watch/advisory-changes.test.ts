import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { changesOf, type AdvisoryMessage, type OpenAdvisory, type RunFindings } from './advisory-changes.ts';

const finding = (title: string, detail = 'x', is_over = false) => ({
  ...{ rule: 'a-rule', severity: 'alarm', title, detail, page: '/runs/a/curves', sql: 'SELECT 1', is_over },
});
const look = (...titles: readonly string[]): readonly RunFindings[] => [{ run_id: 'a', items: titles.map((title) => finding(title)) }];

/** Messages of each check. */
function follow(looks: readonly (readonly RunFindings[])[]): readonly (readonly AdvisoryMessage[])[] {
  let open: readonly OpenAdvisory[] = [];
  return looks.map((looked, number) => {
    const changes = changesOf(open, looked, `look ${number}`);
    // as after a restart of the process
    open = JSON.parse(JSON.stringify(changes.open)) as OpenAdvisory[];
    return changes.messages;
  });
}
const events = (looks: readonly (readonly RunFindings[])[]): readonly (readonly string[])[] =>
  follow(looks).map((messages) => messages.map(({ event, title }) => `${event} ${title}`));

describe('changes of advisories', () => {
  it('begin with the second check in a row that finds them, and end with the second that does not', () => {
    expect(events([look('one'), look('one'), look('one'), look(), look('one'), look(), look()])).toEqual([
      ...[[], ['began one'], [], [], [], [], ['ended one']],
    ]);
  });

  it('do not follow from a finding of a single check, or from one that is over', () => {
    expect(events([look('one'), look(), look('one'), look()]).flat()).toEqual([]);
    const over = [{ run_id: 'a', items: [finding('was out', 'x', true)] }];
    expect(events([over, over, over]).flat()).toEqual([]);
  });

  it('stay as they are while the run is not checked', () => {
    expect(events([look('one'), look('one'), [], [], [], look('one'), look(), look()])).toEqual([
      ...[[], ['began one'], [], [], [], [], [], ['ended one']],
    ]);
  });

  it('have a text without markup, mentions, or hidden characters', () => {
    const named = look('The tool <!channel> & \u202Ea\nb is out');
    const [, [began] = []] = follow([named, named]);
    expect(began?.text).toBe('a: alarm: The tool &lt;!channel&gt; &amp; ‹U+202E›a‹U+000A›b is out. x');
    expect(began?.title).toBe('The tool <!channel> & \u202Ea\nb is out');
  });

  it('have their start, the newest figures, and a line of text for people', () => {
    const at = (detail: string): readonly RunFindings[] => [{ run_id: 'a', items: [finding('one', detail)] }];
    const [, [began] = [], , , [ended] = []] = follow([at('5 %'), at('6 %'), at('9 %'), look(), look()]);
    expect(began).toEqual({
      ...{ event: 'began', run_id: 'a', rule: 'a-rule', severity: 'alarm', title: 'one', detail: '6 %', page: '/runs/a/curves' },
      ...{ sql: 'SELECT 1', since: 'look 0', at: 'look 1', text: 'a: alarm: one. 6 %' },
    });
    expect(ended).toMatchObject({ event: 'ended', since: 'look 0', at: 'look 4', text: 'a: over: one. 9 %' });
  });

  it('alternate between began and ended for each advisory', () => {
    const titles = fc.uniqueArray(fc.constantFrom('one', 'two', 'three'));
    fc.assert(
      fc.property(fc.array(titles, { maxLength: 30 }), (looks) => {
        const told = new Map<string, string>();
        const all = follow([...looks.map((found) => look(...found)), look(), look()]);
        for (const { event, title } of all.flat()) {
          expect(told.get(title) ?? 'ended').not.toBe(event);
          told.set(title, event);
        }
        expect([...told.values()].every((last) => last === 'ended')).toBe(true);
        const twice = looks.some((found, number) => found.includes('one') && looks[number + 1]?.includes('one') === true);
        expect(told.has('one')).toBe(twice);
      }),
    );
  });
});
