// The answers of lists that are on the page, so that a key can tell how to ask for them from elsewhere.

const addresses = new Map<string, number>();

/** Counts an address as shown until what it returns is called. */
export function showing(url: string): () => void {
  addresses.set(url, (addresses.get(url) ?? 0) + 1);
  return () => {
    const users = (addresses.get(url) ?? 1) - 1;
    if (users === 0) addresses.delete(url);
    else addresses.set(url, users);
  };
}

export const shownLists = (): readonly string[] => [...addresses.keys()];

/** One command an address, in the quotes of a shell. */
export function curlOf(origin: string, urls: readonly string[]): string {
  const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;
  return urls.map((url) => `curl -s ${quoted(`${origin}${url}`)}`).join('\n');
}
