import { homedir } from 'node:os'
import { join } from 'node:path'

/** The only code in the CLI that reads environment variables. */
export const environment = {
  url: () => process.env.BERTH_URL || null,
  token: () => process.env.BERTH_TOKEN || null,
  organizationId: () => process.env.BERTH_ORGANIZATION || null,
  configFolder: () => join(process.env.XDG_CONFIG_HOME || join(homedir(), '.config'), 'berth'),
  /** True if set to any value, as defined by https://no-color.org. */
  noColor: () => Boolean(process.env.NO_COLOR),
  all: () => process.env,
}
