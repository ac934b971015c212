import { existsSync } from 'node:fs'
import path from 'node:path'
import { loadEnvFile } from 'node:process'
import { ROOT } from '@/lib/launch/root'

/**
 * Reads the files that Next reads its environment from, in Next's order: launcher and app then agree on every
 * setting. What is set already stays; of two files the first wins.
 */
export function loadEnvFiles(mode: 'production' | 'development'): void {
  for (const name of [`.env.${mode}.local`, '.env.local', `.env.${mode}`, '.env']) {
    const file = path.join(ROOT, name)
    if (existsSync(file)) loadEnvFile(file)
  }
}
