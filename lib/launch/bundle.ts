import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { build } from 'esbuild'
import { ROOT } from '@/lib/launch/root'

const TARGET = path.join(ROOT, 'public', 'dispatch.mjs')

/** Makes the `dispatch` command one file without dependencies, which the app serves at /dispatch.mjs. */
export async function bundleCommand(): Promise<void> {
  mkdirSync(path.dirname(TARGET), { recursive: true })
  await build({
    entryPoints: [path.join(ROOT, 'lib', 'cli', 'main.ts')],
    outfile: TARGET,
    bundle: true,
    minify: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    legalComments: 'eof',
    // Some of the libraries are CommonJS, and call require.
    banner: {
      js: "#!/usr/bin/env node\nimport { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
    },
    define: { 'process.env.NODE_ENV': '"production"' },
  })
}
