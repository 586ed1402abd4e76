// Serves the dashboard at `/`: one document for all pages, and files with hashed names. All data comes from `/v1`.
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { PlatformError } from '../../streams/core/errors.ts';
import { firstRequests } from './app/data/addresses.ts';
import { matchPath } from './app/shell/patterns.ts';
import type { Site, SiteFile } from './site.ts';

/** Paths that the document is served at. */
export const pagePaths = [
  '/',
  '/runs/*',
  '/compare',
  '/evaluations',
  '/evaluations/*',
  '/live',
  '/search',
  '/sql',
  '/dead-letters',
] as const;

/**
 * The document may load its own files and call its own origin, nothing else. Trusted Types without a policy prevent any text from becoming
 * HTML or script, whatever the log contains.
 */
export const documentPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

export interface DashboardOptions {
  /** Undefined if the dashboard was not built. */
  readonly site: Site | undefined;
}

const config = { scope: 'public', document: true } as const;
/** Pages keep their state in the query, so any parameter is allowed. */
const schema = { hide: true, querystring: { type: 'object', additionalProperties: true } } as const;

/** The document at the address of every page, and the files it loads. */
export const dashboardRoutes: FastifyPluginAsync<DashboardOptions> = async (app, { site }) => {
  for (const path of pagePaths) {
    app.get(path, { config, schema }, async (request, reply) => {
      if (site === undefined) {
        throw new PlatformError('NOT_FOUND', 'opening the dashboard: it is not built; run npm run build. REST is at /openapi.json');
      }
      reply.headers({
        'content-security-policy': documentPolicy,
        'cross-origin-opener-policy': 'same-origin',
        'cache-control': 'no-cache',
        ...linksOf(site, request.url),
      });
      return sendFile(request, reply, site.document);
    });
  }
  app.get<{ Params: { name: string } }>('/assets/:name', { config: { scope: 'public' }, schema }, async (request, reply) => {
    const file = site?.assets.get(request.params.name);
    if (file === undefined) throw new PlatformError('NOT_FOUND', 'reading a file of the dashboard: there is none of that name');
    reply.header('cache-control', 'public, max-age=31536000, immutable');
    return sendFile(request, reply, file);
  });
};

/** Longer lists of links are left out: an address may hold a long filter, and browsers limit the size of headers. */
const MOST_LINK_CHARS = 8_000;

/**
 * Preloads the first responses and the scripts of the page, so that they load in parallel with the scripts of the document.
 * Responses come first: they take the longest, and a browser opens six connections.
 */
function linksOf({ scripts }: Site, url: string): { readonly link?: string } {
  const address = new URL(url, 'http://localhost');
  const files = [...scripts].find(([path]) => matchPath(path, address.pathname) !== undefined)?.[1] ?? [];
  const links = [
    ...firstRequests(address).map((path) => `<${path}>; rel=preload; as=fetch; crossorigin`),
    ...files.map((file) => `</${file}>; rel=modulepreload`),
  ];
  const link = links.join(', ');
  return links.length === 0 || link.length > MOST_LINK_CHARS ? {} : { link };
}

function sendFile(request: FastifyRequest, reply: FastifyReply, file: SiteFile): FastifyReply {
  const taken = [request.headers['accept-encoding'] ?? []].flat().join();
  const coding = /\bbr\b/.test(taken) ? 'br' : /\bgzip\b/.test(taken) ? 'gzip' : undefined;
  reply.type(file.type).header('vary', 'accept-encoding');
  if (coding === undefined) return reply.send(file.body);
  return reply.header('content-encoding', coding).send(file[coding]);
}
