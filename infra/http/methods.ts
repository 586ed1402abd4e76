import type { FastifyInstance } from 'fastify';

/** Which methods a path takes, so that the wrong method on a right path is 405 and not 404. */
export interface MethodTable {
  /** Methods of every route that matches the path, sorted. */
  of(path: string): readonly string[];
}

interface RouteMethod {
  readonly pattern: RegExp;
  readonly method: string;
}

/** Learns routes as they are registered; call it before any route is. */
export function watchMethods(app: FastifyInstance): MethodTable {
  const entries: RouteMethod[] = [];
  app.addHook('onRoute', (route) => {
    const methods = Array.isArray(route.method) ? route.method : [route.method];
    const pattern = patternOf(route.url);
    for (const method of methods) entries.push({ pattern, method });
  });
  return {
    of: (path) => [...new Set(entries.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method))].sort(),
  };
}

function patternOf(url: string): RegExp {
  const source = url.split('/').map(patternOfPart).join('/');
  return new RegExp(`^${source}$`);
}

/** A parameter may have its own pattern; a double colon stands for a literal colon. */
function patternOfPart(part: string): string {
  if (part === '*') return '.*';
  const [parameter = ''] = /^:\w+(\([^)]*\))?/.exec(part) ?? [];
  const rest = part.slice(parameter.length).replaceAll('::', ':');
  return `${parameter === '' ? '' : '[^/]+'}${rest.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}`;
}
