import { createRequire } from 'node:module'
import path from 'node:path'

/** The peers need Node 22.18 or later (their package.json). */
const isEnough = () => {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  return major > 22 || (major === 22 && minor >= 18)
}

/** The Node that all contestants run under: this one, or the one that npm installed beside the peers. @throws {Error} that says what to install */
export function benchNode(): string {
  if (isEnough()) return process.execPath
  try {
    const manifest = createRequire(import.meta.url).resolve(`node-${process.platform}-${process.arch}/package.json`)
    return path.join(path.dirname(manifest), 'bin', 'node')
  } catch (cause) {
    throw new Error(
      `The peers need Node 22.18 or later, and this is ${process.version}: run the bench with a newer Node.`,
      {
        cause,
      },
    )
  }
}
