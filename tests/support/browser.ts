import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Browser, chromium } from 'playwright-core'
import manifest from '@/package.json' with { type: 'json' }

/** Without a sandbox, for containers run as root; all pages are our own. */
const ARGS = [
  '--no-sandbox',
  '--disable-quic',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
  // A name that is not the machine's own, for pages that come over plain http from elsewhere.
  '--host-resolver-rules=MAP *.test 127.0.0.1',
]

/** Starts a headless Chromium: the one that $CHROMIUM names, else npm's. It ends with this process at the latest. */
export async function launchBrowser(): Promise<Browser> {
  if (process.env.CHROMIUM) return chromium.launch({ executablePath: process.env.CHROMIUM, args: ARGS })
  const directory = unpackedChromium()
  return chromium.launch({
    executablePath: path.join(directory, 'chromium'),
    args: ARGS,
    env: {
      ...process.env,
      LD_LIBRARY_PATH: path.join(directory, 'al2023', 'lib'),
      FONTCONFIG_PATH: path.join(directory, 'fonts'),
    },
  })
}

/** Where npm's Chromium is unpacked, once per version and user. It is unpacked aside and then renamed, so that it is whole or not there. */
function unpackedChromium(): string {
  const version = manifest.devDependencies['@sparticuz/chromium']
  const directory = path.join(tmpdir(), `dispatch-chromium-${version}-${process.getuid?.() ?? 0}`)
  if (existsSync(directory)) return directory
  if (process.platform !== 'linux' || process.arch !== 'x64')
    throw new Error('Set CHROMIUM to the path of a Chrome or Chromium: npm’s is for Linux on x64 alone.')
  const unpacking = mkdtempSync(path.join(tmpdir(), 'dispatch-chromium-unpacking-'))
  unpack(unpacking)
  writeFileSync(path.join(unpacking, 'fonts', 'fonts.conf'), fontSettings(path.join(directory, 'fonts')))
  try {
    renameSync(unpacking, directory)
  } catch (error) {
    rmSync(unpacking, { recursive: true, force: true })
    if (!existsSync(directory)) throw error
  }
  return directory
}

/** The package's own settings name places of another system; where Chromium finds no font at all, it crashes. */
const fontSettings = (fonts: string) =>
  `<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd">
   <fontconfig><dir>${fonts}</dir><cachedir>${fonts}/cache</cachedir></fontconfig>`

/** In a process of its own: the package goes by the environment, and changes it. */
function unpack(directory: string): void {
  const program = JSON.stringify(createRequire(import.meta.url).resolve('@sparticuz/chromium'))
  const code = `const chromium = require(${program}); (chromium.default ?? chromium).executablePath()`
  const { status, stderr } = spawnSync(process.execPath, ['--eval', code], {
    // The first name makes it unpack the libraries that Chromium needs as well.
    env: { NODE_ENV: 'production', AWS_LAMBDA_JS_RUNTIME: 'nodejs22.x', TMPDIR: directory, HOME: directory },
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`Chromium could not be unpacked: ${stderr}`)
}
