import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { type BuildOptions, build } from 'esbuild'
import { ROOT } from '@/lib/launch/root'

const PUBLIC = path.join(ROOT, 'public')

const common: BuildOptions = {
  bundle: true,
  minify: true,
  format: 'esm',
  legalComments: 'eof',
  define: { 'process.env.NODE_ENV': '"production"' },
}

/**
 * Makes what the app serves to machines, each one file without dependencies: the `dispatch` command at /dispatch.mjs, and the
 * client and worker loop at /dispatch-client.mjs, for Node, browsers and edge runtimes.
 */
export async function bundle(): Promise<void> {
  mkdirSync(PUBLIC, { recursive: true })
  await Promise.all([
    build({
      ...common,
      entryPoints: [path.join(ROOT, 'lib', 'cli', 'main.ts')],
      outfile: path.join(PUBLIC, 'dispatch.mjs'),
      platform: 'node',
      target: 'node20',
      // Some of the libraries are CommonJS, and call require.
      banner: {
        js: "#!/usr/bin/env node\nimport { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
      },
    }),
    build({
      ...common,
      stdin: {
        contents: `
          export { createWorker } from '@/lib/client/worker'
          export { DispatchClient } from '@/lib/client/dispatch-client'
          export { DispatchError } from '@/lib/client/dispatch-error'
          export { PermanentError, RetryLaterError } from '@/lib/client/running-claim'`,
        resolveDir: ROOT,
      },
      outfile: path.join(PUBLIC, 'dispatch-client.mjs'),
      platform: 'neutral',
      mainFields: ['module', 'main'],
      target: 'es2023',
    }),
  ])
}
