import { homedir } from 'node:os'
import { join } from 'node:path'

/** The only reader of the environment in the command line. */
export const environment = {
  url: () => process.env.BERTH_URL || null,
  token: () => process.env.BERTH_TOKEN || null,
  organizationId: () => process.env.BERTH_ORGANIZATION || null,
  configFolder: () => join(process.env.XDG_CONFIG_HOME || join(homedir(), '.config'), 'berth'),
  /** As https://no-color.org has it: set to anything. */
  noColor: () => Boolean(process.env.NO_COLOR),
  all: () => process.env,
}
