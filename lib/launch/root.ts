import { fileURLToPath } from 'node:url'

/** The checkout's top directory. */
export const ROOT = fileURLToPath(new URL('../..', import.meta.url))
