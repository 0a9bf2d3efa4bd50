import type * as Server from '@berth/server'
import { packageName } from '../bin/versions.js'
import { CliError } from './exit-codes.ts'

/** The settings of an instance. */
export type Settings = Server.Config
export type Serving = Server.Serving
export type ServerPackage = typeof Server

/** Loads the server, a separate package, so that the CLI can be installed without it. */
export async function loadServer(): Promise<typeof Server> {
  try {
    return await import('@berth/server')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new CliError(
      `This is the command line without the server. Install both: npm install -g ${packageName}. In a clone: npm run build`,
    )
  }
}

/** Reads the settings; an invalid setting is reported as one line. */
export function readSettings(server: typeof Server, env: Record<string, string | undefined>): Server.Config {
  try {
    return server.readConfig(env)
  } catch (error) {
    if (error instanceof server.ConfigError) throw new CliError(error.message, 2)
    throw error
  }
}
