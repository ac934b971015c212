import { Command, InvalidArgumentError, Option } from 'commander'
import ms from 'ms'
import { exitCodeHelp, UsageError } from '@/lib/cli/exit-codes'
import { findSettings, requireSettings, type Settings } from '@/lib/cli/settings'
import { DispatchClient } from '@/lib/client/dispatch-client'
import manifest from '@/package.json' with { type: 'json' }

export const { version } = manifest

/** What a command is given besides its own options. */
export interface Context {
  env: NodeJS.ProcessEnv
  stdout: NodeJS.WriteStream
  stderr: NodeJS.WriteStream
  stdin: NodeJS.ReadStream
}

export interface ConnectionFlags {
  url?: string
  key?: string
  json?: boolean
}

/** A subcommand that talks to a server: with the flags that all of them have, and its examples in its help. */
export function connectedCommand(name: string, description: string, examples: readonly string[]): Command {
  return new Command(name)
    .description(description)
    .option('--url <url>', 'the server (or DISPATCH_URL, or config.json)')
    .addOption(
      new Option('--key <key>', 'a key for it (or DISPATCH_KEY, or config.json); others on this machine can see flags'),
    )
    .option('--json', 'answer in JSON, for programs')
    .addHelpText(
      'after',
      `\nExamples:\n${examples.map((example) => `  $ dispatch ${example}`).join('\n')}\n${exitCodeHelp}`,
    )
}

/** The settings that a command's flags and its environment give. @throws {UsageError} when one is missing */
export const settingsOf = (flags: ConnectionFlags, { env }: Context): Settings =>
  requireSettings(findSettings(flags, env))

/** A client for them; a server of another version is told about in one line. */
export function clientOf(flags: ConnectionFlags, context: Context): DispatchClient {
  return new DispatchClient({ ...settingsOf(flags, context), version, onServerVersion: tellMismatch(context) })
}

/** Tells once when the server is of another version than this command. */
export function tellMismatch({ stderr }: Context): (serverVersion: string) => void {
  let isTold = false
  return (serverVersion) => {
    if (serverVersion === version || isTold) return
    isTold = true
    stderr.write(
      `dispatch is version ${version}, the server ${serverVersion}: get the server's own from its /dispatch.mjs\n`,
    )
  }
}

/** A whole number within bounds, as an option's value. */
export const whole = (min: number, max: number) => (text: string) => {
  const value = /^-?\d{1,15}$/.test(text) ? Number(text) : Number.NaN
  if (value >= min && value <= max) return value
  throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`)
}

const isDuration = (text: string): text is ms.StringValue => /^\d+(\.\d+)?(ms|s|m|h|d)$/.test(text)

/** A duration such as 90s, 2m or 1h, as an option's value: milliseconds. */
export const duration = (minMs: number, maxMs: number) => (text: string) => {
  const value = isDuration(text) ? ms(text) : Number.NaN
  if (value >= minMs && value <= maxMs) return Math.round(value)
  throw new InvalidArgumentError(`It must be a duration from ${ms(minMs)} to ${ms(maxMs)}, such as 90s, 2m or 1h.`)
}

/** An option that is a duration, whose help tells its default as a person writes it. */
export const durationOption = (
  flags: string,
  description: string,
  [minMs, maxMs]: [number, number],
  byDefault: ms.StringValue,
) => new Option(flags, description).argParser(duration(minMs, maxMs)).default(ms(byDefault), byDefault)

/** Ids of work as arguments. @throws {UsageError} */
export function queueIdOf(text: string): number {
  const value = /^\d{1,16}$/.test(text) ? Number(text) : 0
  if (value >= 1 && Number.isSafeInteger(value)) return value
  throw new UsageError(`"${text}" is not the id of a piece of work; ids are whole numbers, as dispatch ls shows them.`)
}
