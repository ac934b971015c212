import { afterAll } from 'vitest'
import { type Answer, type Method, type RequestOptions, readAnswer, requestInit, type Send } from '../http/answers'
import { appEnvironment } from '../http/instance'
import { type RunningApp, startApp } from '../support/app'
import { setUpDatabase, type TestDatabase } from '../support/db'

/** Sends requests to a server, over real HTTP. */
export const sendTo =
  (url: string): Send =>
  async (method: Method, path: string, options: RequestOptions = {}): Promise<Answer> =>
    readAnswer(await fetch(`${url}${path}`, requestInit(method, options)))

export interface Served {
  database: TestDatabase
  app: RunningApp
  send: Send
}

/** The built app on a database of its own, for the whole test file. */
export async function setUpServed(environment: Readonly<Record<string, string>> = {}): Promise<Served> {
  const database = await setUpDatabase()
  const { DATABASE_URL: _url, ...settings } = database.environment
  const app = await startApp({
    databaseUrl: database.url,
    env: { ...appEnvironment(), ...settings, DISPATCH_POOL_SIZE: '10', ...environment },
  })
  afterAll(app.stop)
  return { database, app, send: sendTo(app.url) }
}
