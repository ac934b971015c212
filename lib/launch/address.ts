import { listenError } from '@/lib/launch/free-port'
import { errorCode } from '@/lib/process/processes'

/** Why the app could not listen at an address, as a sentence; undefined when it could. */
export async function listenFault(host: string, port: number): Promise<string | undefined> {
  const error = await listenError(host, port)
  if (error === undefined) return undefined
  const code = errorCode(error)
  if (code === 'EADDRINUSE')
    return `Port ${port} is taken by another program; stop that one, or set PORT to another port.`
  if (code === 'EACCES') return `Port ${port} is not for an ordinary user; set PORT to one from 1024.`
  return `Nothing can listen on HOST ${host}, port ${port} (${code ?? error}).`
}

/** Where a browser on this machine reaches what listens on a host and port. */
export function originOf(host: string, port: number): string {
  if (host === '0.0.0.0') return `http://127.0.0.1:${port}`
  if (host === '::') return `http://[::1]:${port}`
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}
