// The list requests on the page, so that a shortcut can copy them as curl commands.

const addresses = new Map<string, number>();

/** Counts an address as shown until the returned function is called. */
export function showing(url: string): () => void {
  addresses.set(url, (addresses.get(url) ?? 0) + 1);
  return () => {
    const users = (addresses.get(url) ?? 1) - 1;
    if (users === 0) addresses.delete(url);
    else addresses.set(url, users);
  };
}

export const shownLists = (): readonly string[] => [...addresses.keys()];

/** One curl command per address, quoted for a shell. */
export function curlOf(origin: string, urls: readonly string[]): string {
  const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;
  return urls.map((url) => `curl -s ${quoted(`${origin}${url}`)}`).join('\n');
}
