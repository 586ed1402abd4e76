// Sends a request with these headers unchanged; fetch() would set Host and Sec-Fetch-* itself.
import { request } from 'node:http';

export interface RawAnswer {
  readonly status: number;
  readonly type: string;
  readonly text: string;
}

/** Sends the request to 127.0.0.1. */
export function rawRequest(options: {
  readonly port: number;
  readonly path: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const { port, path, method = 'GET', headers = {}, body } = options;
    const sent = request({ host: '127.0.0.1', port, path, method, headers, agent: false }, (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('error', reject);
      response.on('end', () => {
        resolve({
          status: response.statusCode ?? 0,
          type: response.headers['content-type'] ?? '',
          text: Buffer.concat(parts).toString(),
        });
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}
